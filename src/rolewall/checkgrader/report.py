"""Checks of graders as tables and JSON, and the exit code they amount to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rolewall.checkgrader.findings import MARKS, GraderCheck, Mark, StateFound
from rolewall.terminal import Sheet, counted

__all__ = ["LEAST_MARKS", "Report"]

LEAST_MARKS: tuple[Mark, ...] = ("A", "B", "C")
"""What may be asked of every grader."""

HOLDS, FAILED, INFRASTRUCTURE, UNDECIDED = 0, 1, 3, 4
COLUMNS = ("task", "mark", "untouched", "solution", "shortcuts", "mutants killed", "grader")
MEANING = {
    "A": "all holds",
    "B": "holds, but for what is listed",
    "C": "too many mutants of the solution pass, or it knows only the reference",
    "U": "cannot be judged: no solution, or no mutant of it",
    "E": "the grader could not be run",
    "F": "not to be trusted",
}
LEGEND = (
    "shortcuts: withstood, of those that count; code that was not seen to run does not",
    "mutants killed: small faults put into the solution that the grader fails, of those judged",
)


@dataclass(frozen=True)
class Report:
    """All checks, and the least mark that was asked for."""

    checks: tuple[GraderCheck, ...]
    least: Mark

    @property
    def exit_code(self) -> int:
        """1: a grader is below ``least``. Else 3: one could not be run. Else 4: one could not
        be judged, or there is none. Else 0."""
        marks = {check.mark for check in self.checks}
        if any(mark not in ("U", "E") and not self._holds(mark) for mark in marks):
            return FAILED
        if "E" in marks:
            return INFRASTRUCTURE
        return UNDECIDED if "U" in marks or not marks else HOLDS

    def _holds(self, mark: Mark) -> bool:
        return mark in MARKS[: MARKS.index(self.least) + 1]

    def sheets(self) -> Iterator[Sheet]:
        """The table of tasks; then why, for those that are no A; then the mutants that pass."""
        rows = tuple(_cells(check) for check in self.checks)
        empty = "no grader was checked: this is no pass"
        yield Sheet("graders", COLUMNS, rows, self._notes(), frozenset({4, 5}), empty)
        yield from self._details("why", ("task", "mark", "why"), _whys)
        yield from self._details(
            "mutants that pass", ("task", "mutant", "kind of fault", "change"), _survivors
        )
        yield from self._details("shortcuts planted", ("task", "outcome", "which"), _tried)
        yield from self._details("shortcuts not counted", ("task", "how many", "why"), _uncounted)

    def _details(self, title: str, columns: tuple[str, ...], rows_of: Any) -> Iterator[Sheet]:
        rows = tuple(row for check in self.checks for row in rows_of(check))
        if rows:
            yield Sheet(title, columns, rows)

    def _notes(self) -> tuple[str, ...]:
        if not self.checks:
            return ()
        marks = Counter(check.mark for check in self.checks)
        meant = [f"{mark}: {MEANING[mark]} ({marks[mark]})" for mark in MARKS if marks[mark]]
        below = sum(not self._holds(check.mark) for check in self.checks)
        asked = f"{counted(below, 'grader')} of {len(self.checks)} below {self.least}"
        return (*LEGEND, "; ".join(meant), asked)

    def json(self) -> dict[str, Any]:
        return {
            "exit_code": self.exit_code,
            "least": self.least,
            "graders": [check.json() for check in self.checks],
        }


def _cells(check: GraderCheck) -> tuple[str, ...]:
    outcomes = Counter(one.outcome for one in check.shortcuts)
    held = outcomes["withstood"]
    counting = held + outcomes["passed"] + outcomes["unclear"]
    shortcuts = f"{held}/{counting}"
    if outcomes["not run"]:
        shortcuts += f", {outcomes['not run']} not run"
    mutants = check.mutants
    killed = f"{mutants.killed}/{mutants.judged}" if mutants.judged else "-"
    return (
        check.task,
        check.mark,
        _state(check.untouched),
        _state(check.solution),
        shortcuts if counting or outcomes["not run"] else "-",
        killed,
        check.trust or "-",
    )


def _state(state: StateFound | None) -> str:
    if state is None:
        return "none"
    return state.grade if state.grade != "flaky" else f"flaky ({', '.join(state.grades)})"


def _whys(check: GraderCheck) -> Sequence[tuple[str, ...]]:
    return [(check.task, check.mark, reason) for reason in check.reasons]


def _survivors(check: GraderCheck) -> Sequence[tuple[str, ...]]:
    return [(check.task, one.id, one.fault, one.what) for one in check.mutants.survivors]


def _tried(check: GraderCheck) -> Sequence[tuple[str, ...]]:
    rows = []
    for outcome in ("passed", "unclear", "withstood", "not run"):
        if names := [one.name for one in check.shortcuts if one.outcome == outcome]:
            rows.append((check.task, outcome, ", ".join(names)))
    return rows


def _uncounted(check: GraderCheck) -> Sequence[tuple[str, ...]]:
    whys = Counter(one.why for one in check.shortcuts if one.outcome == "does not apply")
    return [(check.task, str(number), why) for why, number in whys.items()]
