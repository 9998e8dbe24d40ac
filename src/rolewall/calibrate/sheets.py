"""A calibration as sheets: one line a report, one a kind of fault, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rolewall.calibrate.results import CalibrationTable, ReportRow
from rolewall.candidate import TaskCandidates
from rolewall.clusterrates import Rate
from rolewall.figures import failures_text, informedness_text, rate_text, reading
from rolewall.terminal import Sheet, counted

__all__ = ["sheets"]

COLUMNS = (
    "report", "caught", "falsely rejected", "informedness", "told apart", "missing",
    "untouched rejected", "errors",
)  # fmt: skip
LEGEND = (
    "caught: mutants rejected; falsely rejected: solutions, which are their twins, rejected",
    "informedness: caught less falsely rejected; 1 is always right, 0 tells nothing apart",
    "told apart: pairs of which the mutant is rejected and the solution approved",
    "gate, compare, show and report count these mutants and their twins too; the untouched"
    " workspaces, and the solutions beside them, are in no rate",
)
EMPTY = "no candidate was judged: this is not a pass"


def sheets(table: CalibrationTable) -> list[Sheet]:
    """The result first; kinds of fault and what reports changed where there is something."""
    found = [_result(table)]
    if table.faults:
        found.append(_faults(table))
    if table.shifts:
        found.append(_shifts(table))
    return found


def _result(table: CalibrationTable) -> Sheet:
    rows = [row for row in table.rows if row.shown]
    return Sheet(
        title=f"verifier of team {table.team}, alone, on candidates of known truth",
        columns=COLUMNS,
        rows=tuple(map(_cells, rows)),
        notes=(*((*LEGEND, _reading(rows)) if rows else ()), *_notes(table)),
        empty=EMPTY,
        measures=True,
    )


def _reading(rows: Sequence[ReportRow]) -> str:
    """Reports are shown of the same candidates, so that one line says it of all but for what
    a verifier of one left without a verdict."""
    kinds = (("mutants", "catch"), ("solutions", "false_rejection"))
    told = [reading([(name, getattr(row.measures["excluded"], kind)) for name, kind in kinds])
            for row in rows]  # fmt: skip
    if len(set(told)) == 1:
        return told[0]
    return reading(
        (f"{name} with {row.report}", getattr(row.measures["excluded"], kind))
        for row in rows
        for name, kind in kinds
    )


def _cells(row: ReportRow) -> tuple[str, ...]:
    said = row.measures["excluded"]
    return (
        row.report,
        rate_text(said.catch),
        rate_text(said.false_rejection),
        informedness_text(said.informedness),
        rate_text(row.told_apart),
        str(row.missing),
        _counts(row.untouched),
        str(sum(row.errors.values())),
    )


def _notes(table: CalibrationTable) -> Iterator[str]:
    if table.planned > table.shown:
        yield f"incomplete: {table.shown} of {table.planned} planned episodes have a record"
    for row in table.rows:
        if row.missing:
            strict = informedness_text(row.measures["failure"].informedness)
            yield f"with {row.report}, missing verdicts as wrong ones: informedness {strict}"
        if row.errors:
            kinds = ", ".join(f"{number} {kind}" for kind, number in row.errors.items())
            yield f"errors with {row.report}: {kinds}"
        if row.failures:
            yield f"with {row.report} {failures_text(row.failures)}"
        if row.changed:
            episodes = counted(row.changed, "episode")
            yield f"with {row.report}, left out: {episodes} whose grade was another than before"
    tasks = table.info.tasks
    for name, words in (
        ("survived", "that its grader passes"),
        ("flaky", "that its grader fails only sometimes"),
        ("slow", "that its grader takes too long over"),
        ("unjudged", "that its grader cannot judge"),
    ):
        if number := sum(getattr(task, name) for task in tasks):
            yield f"discarded before: {counted(number, 'mutant')} {words}"
    for task in tasks:
        yield from _left_out(task)
    yield from table.notes


def _left_out(task: TaskCandidates) -> Iterator[str]:
    if task.why:
        yield f"task {task.task} is left out: {task.why}"
        return
    if not task.mutants:
        yield f"task {task.task} has no mutant that its grader fails"
    if not task.untouched:
        yield f"task {task.task}: its grader does not fail the untouched workspace"


def _faults(table: CalibrationTable) -> Sheet:
    reports = [row.report for row in table.rows]
    return Sheet(
        title="caught, by kind of fault",
        columns=("fault", *reports),
        rows=tuple(
            (row.fault, *(_counts(row.caught[report]) for report in reports))
            for row in table.faults
        ),
        notes=("untouched: the workspace as it was, whose diff is empty, so that it shows",),
    )


def _shifts(table: CalibrationTable) -> Sheet:
    return Sheet(
        title=f"verdicts on mutants and their twins, against the report {table.shifts[0].first}",
        columns=("report", "candidates", "became approve", "ceased to be approve"),
        rows=tuple(
            (one.second, str(one.pairs), str(one.to_approve), str(one.from_approve))
            for one in table.shifts
        ),
        numeric=frozenset({1, 2, 3}),
    )


def _counts(rate: Rate) -> str:
    return f"{rate.events}/{rate.total}"
