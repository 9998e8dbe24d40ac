"""The evidence of one episode, held against its record: ledger, manifests, seals."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rolewall.errors import RecordError
from rolewall.policies import read_ledger, verify_ledger
from rolewall.record import EpisodeRecord
from rolewall.seals import Sealed, check_chain, read_sealed

__all__ = ["Finding", "Verified", "check_evidence", "words_of"]

BLOCK = 1 << 20
EPISODE_ENTRIES = {"episode.json", "audit.jsonl", "transcripts", "handoffs", "manifests", "grade"}
START = "start:"


@dataclass(frozen=True)
class Finding:
    """Something that does not hold (``altered``) or is worth knowing (``note``)."""

    level: Literal["altered", "note"]
    place: str
    message: str

    def line(self) -> str:
        return f"{self.level}: {self.place}: {self.message}"


@dataclass
class Verified:
    """How much was verified; ``unsealed`` start manifests were not."""

    episodes: int = 0
    ledgers: int = 0
    manifests: int = 0
    handoffs: int = 0
    unsealed: int = 0


def check_evidence(directory: Path, record: EpisodeRecord, counts: Verified) -> Iterator[Finding]:
    """What does not hold in an episode's directory; ``counts`` grows by what does."""
    yield from _ledger(directory, record, counts)
    yield from _manifests(directory, record, counts)
    yield from _handoffs(directory, record, counts)
    yield from _loose_ends(directory, record)


def words_of(error: RecordError) -> str:
    return str(RecordError(error.message, got=error.got, expected=error.expected))


def _ledger(directory: Path, record: EpisodeRecord, counts: Verified) -> Iterator[Finding]:
    path = directory / "audit.jsonl"
    if not os.path.lexists(path):
        if record.ledger_lines:
            yield Finding("altered", str(path), f"gone; it had {record.ledger_lines} lines")
        return
    if not _is_regular(path):
        yield Finding("altered", str(path), "not a regular file")
        return
    try:
        verify_ledger(path, head=record.ledger_head or None, lines=record.ledger_lines)
    except RecordError as error:
        yield Finding("altered", error.place or str(path), words_of(error))
        return
    counts.ledgers += 1
    yield from _counted(path, record)


def _counted(path: Path, record: EpisodeRecord) -> Iterator[Finding]:
    """The ledger holds the cross-role edits that the record counts, phase by phase."""
    lines = Counter(
        (line.get("phase"), line.get("role"))
        for line in read_ledger(path)
        if line["type"] == "attempt" and line.get("kind") == "edit"
    )
    for phase in record.phases:
        logged, counted = lines[phase.index, phase.role], phase.attempts.edit_attempted
        # A violation is ended by a budget: what lies beyond it is counted and has no line.
        if logged > counted or (logged < counted and phase.outcome != "violation"):
            words = f"{logged} edits in phase {phase.index}, the record counts {counted}"
            yield Finding("altered", str(path), words)


def _manifests(directory: Path, record: EpisodeRecord, counts: Verified) -> Iterator[Finding]:
    """Every manifest that the record names is there and unchanged, and there is no other."""
    wanted = _manifest_names(record)
    starts = any(name.startswith("start-") for name in wanted)
    place = directory / "manifests"
    for path in _files(place):
        name, actual = str(path.relative_to(place)), _sha256(path)
        sealed = wanted.pop(name, None)
        if sealed is None and name.startswith("start-") and not starts:
            counts.unsealed += 1
        elif sealed is None:
            yield Finding("altered", str(path), "an orphan: the record has no such manifest")
        elif actual != sealed:
            words = f"its digest is {actual or 'unreadable'}, the record says {sealed}"
            yield Finding("altered", str(path), words)
        else:
            counts.manifests += 1
    for name in sorted(wanted):
        yield Finding("altered", str(place / name), "gone: the record has this manifest")


def _manifest_names(record: EpisodeRecord) -> dict[str, str]:
    """File name → digest, of every manifest that the record seals."""
    names = {
        f"{phase.index:02}-{phase.role}-{zone}.jsonl": digest
        for phase in record.phases
        for zone, digest in phase.manifests.items()
    }
    for name, digest in record.digests.items():
        if name.startswith(START):
            names[f"start-{name.removeprefix(START)}.jsonl"] = digest
    return names


def _handoffs(directory: Path, record: EpisodeRecord, counts: Verified) -> Iterator[Finding]:
    wanted = {p.handoff: f"phase {p.index} ({p.role})" for p in record.phases if p.handoff}
    held: list[Sealed] = []
    for path in _files(directory / "handoffs"):
        try:
            held.append(read_sealed(path))
        except RecordError as error:
            yield Finding("altered", error.place or str(path), words_of(error))
    for sealed in held:
        if not sealed.digests & wanted.keys():
            yield Finding("altered", str(sealed.path), "no phase of the record sealed this handoff")
    found = {digest for sealed in held for digest in sealed.digests & wanted.keys()}
    counts.handoffs += len(found)
    for gone in sorted(wanted.keys() - found):
        words = f"no file is handoff {gone}: {wanted[gone]}"
        yield Finding("altered", str(directory / "handoffs"), words)
    if len(found) == len(wanted) == len(held):
        for path, words in check_chain(held):
            yield Finding("altered", str(path), words)


def _loose_ends(directory: Path, record: EpisodeRecord) -> Iterator[Finding]:
    for name in sorted(os.listdir(directory)):
        if name not in EPISODE_ENTRIES:
            yield Finding("altered", str(directory / name), "an orphan: no record speaks of it")
    named = {p.transcript for p in record.phases if p.transcript}
    for transcript in sorted(named):
        if not _is_regular(directory / transcript):
            yield Finding("altered", str(directory / transcript), "gone: a phase's transcript")


def _files(directory: Path) -> Iterator[Path]:
    """Regular files at any depth, through no link, in order."""
    for base, folders, names in os.walk(directory):
        folders.sort()
        yield from (p for n in sorted(names) if _is_regular(p := Path(base) / n))


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _sha256(path: Path) -> str | None:
    hasher = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while block := file.read(BLOCK):
                hasher.update(block)
    except OSError:
        return None
    return hasher.hexdigest()
