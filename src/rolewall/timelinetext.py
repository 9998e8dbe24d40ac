"""A timeline as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from rolewall.aftermath import Aftermath, problem_lines
from rolewall.boundtext import condition_lines, contract_lines, turn_of
from rolewall.modeluse import usage_text
from rolewall.patterns import NAMES
from rolewall.record import (
    AttemptCounts,
    Change,
    EpisodeRecord,
    GradeRecord,
    PhaseRecord,
    PhaseReplay,
    VerdictRecord,
)
from rolewall.tally import FAILURES, corrupt
from rolewall.terminal import counted, escape
from rolewall.timeline import SHOWN, Crossings, Timeline
from rolewall.tooluse import tools_line

__all__ = ["timeline_lines"]

TESTS = 10
# So that what crosses a wall, or looks behind one, is found by eye.
MARKS = {
    "edit": "  EDIT",
    "forbidden": "  FORBIDDEN",
    "peek": "  PEEK",
    "privileged": "  PRIVILEGED",
}


def timeline_lines(timeline: Timeline) -> list[str]:
    """To be printed by ``terminal.say``, which escapes them."""
    record = timeline.record
    lines = list(_head(record))
    verdicts = {row.phase: row.verdict for row in record.verdicts}
    for phase in record.phases:
        lines += _phase(phase, record.started)
        left = timeline.aftermath.get(phase.index, Aftermath())
        lines += _left(phase, left, verdicts.get(phase.index))
        lines += (f"  {line}" for line in condition_lines(record, phase.index))
        lines += _crossings(timeline.crossings.get(phase.index), phase, record.started)
        lines += _changes(phase)
        for row in record.verdicts:
            if row.phase == phase.index:
                lines += _verdict(row)
    return [*lines, *_tail(record)]


def _head(record: EpisodeRecord) -> Iterator[str]:
    started = datetime.fromtimestamp(record.started, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    yield f"episode {record.key}  {record.task}:{record.condition}:{record.trial}"
    yield (
        f"team {record.team}, {record.backend}, image {record.image}, seed {record.seed},"
        f" observed {record.observe}, started {started}, {record.ended - record.started:.1f} s"
    )
    yield (
        f"{record.status}: verdict {record.verdict}, grade {record.grade}"
        f" (grader {record.trust}, {_isolation(record)})"
    )
    if corrupt(record):
        yield "corrupt success: the work passes, and a cross-role edit landed"
    if record.handoff != "full":
        yield f"of handoffs the arm {record.handoff} was shown"
    if record.replay_of:
        yield f"a replay of episode {record.replay_of}: {_repeated(record)}"
    yield from contract_lines(record)
    yield from condition_lines(record, None)
    for error in record.tries:
        yield f"an earlier try ended in error {error.kind}: {error.message}"
    if record.error:
        yield f"error {record.error.kind}: {record.error.message}"


def _repeated(record: EpisodeRecord) -> str:
    """What is not this episode's own."""
    roles = dict.fromkeys(phase.role for phase in record.phases if phase.replay)
    again = [f"what its {' and '.join(roles)} did is done again"] if roles else []
    models = any(phase.usage for phase in record.phases)
    return ", ".join([*again, *(["its models' answers are those of then"] if models else [])])


def _isolation(record: EpisodeRecord) -> str:
    if not record.verified:
        return "no verifier"
    return f"verdict {'isolated' if record.isolated else 'not isolated'}"


def _phase(phase: PhaseRecord, start: float) -> Iterator[str]:
    code = "no exit code" if phase.returncode is None else f"exit {phase.returncode}"
    yield ""
    yield (
        f"phase {phase.index} {phase.role}, {turn_of(phase)}: +{phase.started - start:.2f} s,"
        f" took {phase.ended - phase.started:.2f} s, {phase.outcome}, {code}"
    )
    yield f"  attempts: {_attempts_text(phase.attempts) or 'none'}"
    if phase.usage is not None:
        yield f"  model: {usage_text(phase.usage)}"
    if phase.tools is not None:
        yield f"  tools: {tools_line(phase.tools)}"
    if phase.replay is not None:
        yield f"  replayed: {_replay_text(phase.replay)}"
    if met := _met(phase.box.get("limits_hit")):
        yield f"  limits met: {met}"


def _replay_text(replay: PhaseReplay) -> str:
    parts = [f"{counted(replay.calls, 'call')}, {replay.drifted} drifted from the recording"]
    if replay.left_out:
        parts.append(f"{replay.left_out} left out, which do nothing in a box")
    return "; ".join([*parts, f"it ended {replay.outcome} then"])


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
    parts = []
    if counts.edit_attempted:
        detail = _nonzero(edits)
        edited = counted(counts.edit_attempted, "cross-role edit")
        parts.append(f"{edited} ({detail})" if detail else edited)
    if counts.forbidden:
        told = (
            (counts.distinct_forbidden, "distinct"),
            (counts.forbidden_blocked, "blocked"),
            (counts.forbidden_allowed, "allowed"),
        )
        parts.append(f"{counts.forbidden} forbidden by conditions ({_nonzero(told)})")
    if counts.peek:
        parts.append(f"{counted(counts.peek, 'peek')} ({counts.distinct_peeks} distinct)")
    parts.append(_nonzero([(getattr(counts, name), name) for name in others]))
    if counts.read:
        parts.append(f"{counted(counts.read, 'read')} in zones")
    parts.append(_nonzero([(counts.read_outside, "elsewhere")]))
    return ", ".join(filter(None, parts))


def _nonzero(counts: Sequence[tuple[int, str]]) -> str:
    return ", ".join(f"{number} {name}" for number, name in counts if number)


def _left(phase: PhaseRecord, left: Aftermath, verdict: str | None) -> Iterator[str]:
    if phase.outcome in FAILURES:
        yield f"  transcript {phase.transcript or 'none'}"
        yield from (f"    stderr: {line}" for line in left.stderr)
    if phase.handoff:
        yield f"  handoff sealed {phase.handoff}"
        yield from (f"    {line}" for line in problem_lines(phase, left, verdict))


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
    if attempt["why"]:
        text += f" ({attempt['why']})"
    return text + MARKS.get(attempt["kind"], "")


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
    yield from _told(row)
    for claim in row.claims:
        yield f"    claims to have run {claim.get('command')}: seen {claim.get('seen')}"


def _told(row: VerdictRecord) -> Iterator[str]:
    if not row.isolated:
        beside = f": in its box ran {row.beside}" if row.beside else ""
        if row.held:
            yield f"    given without the work: held by condition {', '.join(row.held)}"
        if beside or not row.held:
            yield f"    not isolated from the work{beside}"
    if row.patterns is None:
        return
    found = row.patterns.model_dump()
    for told, words in (("yes", "pattern"), ("unknown", "cannot be told")):
        if names := [name for name in NAMES if found[name] == told]:
            yield f"    {words}: {', '.join(names)}"


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
