"""One episode in full: what happened in each phase, and the verdict beside the grade."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from rolewall.aftermath import problem_lines, read_aftermath
from rolewall.boundtext import breach_lines, condition_lines, turn_of
from rolewall.modeluse import usage_text
from rolewall.record import EpisodeRecord, GradeRecord, PhaseRecord, VerdictRecord
from rolewall.report.diffs import Diffs
from rolewall.report.ledgers import attempt_lines
from rolewall.report.model import (
    AttemptLine,
    EpisodeView,
    Pick,
    TimelineEntry,
    VerdictLine,
)
from rolewall.rows import Row
from rolewall.rundir import Run
from rolewall.tally import FAILURES
from rolewall.terminal import counted
from rolewall.tooluse import tools_line

__all__ = ["Episodes"]

TESTS, CLAIMS, PROBLEMS, PHASES = 10, 20, 5, 24
COUNTS = (
    ("edit_blocked", "blocked"),
    ("edit_allowed", "let through"),
    ("unattributed", "changes nobody was seen making"),
    ("privileged", "privileged"),
    ("unknown", "unknown"),
    ("distinct_peeks", "distinct peeks"),
    ("incidental", "incidental"),
    ("forbidden_blocked", "forbidden and blocked"),
    ("forbidden_allowed", "forbidden and let through"),
    ("own", "in its own zones"),
)


class Episodes:
    """Reads episodes in full, one at a time. Of records without a run, what a row has."""

    def __init__(self, run: Run | None) -> None:
        self._run = run
        self._records = {record.key: record for record in run.records} if run else {}
        self._diffs = Diffs(run.path) if run else None

    def view(self, pick: Pick) -> EpisodeView:
        """Raises RecordError where the evidence is not what the record has."""
        record = self._records.get(pick.row.key)
        if record is None or self._run is None or self._diffs is None:
            return EpisodeView(pick, tuple(_row_facts(pick.row)))
        directory = self._run.episode_dir(record)
        attempts = attempt_lines(directory, record)
        timeline = tuple(
            _entry(directory, record, phase, attempts.get(phase.index, ((), 0)), self._diffs)
            for phase in record.phases[:PHASES]
        )
        return EpisodeView(pick, tuple(_facts(record)), timeline, tuple(_tail(record)))


def _row_facts(row: Row) -> Iterator[str]:
    if row.error:
        yield f"error: {row.error}"
    stated = (
        ("team", row.source.team),
        ("backend", row.source.backend),
        ("grader's trust class", row.trust),
        ("cross-role edits attempted", row.attempts),
        ("distinct", row.edits),
        ("landed", row.landed),
        ("score", row.score),
        ("seconds", None if row.seconds is None else f"{row.seconds:.1f}"),
    )
    said = [f"{name} {value}" for name, value in stated if value not in (None, "")]
    if said:
        yield ", ".join(said)


def _facts(record: EpisodeRecord) -> Iterator[str]:
    if record.error:
        yield f"error {record.error.kind}: {record.error.message}"
    if record.candidate:
        shown = record.candidate
        fault = ": ".join(filter(None, (shown.fault, shown.what)))
        yield f"candidate: {shown.kind}{f', {fault}' if fault else ''}, {shown.report} report"
    isolated = "isolated" if record.isolated else "made beside the work it judged, or without it"
    verdict = f" verdict {isolated}," if record.verified else ""
    yield (
        f"seed {record.seed}, observed: {record.observe}, grader {record.trust},"
        f"{verdict} {record.ended - record.started:.1f} s"
    )
    if record.handoff != "full":
        yield f"handoffs were shown as {record.handoff}"
    yield from breach_lines(record)
    yield from condition_lines(record, None)


def _entry(
    directory: Path,
    record: EpisodeRecord,
    phase: PhaseRecord,
    attempts: tuple[tuple[AttemptLine, ...], int],
    diffs: Diffs,
) -> TimelineEntry:
    views, left = diffs.of(directory, record, phase)
    lines, more = attempts
    if more:
        left = (f"further distinct attempts in audit.jsonl: {more}", *left)
    row = next((v for v in record.verdicts if v.phase == phase.index), None)
    code = "no exit code" if phase.returncode is None else f"exit {phase.returncode}"
    return TimelineEntry(
        title=(
            f"{phase.index} {phase.role}, {turn_of(phase)}:"
            f" +{phase.started - record.started:.2f} s,"
            f" {phase.ended - phase.started:.2f} s, {phase.outcome}, {code}"
        ),
        failed=phase.outcome in FAILURES,
        facts=(
            *_phase_facts(directory, phase, row.verdict if row else None),
            *condition_lines(record, phase.index),
        ),
        attempts=lines,
        diffs=views,
        left_out=left,
        verdict=_verdict(row) if row else None,
    )


def _phase_facts(directory: Path, phase: PhaseRecord, verdict: str | None) -> Iterator[str]:
    counts = phase.attempts
    said = [f"{n} {words}" for name, words in COUNTS if (n := getattr(counts, name))]
    edits = counted(counts.edit_attempted, "cross-role edit call")
    if counts.edit_attempted:
        edits += f" ({counts.distinct_edits} distinct)"
    yield ", ".join([edits, *said])
    if phase.usage is not None:
        yield f"model: {usage_text(phase.usage)}"
    if phase.tools is not None:
        yield f"tools: {tools_line(phase.tools)}"
    for action, names in phase.held.items():
        yield f"{action} was forbidden: condition {', '.join(names)}"
    if absent := sorted(name for name, there in phase.programs.items() if not there):
        yield f"needed by the plan, and not in its box: {', '.join(absent)}"
    left = read_aftermath(directory, phase)
    yield from (f"stderr: {line}" for line in left.stderr)
    if phase.handoff:
        yield f"handoff sealed {phase.handoff[:16]}"
        yield from islice(problem_lines(phase, left, verdict), PROBLEMS)


def _verdict(row: VerdictRecord) -> VerdictLine:
    failed = row.grade_after.details.get("failed") if row.grade_after else None
    tests = list(failed.items()) if isinstance(failed, dict) else []
    shown = [f"{name}: {state}" for name, state in tests[:TESTS]]
    if len(tests) > TESTS:
        shown.append(f"further tests: {len(tests) - TESTS}")
    claims = [f"{c.get('command')} (seen: {c.get('seen')})" for c in row.claims[:CLAIMS]]
    if len(row.claims) > CLAIMS:
        claims.append(f"further claims: {len(row.claims) - CLAIMS}")
    return VerdictLine(
        verdict=row.verdict,
        before=_grade(row.grade_before),
        after=_grade(row.grade_after),
        why=row.why,
        claims=tuple(claims),
        failed=tuple(shown),
    )


def _grade(grade: GradeRecord | None) -> str:
    if grade is None:
        return "not taken"
    return f"{grade.grade} ({grade.why})" if grade.why else grade.grade


def _tail(record: EpisodeRecord) -> Iterator[str]:
    if len(record.phases) > PHASES:
        yield f"further phases: {len(record.phases) - PHASES}"
    if record.final:
        yield f"final grade: {_grade(record.final)}"
    spent = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in sorted(record.seconds.items()))
    if spent:
        yield f"time: {spent}"
    yield f"ledger: {record.ledger_lines} lines, head {record.ledger_head[:16] or 'none'}"
