"""Records held to the run's log, before anybody takes them for a result."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from rolewall.attest.files import LOG, SEAL, digest_of_file
from rolewall.attest.log import Log
from rolewall.attest.statement import EPISODE_TYPE, SEAL_CAP, parse_seal
from rolewall.errors import RecordError
from rolewall.storage import read_capped

__all__ = ["HINT", "hold_records"]

HINT = "`rolewall audit` says more"


def hold_records(run: Path, log: Log, recorded: Iterable[str]) -> None:
    """Hold the episodes that have a record against the log: each record by its digest, and
    none too many or too few. The rest of the evidence is ``audit``'s.

    Raises:
        RecordError: one was altered, added or removed since it was sealed.
    """
    names = set(recorded)
    for key in sorted(names):
        place = run / "episodes" / key
        entry = log.episodes.get(key)
        if entry is None:
            raise RecordError("was never sealed in this run", place=str(place), hint=HINT)
        _hold(place, entry.seal)
    for key in sorted(log.counted().keys() - names):
        place = run / "episodes" / key
        # One that ended after the directory was listed is of a run that goes on.
        if not os.path.lexists(place / "episode.json"):
            raise RecordError("gone: an episode that counted", place=str(place), hint=HINT)


def _hold(directory: Path, seal: str) -> None:
    path, record = directory / SEAL, directory / "episode.json"
    body = read_capped(path, SEAL_CAP)
    if hashlib.sha256(body).hexdigest() != seal:
        raise RecordError(f"not the seal that {LOG} has", place=str(path), hint=HINT)
    try:
        found = digest_of_file(record)
    except OSError as error:
        raise RecordError(f"cannot be read: {error.strerror}", place=str(record)) from error
    if parse_seal(body, str(path), EPISODE_TYPE).files.get(record.name) != found:
        raise RecordError("changed since it was sealed", place=str(record), hint=HINT)
