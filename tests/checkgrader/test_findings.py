"""The mark that follows from what was found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rolewall.checkgrader import GraderCheck, Report
from rolewall.checkgrader.candidate import Graded
from rolewall.checkgrader.findings import MutantsFound, ShortcutFound, StateFound, Survivor

FAILS, PASSES = StateFound(("fail",) * 3), StateFound(("pass",) * 3)
SOUND = GraderCheck("t", "d", "g", "outside", FAILS, PASSES, mutants=MutantsFound(30, killed=20))
LIVE = Survivor("m1", "a.py", "constant", "a.py:1: 1 to 2")


def shortcut(outcome: str, why: str = "") -> tuple[ShortcutFound, ...]:
    return (ShortcutFound("conftest", "a conftest.py", outcome, why),)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "mark", "reason"),
    [
        (SOUND, "A", ""),
        (replace(SOUND, shortcuts=shortcut("withstood")), "A", ""),
        (replace(SOUND, shortcuts=shortcut("not run")), "A", ""),
        (replace(SOUND, shortcuts=shortcut("does not apply", "no Python")), "A", ""),
        (replace(SOUND, mutants=MutantsFound(30, 19, 0, (LIVE,))), "B", "1 of 20 mutants"),
        (replace(SOUND, mutants=MutantsFound(30, 4)), "B", "only 4 mutants judged"),
        (replace(SOUND, mutants=MutantsFound()), "U", "no mutant of the solution was judged"),
        (replace(SOUND, mutants=MutantsFound(30, 19, 1)), "B", "1 mutant could not be graded"),
        (replace(SOUND, shortcuts=shortcut("unclear", "no")), "B", "with conftest there is no"),
        (replace(SOUND, trust="untrusted"), "B", "the task states no trust"),
        (replace(SOUND, untouched=StateFound(("fail",) * 3, differing=("t.py::a",))), "B", "a"),
        (replace(SOUND, mutants=MutantsFound(30, 4, 0, (LIVE,))), "B", "1 of 5 mutants"),
        (replace(SOUND, mutants=MutantsFound(30, 13, 0, (LIVE,) * 7)), "B", "7 of 20 mutants"),
        (replace(SOUND, mutants=MutantsFound(30, 12, 0, (LIVE,) * 8)), "C", "12 of 20 mutants"),
        (replace(SOUND, neutral=PASSES), "A", ""),
        (replace(SOUND, neutral=StateFound(("fail",))), "C", "may know only the reference"),
        (replace(SOUND, solution=None), "U", "no solution"),
        (replace(SOUND, untouched=StateFound(("error",) * 3, "no box: jq")), "E", "no box: jq"),
        (replace(SOUND, solution=StateFound(("error",) * 3, "why")), "E", "why"),
        (
            replace(SOUND, untouched=StateFound(("error", "fail"), broke=True), broke=("engine",)),
            "E",
            "engine",
        ),
        (replace(SOUND, broke=("engine",), shortcuts=shortcut("unclear")), "E", "engine"),
        (replace(SOUND, broke=("engine",), shortcuts=shortcut("passed")), "F", "conftest passes"),
        (
            replace(SOUND, untouched=StateFound(("fail",), absent=("jq",)), solution=None),
            "E",
            "absent: jq",
        ),
        (
            replace(SOUND, untouched=StateFound(("fail",), absent=("module m",)), solution=None),
            "U",
            "no solution",
        ),
        (
            replace(
                SOUND,
                untouched=StateFound(("fail",), absent=("module m",)),
                solution=StateFound(("fail",), absent=("module m",)),
            ),
            "E",
            "absent: module m",
        ),
        (replace(SOUND, untouched=PASSES), "F", "the untouched workspace passes"),
        (replace(SOUND, solution=FAILS), "F", "the solution fails"),
        (replace(SOUND, solution=StateFound(("pass", "fail"), "", ("t.py::a",))), "F", "t.py::a"),
        (replace(SOUND, shortcuts=shortcut("passed")), "F", "conftest passes: a conftest.py"),
        (replace(SOUND, shortcuts=shortcut("passed"), solution=None), "F", "conftest passes"),
    ],
)
def test_the_mark(found: GraderCheck, mark: str, reason: str) -> None:
    assert found.mark == mark
    assert reason in "; ".join(found.reasons)
    assert bool(found.reasons) == (mark != "A")


def test_what_differs_between_repeats_is_named() -> None:
    seen = [Graded("fail", "", 1.0, said=("fail", "0.5", *tests)) for tests in (("a", "b"), ("a",))]
    found = StateFound.of(seen)
    assert (found.grade, found.differing) == ("fail", ("b",))


MARKED = {
    "A": SOUND,
    "B": replace(SOUND, mutants=MutantsFound(4, 4)),
    "C": replace(SOUND, mutants=MutantsFound(9, 1, 0, (LIVE,) * 8)),
    "U": replace(SOUND, solution=None),
    "E": replace(SOUND, untouched=StateFound(("error",))),
    "F": replace(SOUND, untouched=PASSES),
}


@pytest.mark.parametrize(
    ("marks", "least", "code"),
    [
        ("", "B", 4), ("A", "A", 0), ("AB", "B", 0), ("AB", "A", 1), ("C", "C", 0), ("AC", "B", 1),
        ("F", "C", 1), ("U", "C", 4), ("AU", "B", 4), ("AE", "B", 3), ("EU", "B", 3),
        ("EUF", "B", 1),
    ],
)  # fmt: skip
def test_the_exit_code(marks: str, least: str, code: int) -> None:
    report = Report(tuple(MARKED[mark] for mark in marks), least)  # type: ignore[arg-type]
    assert [check.mark for check in report.checks] == list(marks)
    assert report.exit_code == code
    assert report.json()["exit_code"] == code
