"""The evidence of one episode, held against its record: ledger, manifests, contents,
verdicts, transcripts, handoffs. What an episode's directory may hold is known by name
and kind. Every file is digested once, by the caller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rolewall.attest import ENVELOPE, SEAL
from rolewall.audit.conditions import check_conditions
from rolewall.audit.contents import Contents
from rolewall.audit.findings import Finding, Level, entries_of, unexpected, words_of
from rolewall.audit.handoffs import (
    Sealed,
    check_chain,
    check_results,
    not_shown_of,
    read_sealed,
)
from rolewall.audit.history import check_history
from rolewall.audit.verdicts import check_verdicts
from rolewall.episode import RESULTS
from rolewall.errors import RecordError
from rolewall.patterns import Evidence
from rolewall.policies import Attempt, Kind, read_ledger
from rolewall.record import EpisodeRecord, PhaseRecord, phase_name
from rolewall.roles import CALLS, EXCHANGES, TOOLS

__all__ = ["Verified", "check_evidence"]

FOLDERS = ("transcripts", "handoffs", "manifests", RESULTS)
FILES = ("episode.json", "audit.jsonl", SEAL, ENVELOPE)
ENTRIES = dict.fromkeys(FILES, "file") | dict.fromkeys(FOLDERS, "directory")
SUFFIXES = ("jsonl", "stdout", "stderr", CALLS, EXCHANGES, TOOLS)
START = "start:"
# An episode with these errors came to its end; with any other it may have ended anywhere.
WHOLE = (None, "grader", "manifest-alarm", "contract")


@dataclass
class Verified:
    """How much was verified."""

    episodes: int = 0
    ledgers: int = 0
    manifests: int = 0
    handoffs: int = 0
    transcripts: int = 0
    seals: int = 0
    signatures: int = 0


def check_evidence(
    directory: Path,
    record: EpisodeRecord,
    digests: Mapping[str, str],
    counts: Verified,
    contents: Contents,
) -> Iterator[Finding]:
    """What does not hold in an episode's directory; ``counts`` grows by what does.

    Args:
        digests: name → SHA-256 of every file that can be read.
    """
    yield from unexpected(directory, ENTRIES)
    yield from _ledger(directory, record, counts)
    yield from _manifests(directory, record, digests, counts, contents)
    yield from _transcripts(directory, record, digests, counts)
    yield from _handoffs(directory, record, digests, counts)


def _ledger(directory: Path, record: EpisodeRecord, counts: Verified) -> Iterator[Finding]:
    path = directory / "audit.jsonl"
    kind = entries_of(directory).get(path.name)
    if kind is None and record.ledger_lines:
        yield Finding("altered", str(path), f"gone; it had {record.ledger_lines} lines")
    if kind != "file":
        return
    edits: Counter[tuple[int, str]] = Counter()
    forbidden: Counter[tuple[int, str]] = Counter()
    evidence = Evidence(record.phases)
    try:
        head = record.ledger_head or None
        for line in read_ledger(path, head=head, lines=record.ledger_lines):
            evidence.add(line)
            if line["type"] == "attempt":
                attempt = Attempt.from_line(line, place=f"{path}:{line['seq']}")
                edits[attempt.phase, attempt.role] += attempt.kind is Kind.EDIT
                forbidden[attempt.phase, attempt.role] += attempt.kind is Kind.FORBIDDEN
    except RecordError as error:
        yield Finding("altered", error.place or str(path), words_of(error))
        return
    counts.ledgers += 1
    yield from _counted(path, record, edits)
    for phase in record.phases:
        # Beyond a budget they are counted and have no line.
        if (logged := forbidden[phase.index, phase.role]) > phase.attempts.forbidden:
            words = f"{logged} forbidden attempts in phase {phase.index}, the record counts"
            yield Finding("altered", str(path), f"{words} {phase.attempts.forbidden}")
    found = evidence.patterns(record.verdicts, record.observe)
    for row in record.verdicts:
        if row.patterns is not None and row.patterns != found.get(row.phase):
            words = f"the patterns of phase {row.phase} are not what the record says"
            yield Finding("altered", str(path), words)


def _counted(
    path: Path, record: EpisodeRecord, edits: Mapping[tuple[int, str], int]
) -> Iterator[Finding]:
    """The ledger holds the cross-role edits that the record counts, phase by phase."""
    for phase in record.phases:
        logged = edits.get((phase.index, phase.role), 0)
        counted = phase.attempts.edit_attempted
        # A violation is ended by a budget: what lies beyond it is counted and has no line.
        if logged > counted or (logged < counted and phase.outcome != "violation"):
            words = f"{logged} edits in phase {phase.index}, the record counts {counted}"
            yield Finding("altered", str(path), words)


def _manifests(
    directory: Path,
    record: EpisodeRecord,
    digests: Mapping[str, str],
    counts: Verified,
    contents: Contents,
) -> Iterator[Finding]:
    """Every manifest that the record names is there and unchanged, and there is no other."""
    wanted = {
        f"{phase.name}-{zone}.jsonl": digest
        for phase in record.phases
        for zone, digest in phase.manifests.items()
    }
    starts = {
        f"start-{name.removeprefix(START)}.jsonl": digest
        for name, digest in record.digests.items()
        if name.startswith(START)
    }
    place = directory / "manifests"
    held = _hold(place, digests, wanted | starts, "manifest", _last_written(record))
    counts.manifests += len(held.right)
    yield from held.findings
    for path in held.unnamed:
        yield _orphan(path, "manifest")
    for path in held.right:
        for where, words in contents.check(path):
            yield Finding("altered", where, words)
    sound = frozenset(path.name for path in held.right)
    for words in check_verdicts(directory, record, contents, sound):
        yield Finding("altered", str(directory / "episode.json"), words)
    for name, words in check_history(directory, record, sound):
        yield Finding("altered", str(place / name), words)


def _transcripts(
    directory: Path, record: EpisodeRecord, digests: Mapping[str, str], counts: Verified
) -> Iterator[Finding]:
    """As manifests. A phase that infrastructure ended left files, which only the seal
    has, and no row."""
    place = directory / "transcripts"
    wanted: dict[str, str] = {}
    for phase in record.phases:
        names = {f"{phase.name}.{suffix}" for suffix in SUFFIXES}
        wanted |= {n: d for n, d in phase.transcript_sha256.items() if n in names}
        yield from _misnamed(place, phase, names)
    held = _hold(place, digests, wanted, "transcript")
    counts.transcripts += len(held.right)
    yield from held.findings
    for path in held.unnamed:
        if not _of_no_phase(path, record):
            yield _orphan(path, "transcript")


def _misnamed(place: Path, phase: PhaseRecord, names: set[str]) -> Iterator[Finding]:
    for name in sorted(phase.transcript_sha256.keys() - names):
        yield Finding("altered", str(place / name), f"no transcript of phase {phase.index}")
    if phase.transcript not in (None, f"transcripts/{phase.name}.jsonl"):
        words = f"the transcript of phase {phase.index} is said to be {phase.transcript}"
        yield Finding("altered", str(place), words)


def _handoffs(
    directory: Path, record: EpisodeRecord, digests: Mapping[str, str], counts: Verified
) -> Iterator[Finding]:
    """The handoff of each phase lies under that phase's name, beside what was shown of it, and
    they form a chain."""
    place = directory / "handoffs"
    wanted = {f"{p.name}.json": p for p in record.phases if p.handoff}
    kinds = entries_of(place)
    right: list[Sealed] = []
    for name, phase in wanted.items():
        if kinds.get(name) is None:
            words = f"gone: handoff {phase.handoff} of phase {phase.index} ({phase.role})"
            yield Finding("altered", str(place / name), words)
        elif kinds[name] == "file":
            try:
                sealed = read_sealed(place / name)
            except RecordError as error:
                yield Finding("altered", error.place or str(place / name), words_of(error))
                continue
            if words := _not_of(sealed, phase):
                yield Finding("altered", str(sealed.path), words)
                continue
            right.append(sealed)
            yield from _shown(place, sealed, phase, record, digests)
    unfinished = phase_name(len(record.phases), "")
    spare = {n for n in kinds if record.error and n.startswith(unfinished) and n.endswith(".json")}
    shown = {f"{p.name}.shown.json" for p in record.phases if p.handoff_shown}
    yield from unexpected(place, dict.fromkeys(wanted.keys() | shown | spare, "file"))
    whole = record.error is None and len(right) == len(record.phases)
    yield from check_results(directory / RESULTS, digests, right, whole=whole)
    counts.handoffs += len(right)
    if len(right) == len(wanted):
        for path, words in check_chain(right):
            yield Finding("altered", str(path), words)
        for words in check_conditions(record, {s.handoff.seal.phase: s.handoff for s in right}):
            yield Finding("altered", str(directory / "episode.json"), words)


def _shown(
    place: Path,
    sealed: Sealed,
    phase: PhaseRecord,
    record: EpisodeRecord,
    digests: Mapping[str, str],
) -> Iterator[Finding]:
    if phase.handoff_shown:
        path = place / f"{phase.name}.shown.json"
        actual = digests.get(_below(path))
        if words := not_shown_of(sealed, record.handoff, phase.handoff_shown, actual):
            yield Finding("altered", str(path), words)


def _not_of(sealed: Sealed, phase: PhaseRecord) -> str:
    seal = sealed.handoff.seal
    if phase.handoff not in sealed.digests:
        return f"it is handoff {seal.sha256}, the record says {phase.handoff}"
    if (seal.author, seal.phase) != (phase.role, phase.index):
        return f"sealed for {seal.author} in phase {seal.phase}, not for {phase.name}"
    return ""


@dataclass
class _Held:
    """Files against their digests: which are right, what is not, and of which
    nothing is said."""

    right: list[Path] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    unnamed: list[Path] = field(default_factory=list)


def _hold(
    place: Path, digests: Mapping[str, str], wanted: Mapping[str, str], noun: str, unsure: str = ""
) -> _Held:
    """``unsure`` begins names of files that may be absent."""
    kinds, held = entries_of(place), _Held()
    held.findings += unexpected(place, dict.fromkeys(kinds, "file"))
    files = [name for name, kind in sorted(kinds.items()) if kind == "file"]
    held.unnamed += [place / name for name in files if name not in wanted]
    for name, sealed in sorted(wanted.items()):
        path = place / name
        if name not in kinds:
            spared = unsure and name.startswith(unsure)
            level: Level = "note" if spared else "altered"
            held.findings.append(Finding(level, str(path), f"gone: the record has this {noun}"))
        elif kinds[name] == "file" and (actual := digests.get(_below(path))) != sealed:
            words = f"its digest is {actual or 'unreadable'}, the record says {sealed}"
            held.findings.append(Finding("altered", str(path), words))
        elif kinds[name] == "file":
            held.right.append(path)
    return held


def _last_written(record: EpisodeRecord) -> str:
    """The beginning of the names that were being written when infrastructure ended an episode."""
    if (record.error.kind if record.error else None) in WHOLE:
        return ""
    return f"{record.phases[-1].name}-" if record.phases else "start-"


def _of_no_phase(path: Path, record: EpisodeRecord) -> bool:
    """Whether a phase that infrastructure ended, so that it has no row, left this file."""
    unfinished = path.name.startswith(phase_name(len(record.phases), ""))
    return record.error is not None and unfinished and path.name.rpartition(".")[2] in SUFFIXES


def _orphan(path: Path, noun: str) -> Finding:
    return Finding("altered", str(path), f"an orphan: the record has no such {noun}")


def _below(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
