"""Verifying the handoffs of an episode: what was sealed, file by file and as a chain; what
was shown of each; and the results that they name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rolewall.audit.findings import Finding, entries_of, unexpected
from rolewall.errors import RecordError
from rolewall.roles import (
    Arm,
    SealedHandoff,
    lacks_evidence,
    parse_sealed,
    sealed_bytes,
    shown_bytes,
    verify_seal,
)
from rolewall.storage import read_capped

__all__ = ["Sealed", "check_chain", "check_results", "not_shown_of", "read_sealed"]

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


def not_shown_of(sealed: Sealed, arm: Arm, recorded: str, actual: str | None) -> str:
    """Why a file is not what ``arm`` shows of a handoff; empty where it is. ``recorded`` and
    ``actual`` are its SHA-256, as the record has it and as it is."""
    if actual is None:
        return f"gone: the record has {recorded} as shown of this handoff"
    made = hashlib.sha256(shown_bytes(arm, sealed.handoff)).hexdigest()
    if actual != made:
        return f"its digest is {actual}, of what the arm {arm} leaves it is {made}"
    return "" if actual == recorded else f"its digest is {actual}, the record says {recorded}"


def check_results(
    place: Path, digests: Mapping[str, str], handoffs: Sequence[Sealed], *, whole: bool
) -> Iterator[Finding]:
    """Each result bears its SHA-256 as its name, evidence names it, and none that evidence
    has whole is gone.

    Args:
        digests: name → SHA-256 of the episode's files.
        whole: whether every phase left its handoff.
    """
    kinds = entries_of(place)
    yield from unexpected(place, dict.fromkeys(kinds, "file"))
    found = [one for sealed in handoffs for one in sealed.handoff.evidence]
    lacking = any(lacks_evidence(sealed.handoff) for sealed in handoffs)
    named = {digest for one in found for digest in (one.result, one.stderr) if digest}
    kept = {
        digest
        for one in found
        for digest in (one.result, one.stderr)
        if digest and one.size is not None and not one.truncated
    }
    for name in sorted(name for name, kind in kinds.items() if kind == "file"):
        actual = digests.get(f"{place.name}/{name}")
        if actual != name:
            words = f"its SHA-256 is {actual or 'unreadable'}, not its name"
            yield Finding("altered", str(place / name), words)
        elif whole and name not in named and not lacking:
            yield Finding("altered", str(place / name), "an orphan: no evidence has this result")
    for name in sorted(kept - kinds.keys()):
        yield Finding("altered", str(place / name), "gone: evidence has this result")
