"""Signing a run that is over: every seal, by one key, once all of it holds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from rolewall.attest import ENVELOPE, LOG, SEAL, SEAL_CAP, Signs, read_log
from rolewall.audit import audit_run
from rolewall.errors import RecordError
from rolewall.storage import read_capped, write_atomic

__all__ = ["sign_run"]


def sign_run(run: Path, signer: Signs) -> int:
    """Sign the run's seal and that of every episode that counts; how many were signed.

    Signatures by other keys stay.

    Raises:
        RecordError: the run does not hold, has not ended, or changes meanwhile.
        StorageError: a signature cannot be written.
    """
    report = audit_run(run)
    if report.exit_code or report.seal is None:
        raise RecordError(
            "not signed: the run was altered, or has not ended",
            place=str(run),
            hint="`rolewall audit` says more",
        )
    signed = [
        (directory / ENVELOPE, signer.sign(_seal(directory, digest), _envelope(directory)))
        for directory, digest in _sealed(run, report.seal)
    ]
    for path, envelope in signed:
        write_atomic(path, envelope)
    return len(signed)


def _sealed(run: Path, seal: str) -> Iterator[tuple[Path, str]]:
    """Directories that have a seal, and its SHA-256, as they were audited."""
    for key, digest in sorted(read_log(run / LOG).counted().items()):
        yield run / "episodes" / key, digest
    yield run, seal


def _seal(directory: Path, digest: str) -> bytes:
    path = directory / SEAL
    body = read_capped(path, SEAL_CAP)
    if (found := hashlib.sha256(body).hexdigest()) != digest:
        raise RecordError("not the seal that was audited", place=str(path), got=found)
    return body


def _envelope(directory: Path) -> bytes | None:
    path = directory / ENVELOPE
    return read_capped(path, 2 * SEAL_CAP) if path.exists() else None
