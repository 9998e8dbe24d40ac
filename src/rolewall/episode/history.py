"""Earlier transcripts, as later roles are shown them, where a condition opens ``history``.

A role chose what its commands printed, so nothing here is looked into: it is copied,
under names of the harness's own. What no role may learn has no way in: hidden tests and
keys are in no role's box. The one secret that a role is told is its nonce, and that is
taken out; a verifier that wants to give away a nonce that is spent can write it in any
other way, and nobody can do anything with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from rolewall.episode.zones import Zones
from rolewall.sandbox import storage

__all__ = ["HISTORY", "SHOWN", "History", "shown_transcript"]

HISTORY = "history"
SHOWN = 4 << 20
"""Bytes that are shown of each file; the rest is in the run's directory."""
REMOVED = b"[nonce removed]"
SLACK = 64  # longer than a nonce, so that one that lies across the end is whole


class History:
    """Fills the zone ``history`` of one episode, phase by phase."""

    def __init__(self, zones: Zones, transcripts: Path) -> None:
        self._zones = zones
        self._transcripts = transcripts
        self._nonces: list[str] = []

    def add(self, phase: str, nonce: str | None) -> None:
        """Show the transcript of the phase called ``phase``, which is over, to later roles.

        Raises:
            StorageError: it cannot be read or written.
        """
        if nonce:
            self._nonces.append(nonce)
        if HISTORY not in self._zones.owners:
            return
        for name, data in shown_transcript(self._transcripts / phase, self._nonces):
            self._zones.write(HISTORY, name, data)


def shown_transcript(path: Path, nonces: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """(name, contents) of the files that are shown of the transcript at ``path``, which
    has no suffix. ``nonces`` are all that were told to anybody up to that phase.

    Raises:
        StorageError: a file cannot be read.
    """
    for suffix in ("jsonl", "stdout", "stderr"):
        file = path.with_suffix(f".{suffix}")
        with storage(file):
            size = file.stat().st_size
            with open(file, "rb") as opened:
                data = opened.read(SHOWN + SLACK)
        cleared = _without(data, nonces)
        if size > SHOWN:
            cut = _lines if suffix == "jsonl" else _text
            cleared = cut(cleared, size)
        yield file.name, cleared


def _without(data: bytes, nonces: Sequence[str]) -> bytes:
    """The first ``SHOWN`` bytes without nonces. A place is counted in what was read, not in
    what is left of it: else what removals make room for would be the start of a nonce whose
    end was not read."""
    kept, end = [], 0
    for start, stop in _places(data.lower(), nonces):
        if start >= max(end, SHOWN):
            break
        if start >= end:
            kept += [data[end:start], REMOVED]
        end = max(end, stop)
    return b"".join([*kept, data[end:SHOWN]])


def _places(lowered: bytes, nonces: Sequence[str]) -> list[tuple[int, int]]:
    """Where the nonces start and stop, in order."""
    found = []
    for nonce in (each.lower().encode() for each in nonces):
        start = lowered.find(nonce)
        while start >= 0:
            found.append((start, start + len(nonce)))
            start = lowered.find(nonce, start + len(nonce))
    return sorted(found)


def _text(data: bytes, size: int) -> bytes:
    return data + f"\n[cut: {size} bytes in all]\n".encode()


def _lines(data: bytes, size: int) -> bytes:
    """Whole lines, and one that says that there were more."""
    whole = data[: data.rfind(b"\n") + 1]
    return whole + json.dumps({"cut": True, "bytes": size}).encode() + b"\n"
