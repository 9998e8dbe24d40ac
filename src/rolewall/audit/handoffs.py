"""Verifying the sealed handoffs of an episode, file by file and as a chain."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rolewall.errors import RecordError
from rolewall.roles import SealedHandoff, parse_sealed, sealed_bytes, verify_seal
from rolewall.storage import read_capped

__all__ = ["Sealed", "check_chain", "read_sealed"]

HANDOFF_CAP = 16 << 20


@dataclass(frozen=True)
class Sealed:
    """A handoff whose seal holds; ``digests`` are its seal and the SHA-256 of its file."""

    path: Path
    handoff: SealedHandoff
    digests: frozenset[str]


def read_sealed(path: Path) -> Sealed:
    """Read one handoff file. Raises RecordError when it is not what was sealed."""
    data = read_capped(path, HANDOFF_CAP)
    handoff = parse_sealed(data, str(path))
    verify_seal(handoff, str(path))
    if sealed_bytes(handoff) != data:
        raise RecordError("the file is not as it was written", place=str(path))
    return Sealed(path, handoff, frozenset({handoff.seal.sha256, hashlib.sha256(data).hexdigest()}))


def check_chain(handoffs: Sequence[Sealed]) -> Iterator[tuple[Path, str]]:
    """Where a handoff is not sealed to the one before it, in the order of phases."""
    previous: str | None = None
    for sealed in sorted(handoffs, key=lambda s: s.handoff.seal.phase):
        found = sealed.handoff.seal.previous
        if found != previous:
            words = f"sealed to {found or 'none'}, the one before is {previous or 'none'}"
            yield sealed.path, words
        previous = sealed.handoff.seal.sha256
