"""Signing the seals of a run: one way, while it is written and when it is over."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from rolewall.attest.files import ENVELOPE, SEAL
from rolewall.attest.signing import ENVELOPE_CAP, KeySigner
from rolewall.attest.statement import SEAL_CAP
from rolewall.errors import RecordError
from rolewall.storage import read_capped, write_atomic

__all__ = ["is_signed", "sign_seals"]


def is_signed(run: Path) -> bool:
    """Whether any seal of the run has an envelope, whatever is in it."""
    return (run / ENVELOPE).exists() or any(run.glob(f"episodes/*/{ENVELOPE}"))


def sign_seals(run: Path, seals: Mapping[str, str], signer: KeySigner) -> None:
    """Sign seals; signatures by other keys stay, and one by this key that is right.

    Args:
        seals: directory below ``run`` → SHA-256 of its ``seal.json``.

    Raises:
        RecordError: a seal is another, or what stands where its signatures belong is not
            an envelope. Then nothing is signed.
        StorageError: a signature cannot be written.
    """
    made: dict[Path, bytes] = {}
    for below, digest in sorted(seals.items()):
        path = run / below / ENVELOPE
        found = read_capped(path, ENVELOPE_CAP) if os.path.lexists(path) else None
        envelope = signer.sign(_seal(run / below / SEAL, digest), found, str(path))
        if envelope != found:
            made[path] = envelope
    for path, envelope in made.items():
        write_atomic(path, envelope)


def _seal(path: Path, digest: str) -> bytes:
    body = read_capped(path, SEAL_CAP)
    if (found := hashlib.sha256(body).hexdigest()) != digest:
        raise RecordError("not the seal to be signed", place=str(path), got=found, expected=digest)
    return body
