"""Handoffs for orchestrators that are not ours: seal what a role left, read it back.

A role leaves ``handoff.json`` in a directory that it could write. ``seal_handoff``
reads it as hostile input, adds what the caller saw, and seals it; what
``handoff_bytes`` makes of it is given to the next role; ``read_handoff`` takes
such a file back and refuses one that was altered.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time as clock
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rolewall.errors import InputError
from rolewall.roles import (
    MAX_HANDOFF,
    Evidence,
    Handoff,
    SealedHandoff,
    complete_and_seal,
    parse_sealed,
    sealed_bytes,
    verify_seal,
)
from rolewall.roles import read_handoff as collect_handoff
from rolewall.sandbox import directory, open_beneath, opened, reopen

__all__ = ["handoff_bytes", "read_handoff", "seal_handoff"]

NAME = b"handoff.json"
BLOCK = 1 << 20


def seal_handoff(
    left: Path,
    *,
    author: str,
    phase: int = 0,
    previous: SealedHandoff | None = None,
    zones: Mapping[str, Path] | None = None,
    evidence: Sequence[Evidence] = (),
    time: float | None = None,
) -> SealedHandoff:
    """Complete and seal the ``handoff.json`` that a role left in the directory ``left``.

    No file, or junk in its place, becomes an empty handoff; what was wrong stands
    in ``problems``. No link is followed. Call it when no process of the role is
    alive, that is after ``Sandbox.finish``.

    Args:
        author: the role that wrote it.
        phase: which turn of the episode this was, from 0.
        previous: the handoff sealed before this one; seals form a chain.
        zones: the directories that artifacts are looked for in, by zone. An artifact
            gets the digest found there; one that is absent, or that its author gave
            another digest, is noted in ``problems``.
        evidence: what the caller saw the role do.
        time: when it is sealed, seconds since the epoch; None is now.

    Raises:
        InputError: ``left`` or a zone is not a directory.
    """
    collected = collect_handoff(_read(left), f"{left.name}/{NAME.decode()}")
    return complete_and_seal(
        collected,
        author=author,
        phase=phase,
        time=clock.time() if time is None else time,
        previous=previous.seal.sha256 if previous else None,
        evidence=evidence,
        digests=_digests(collected.handoff, zones or {}),
    )


def handoff_bytes(handoff: SealedHandoff) -> bytes:
    """The file for the next role, and for the archive: readable JSON, UTF-8."""
    return sealed_bytes(handoff)


def read_handoff(
    data: bytes, place: str = "handoff", *, previous: SealedHandoff | None = None
) -> SealedHandoff:
    """A sealed handoff, its seal verified.

    Args:
        data: what ``handoff_bytes`` made.
        place: where it comes from, for messages.
        previous: the handoff that must have been sealed before this one; None asks nothing.

    Raises:
        RecordError: no handoff, not what was sealed, or sealed to another one.
    """
    found = parse_sealed(data, place)
    if previous is None:
        verify_seal(found, place)
    else:
        verify_seal(found, place, previous=previous.seal.sha256)
    return found


def _digests(handoff: Handoff, zones: Mapping[str, Path]) -> dict[tuple[str, str], str]:
    found = {}
    for artifact in handoff.artifacts:
        if artifact.zone in zones:
            digest = _digest(zones[artifact.zone], os.fsencode(artifact.path))
            if digest is not None:
                found[artifact.zone, artifact.path] = digest
    return found


def _read(left: Path) -> bytes | None:
    with _regular_file(left, NAME) as file:
        return None if file is None else _most(file, MAX_HANDOFF + 1)


def _most(file: int, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := os.read(file, size - len(data))):
        data += piece
    return data


def _digest(zone: Path, path: bytes) -> str | None:
    with _regular_file(zone, path) as file:
        if file is None:
            return None
        total = hashlib.sha256()
        while piece := os.read(file, BLOCK):
            total.update(piece)
        return total.hexdigest()


@contextmanager
def _regular_file(root: Path, path: bytes) -> Iterator[int | None]:
    """A regular file beneath ``root`` open for reading, or None; through no link."""
    if not root.is_dir():
        raise InputError("not a directory", place=str(root))
    with directory(root.resolve()) as at:
        try:
            found = open_beneath(at, path, os.O_PATH)
        except OSError:
            yield None
            return
        with opened(found):
            if not stat.S_ISREG(os.fstat(found).st_mode):
                yield None
                return
            with opened(reopen(found, os.O_RDONLY)) as file:
                yield file
