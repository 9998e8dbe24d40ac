"""Signing a run that is over: every seal, by one key, once all of it holds."""

from __future__ import annotations

from pathlib import Path

from rolewall.attest import SEAL, KeySigner, sign_seals
from rolewall.audit.run import audit_run
from rolewall.errors import RecordError

__all__ = ["sign_run"]


def sign_run(run: Path, signer: KeySigner) -> int:
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
    end = f"/{SEAL}"
    seals = {n.removesuffix(end): d for n, d in report.sealed.items() if n.endswith(end)}
    sign_seals(run, seals | {"": report.seal}, signer)
    return len(seals) + 1
