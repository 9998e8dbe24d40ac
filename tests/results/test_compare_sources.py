"""A comparison never pools what was made in several ways, nor finds more than its interval."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.compare import compare, compare_runs
from rolewall.comparing import default_asked
from rolewall.errors import InputError, NotEnoughEvidence
from rolewall.records import Dataset
from rolewall.report.build import build_report
from rolewall.rows import Row, Source
from rolewall.terminal import plain

if TYPE_CHECKING:
    from conftest import Here

BOTH = ("prompt-only", "enforced")
SEVERAL: dict[str, dict[str, Any]] = {
    "teams": {"source": Source(team="other")},
    "verifiers": {"source": Source(verifier="other")},
    "models": {"source": Source(model="other")},
    "backends": {"source": Source(backend="other")},
    "versions of rolewall's code": {"source": Source(code="other")},
    "kinds of work": {"candidate": "c"},
}


def both(tasks: int, trials: int = 1) -> list[Row]:
    return [
        Row(f"t{n}", name, trial, "approve", "pass", attempts=0, edits=0, landed=0)
        for n in range(tasks)
        for name in BOTH
        for trial in range(trials)
    ]


def under(rows: list[Row], condition: str) -> list[Row]:
    return [r for r in rows if r.condition == condition]


@pytest.fixture
def cli(here: Here) -> Here:
    return here


@pytest.mark.parametrize("what", SEVERAL)
def test_several_sources_of_one_side_are_never_pooled(what: str) -> None:
    """Not where each pair agrees, one model having done some of the tasks, nor in two runs."""
    rows = [replace(r, **SEVERAL[what]) if r.task == "t1" else r for r in both(4)]
    with pytest.raises(InputError, match=f"several {what}") as caught:
        compare(rows, BOTH)
    assert caught.value.place == "prompt-only"
    mixed, pure = under(rows, "enforced"), under(both(4), "enforced")
    for sides in ((mixed, pure), (pure, mixed)):
        with pytest.raises(InputError, match=f"several {what}"):
            compare_runs(*sides, ("old", "new"))
    whole = [replace(r, **SEVERAL[what]) for r in both(4)]
    assert compare(whole, BOTH).contrasts[0].pairs == 4


def test_two_versions_of_a_task_are_never_pooled() -> None:
    rows = both(4, trials=2)
    with pytest.raises(InputError, match="two versions of a task"):
        compare([replace(r, version=f"v{r.trial}") for r in rows], BOTH)
    assert compare([replace(r, version=r.task) for r in rows], BOTH).contrasts[0].pairs == 8


@pytest.mark.parametrize("what", ["team", "verifier", "model"])
def test_two_runs_may_differ_from_each_other_and_two_conditions_may_not(what: str) -> None:
    other = Source(**{what: "other"})
    first, second = under(both(4), "prompt-only"), under(both(4), "enforced")
    second = [replace(r, source=other) for r in second]
    with pytest.raises(NotEnoughEvidence, match=f"the {what} differs"):
        compare([*first, *second], BOTH)
    assert compare_runs(first, second, ("old", "new")).contrasts[0].pairs == 4


def test_the_command_says_how_one_is_chosen(cli: Here, tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    lines = [f"t{n},{c},approve,pass,m{n % 2}" for n in range(4) for c in "ab"]
    path.write_text("\n".join(["task,condition,verdict,grade,model", *lines]) + "\n")
    done = cli("compare", path)
    assert done.code == 2 and "several models" in done.err and "--only model=NAME" in done.err
    one = cli("compare", path, "--only", "model=m0")
    assert one.code == 0 and "b against a: 2 pairs" in one.out, one.err


def test_a_difference_is_never_found_beside_an_interval_around_nought() -> None:
    """One task of very many trials that agree, and eight of one that do not: the test by the
    signs of tasks does not see what the interval sees."""
    rows = [*both(8), *(replace(r, task="big") for r in both(1, trials=500))]
    rows = [
        replace(r, grade="fail") if r.condition == "enforced" and r.task != "big" else r
        for r in rows
    ]
    found = compare(rows, BOTH, default_asked((), {"pass": 0.9}))
    passed = found.contrasts[0].outcomes[0]
    assert passed.p_holm <= 0.05 and passed.interval.low < 0 < passed.interval.high
    assert not passed.differs and passed.finding.startswith("not shown: the interval holds 0")
    assert "pass: indistinguishable" not in plain(found.sheets()[0])
    even = compare([r for r in rows if r.task != "big"], BOTH)
    assert even.contrasts[0].outcomes[0].finding == "difference"


def test_a_report_says_why_it_does_not_compare() -> None:
    rows = [replace(r, version=f"v{r.trial}") for r in both(4, trials=2)]
    found = build_report(Dataset("records.csv", tuple(rows), BOTH, origin="table"))
    (effect,) = (s for s in found.sections if s.anchor == "effect")
    assert "two versions of a task" in " ".join(effect.answers)
