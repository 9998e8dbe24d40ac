"""One episode as a timeline: phases, attempts, manifest changes, verdict beside grade."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rolewall.aftermath import Aftermath, read_aftermath
from rolewall.errors import RecordError
from rolewall.policies import Attempt, read_ledger
from rolewall.record import (
    AttemptCounts,
    Change,
    EpisodeRecord,
    GradeRecord,
    PhaseRecord,
    VerdictRecord,
)
from rolewall.tally import FAILURES
from rolewall.terminal import counted, escape

__all__ = ["Timeline", "find_episode", "read_timeline"]

SHOWN = 50
NAMED = 5
TESTS = 10
# Kinds that cross a wall or try to; the rest is counted.
LISTED = ("edit", "privileged", "peek")


@dataclass(frozen=True)
class Crossings:
    """Attempts of one phase: those listed (at most ``SHOWN``) and how many there are by
    (kind, outcome)."""

    listed: tuple[dict[str, Any], ...]
    total: int
    counts: dict[str, int]


@dataclass(frozen=True)
class Timeline:
    record: EpisodeRecord
    crossings: dict[int, Crossings]
    aftermath: dict[int, Aftermath]

    def lines(self) -> list[str]:
        lines = list(_head(self.record))
        for phase in self.record.phases:
            lines += _phase(phase, self.record.started)
            lines += _left(phase, self.aftermath.get(phase.index, Aftermath()))
            lines += _crossings(self.crossings.get(phase.index), phase, self.record.started)
            lines += _changes(phase)
            for row in self.record.verdicts:
                if row.phase == phase.index:
                    lines += _verdict(row)
        return [*lines, *_tail(self.record)]

    def json(self) -> dict[str, Any]:
        return {
            "record": self.record.model_dump(mode="json"),
            "attempts": {
                str(index): {"total": c.total, "counts": c.counts, "listed": list(c.listed)}
                for index, c in sorted(self.crossings.items())
            },
            "phases": {str(index): asdict(left) for index, left in self.aftermath.items()},
        }


def find_episode(records: Sequence[EpisodeRecord], name: str) -> EpisodeRecord:
    """The one episode that ``name`` means: task:condition:trial, as much of it as names
    one episode, or the beginning of a key.

    Raises RecordError when there is none, or more than one.
    """
    found = [r for r in records if name in _names(r)]
    found = found or [r for r in records if name and r.key.startswith(name)]
    if len(found) == 1:
        return found[0]
    several = [_names(r)[-1] for r in found[:NAMED]] + ["…"] * (len(found) > NAMED)
    raise RecordError(
        f"{len(found)} episodes: {', '.join(several)}" if found else "no such episode",
        got=name,
        expected="task:condition:trial or the beginning of it or of a key, of one episode",
        hint="`rolewall show RUN` lists them",
    )


def _names(record: EpisodeRecord) -> tuple[str, str, str]:
    task = record.task
    return task, f"{task}:{record.condition}", f"{task}:{record.condition}:{record.trial}"


def read_timeline(directory: Path, record: EpisodeRecord) -> Timeline:
    """The timeline of a record, with the attempts in its ledger.

    Raises RecordError where the ledger or a transcript is not the one that the record has.
    """
    path = directory / "audit.jsonl"
    listed: dict[int, list[dict[str, Any]]] = defaultdict(list)
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    totals: Counter[int] = Counter()
    for attempt in _attempts(path, record) if os.path.lexists(path) else ():
        phase = attempt["phase"]
        counts[phase][f"{attempt['kind']} {attempt['outcome']}"] += 1
        if attempt["kind"] in LISTED or attempt["outcome"] == "unknown":
            totals[phase] += 1
            if len(listed[phase]) < SHOWN:
                listed[phase].append(attempt)
    return Timeline(
        record,
        {
            phase: Crossings(tuple(listed[phase]), totals[phase], dict(found))
            for phase, found in counts.items()
        },
        {phase.index: read_aftermath(directory, phase) for phase in record.phases},
    )


def _attempts(path: Path, record: EpisodeRecord) -> Iterator[dict[str, Any]]:
    for line in read_ledger(path, head=record.ledger_head or None, lines=record.ledger_lines):
        if line["type"] == "attempt":
            Attempt.from_line(line, place=f"{path}:{line['seq']}")
            yield line


def _head(record: EpisodeRecord) -> Iterator[str]:
    started = datetime.fromtimestamp(record.started, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    yield f"episode {record.key}  {record.task}:{record.condition}:{record.trial}"
    yield (
        f"team {record.team}, {record.backend}, image {record.image}, seed {record.seed},"
        f" observed {record.observe}, started {started}, {record.ended - record.started:.1f} s"
    )
    yield (
        f"{record.status}: verdict {record.verdict}, grade {record.grade}"
        f" (grader {record.trust}, verdict {'isolated' if record.isolated else 'not isolated'})"
    )
    if record.error:
        yield f"error {record.error.kind}: {record.error.message}"


def _phase(phase: PhaseRecord, start: float) -> Iterator[str]:
    code = "no exit code" if phase.returncode is None else f"exit {phase.returncode}"
    yield ""
    yield (
        f"phase {phase.index} {phase.role}, round {phase.round}: +{phase.started - start:.2f} s,"
        f" took {phase.ended - phase.started:.2f} s, {phase.outcome}, {code}"
    )
    yield f"  attempts: {_attempts_text(phase.attempts) or 'none'}"
    if met := _met(phase.box.get("limits_hit")):
        yield f"  limits met: {met}"


def _met(hit: object) -> str:
    """What the kernel refused or ended; that a box waited for a core is nothing of note."""
    counts = hit if isinstance(hit, dict) else {}
    named = (("memory_mb", "killed (memory_mb)"), ("pids", "not started (pids)"))
    found = [(counts.get(name), text) for name, text in named]
    return _nonzero([(n, text) for n, text in found if isinstance(n, int)])


def _attempts_text(counts: AttemptCounts) -> str:
    """Every count that is not nought."""
    edits = (
        (counts.distinct_edits, "distinct"),
        (counts.edit_blocked, "blocked"),
        (counts.edit_allowed, "allowed"),
    )
    others = ("incidental", "own", "outside", "privileged", "unknown", "unattributed")
    reads = ((counts.read, "reads in zones"), (counts.read_outside, "elsewhere"))
    parts = []
    if counts.edit_attempted:
        detail = _nonzero(edits)
        edited = counted(counts.edit_attempted, "cross-role edit")
        parts.append(f"{edited} ({detail})" if detail else edited)
    if counts.peek:
        parts.append(f"{counted(counts.peek, 'peek')} ({counts.distinct_peeks} distinct)")
    parts += [_nonzero([(getattr(counts, name), name) for name in others]), _nonzero(reads)]
    return ", ".join(filter(None, parts))


def _nonzero(counts: Sequence[tuple[int, str]]) -> str:
    return ", ".join(f"{number} {name}" for number, name in counts if number)


def _left(phase: PhaseRecord, left: Aftermath) -> Iterator[str]:
    if phase.outcome in FAILURES:
        yield f"  transcript {phase.transcript or 'none'}"
        yield from (f"    stderr: {line}" for line in left.stderr)
    if phase.handoff:
        yield f"  handoff sealed {phase.handoff}"
        yield from (f"    problem: {problem}" for problem in left.problems)


def _crossings(found: Crossings | None, phase: PhaseRecord, start: float) -> Iterator[str]:
    if found is None:
        return
    for attempt in found.listed:
        yield f"    {_attempt(attempt, phase, start)}"
    if found.total > len(found.listed):
        yield f"    and {found.total - len(found.listed)} more in audit.jsonl"


def _attempt(attempt: dict[str, Any], phase: PhaseRecord, start: float) -> str:
    shown = " ".join(map(escape, attempt["paths"]))
    program = attempt["exe"] or attempt["comm"]
    text = f"+{attempt['time'] - start:.2f} s {attempt['outcome']} {attempt['syscall']} {shown}"
    text += f" by {program}"
    if attempt["role"] != phase.role:
        text += f" as {attempt['role']}"
    return f"{text} ({attempt['why']})" if attempt["why"] else text


def _changes(phase: PhaseRecord) -> Iterator[str]:
    for change in phase.changes[:SHOWN]:
        yield f"    {_change(change, phase.role)}"
    if len(phase.changes) > SHOWN:
        yield f"    and {len(phase.changes) - SHOWN} more changes in episode.json"
    if phase.changes_omitted:
        yield f"    and {phase.changes_omitted} more changes in the manifests alone"


def _change(change: Change, role: str) -> str:
    what = f" ({', '.join(change.what)})" if change.what else ""
    across = "  CROSS-ROLE" if change.cross_role else ""
    across += "" if change.attributed else " UNATTRIBUTED"
    return f"{role} {change.change} /{change.zone}/{change.path}{what}{across}"


def _verdict(row: VerdictRecord) -> Iterator[str]:
    yield (
        f"  verdict {row.verdict} | grade before {_grade(row.grade_before)},"
        f" after {_grade(row.grade_after)}"
    )
    if row.why:
        yield f"    why: {row.why}"
    failed = row.grade_after.details.get("failed") if row.grade_after else None
    for test, state in list(failed.items())[:TESTS] if isinstance(failed, dict) else ():
        yield f"    not passed: {test}: {state}"
    for claim in row.claims:
        yield f"    claims to have run {claim.get('command')}: seen {claim.get('seen')}"


def _grade(grade: GradeRecord | None) -> str:
    if grade is None:
        return "not taken"
    return f"{grade.grade} ({grade.why})" if grade.why else grade.grade


def _tail(record: EpisodeRecord) -> Iterator[str]:
    yield ""
    spent = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in sorted(record.seconds.items()))
    if spent:
        yield f"time: {spent}"
    yield f"ledger: {record.ledger_lines} lines, head {record.ledger_head or 'none'}"
