"""Records held to the run's log, before anybody takes them for a result."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rolewall.attest.files import LOG, SEAL
from rolewall.attest.log import Log, read_log
from rolewall.attest.statement import EPISODE_TYPE, SEAL_CAP, parse_seal, run_seal
from rolewall.errors import RecordError
from rolewall.storage import read_capped

__all__ = ["HINT", "hold_records", "hold_run", "never_sealed"]

HINT = "`rolewall audit` says more"


def hold_run(run: Path, log: Log, summary: Mapping[str, Any], digest: str) -> None:
    """Hold ``run.json``, of which ``summary`` and the SHA-256 are given, to the log, and both
    to the run's seal where there is one.

    Raises:
        RecordError: one is not what it was when the run began, or when it was sealed.
    """
    if log.run not in ("", digest):
        raise RecordError("changed since the run began", place=str(run / "run.json"), hint=HINT)
    path = run / SEAL
    if not os.path.lexists(path):
        return
    seals = {f"episodes/{key}/{SEAL}": seal for key, seal in log.counted().items()}
    files = {"run.json": digest, LOG: log.digest, **seals}
    if log.open or log.cut or read_capped(path, SEAL_CAP) != run_seal(summary, files):
        raise RecordError(
            f"not the seal of what run.json and {LOG} have: they were altered since it was made,"
            " or the run was killed as it went on",
            place=str(path),
            hint=HINT,
        )


def hold_records(run: Path, log: Log, records: Mapping[str, str]) -> None:
    """Hold the episodes that have a record against the log: each record by its digest, and
    none too many or too few. The rest of the evidence is ``audit``'s.

    Args:
        records: episode → SHA-256 of its record, as it was read.

    Raises:
        RecordError: one was altered, added or removed since it was sealed.
    """
    for key, found in sorted(records.items()):
        place = run / "episodes" / key
        entry = log.episodes.get(key)
        if entry is None:
            raise RecordError("was never sealed in this run", place=str(place), hint=HINT)
        _hold(place, entry.seal, found)
    for key in sorted(log.counted().keys() - records.keys()):
        place = run / "episodes" / key
        # One that ended after the directory was listed is of a run that goes on.
        if not os.path.lexists(place / "episode.json"):
            raise RecordError("gone: an episode that counted", place=str(place), hint=HINT)


def never_sealed(run: Path, digest: str) -> bool:
    """Whether no episode was ever sealed in a run whose ``run.json`` has the SHA-256
    ``digest``. Raises RecordError for a log that does not verify."""
    if not os.path.lexists(run / LOG):
        return not os.path.lexists(run / SEAL)
    log = read_log(run / LOG)
    return not log.episodes and log.run in ("", digest)


def _hold(directory: Path, seal: str, found: str) -> None:
    path, record = directory / SEAL, directory / "episode.json"
    body = read_capped(path, SEAL_CAP)
    if hashlib.sha256(body).hexdigest() != seal:
        raise RecordError(f"not the seal that {LOG} has", place=str(path), hint=HINT)
    if parse_seal(body, str(path), EPISODE_TYPE).files.get(record.name) != found:
        raise RecordError("changed since it was sealed", place=str(record), hint=HINT)
