"""The number that is said to decide does: so many further tasks, and not one fewer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rolewall.decision import Bound
from rolewall.gate import decide, decide_dataset
from rolewall.gaterules import Rules
from rolewall.graders import Grade, Verdict
from rolewall.records import Dataset
from rolewall.rows import Row

MOST = 800
WORDS: dict[str, Verdict] = {"A": "approve", "R": "reject", "M": "missing"}
trials = st.text(alphabet="RRRRRRAM", min_size=1, max_size=6)
judged = st.lists(trials, min_size=1, max_size=8)
limits = st.sampled_from([0.1, 0.2, 0.3])


def made(tasks: Sequence[str], grade: Grade, name: str = "t", frozen: bool = False) -> list[Row]:
    """A letter (Approve, Reject, Missing) a trial of each task."""
    return [
        Row(f"{name}{n}", "enforced", trial, WORDS[letter], grade, trust="outside",
            candidate=f"{name}{n}/{trial}" if frozen else "")
        for n, letters in enumerate(tasks) for trial, letter in enumerate(letters)
    ]  # fmt: skip


def mirrored(tasks: Sequence[str]) -> list[str]:
    return [letters.translate(str.maketrans("AR", "RA")) for letters in tasks]


def bound(rows: Sequence[Row], rules: Rules) -> Bound:
    return decide(tuple(rows), rules).bounds[-1]


def further(found: Bound, there: int) -> int:
    assume(found.status == "undecided" and found.needed is not None)
    assert found.needed is not None
    assume(found.needed - there <= MOST)
    assert f"{found.needed} " in " ".join(found.reasons)
    return found.needed - there


def test_repeats_of_few_tasks_are_not_worth_as_many_tasks() -> None:
    """Ten tasks, five rejects each: twenty-five tasks more, thirty-five in all, do not do."""
    some, ten = made(["RRRRR"] * 10, "fail"), Rules(0.10)
    found = bound(some, ten)
    assert found.needed is not None and found.needed > 50 + 25
    for number, expected in ((found.needed - 50, "holds"), (found.needed - 51, "undecided")):
        assert bound(some + made(["R"] * number, "fail", "new"), ten).status == expected
    assert "further tasks, one trial each, none of them approved" in found.reasons[1]


@settings(max_examples=25)
@given(judged, limits)
def test_of_false_approvals(tasks: list[str], limit: float) -> None:
    some, rules = made(tasks, "fail"), Rules(limit)
    number = further(bound(some, rules), len(some))
    assert bound(some + made(["R"] * number, "fail", "new"), rules).status == "holds"
    assert bound(some + made(["R"] * (number - 1), "fail", "new"), rules).status == "undecided"


@settings(max_examples=25)
@given(judged, limits)
def test_of_false_rejections_and_missing_verdicts(tasks: list[str], limit: float) -> None:
    some = made(mirrored(tasks), "pass")
    for rules in (Rules(0.5, max_false_rejection=limit), Rules(0.5, max_missing=limit)):
        found = bound(some, rules)
        if found.status == "undecided":
            number = further(found, len(some))
            assert bound(some + made(["A"] * number, "pass", "new"), rules).status == "holds"
            assert bound(some + made(["A"] * (number - 1), "pass", "new"), rules).status != "holds"


@settings(max_examples=25)
@given(judged, judged, st.sampled_from([0.3, 0.5]))
def test_of_informedness(failing: list[str], passing: list[str], limit: float) -> None:
    bad, good = made(failing, "fail"), made(mirrored(passing), "pass")
    good = [replace(row, trial=row.trial + 100) for row in good]
    rules = Rules(0.99, min_informedness=limit)
    found = bound(bad + good, rules)
    needed = further(found, 0)

    def then(size: int) -> str:
        more = made(["R"] * max(0, size - len(bad)), "fail", "bad")
        more += made(["A"] * max(0, size - len(good)), "pass", "good")
        return bound(bad + good + more, rules).status

    assert (then(needed), then(needed - 1)) == ("holds", "undecided")


@pytest.mark.parametrize("frozen", [True, False])
@settings(max_examples=20)
@given(judged, st.text(alphabet="RRRRA", min_size=48, max_size=48))
def test_of_a_baseline(frozen: bool, tasks: list[str], before: str) -> None:
    """Of two runs the further tasks are those that the baseline has too, and passed."""
    mine = made(tasks, "fail", frozen=frozen)
    shape = [before[6 * n :][: len(letters)] for n, letters in enumerate(tasks)]
    old = made(shape if frozen else ["RRRRR"] * 60, "fail", frozen=frozen)
    rules = Rules(margin=0.3, allow_partial=True)

    def held(more: int) -> Bound:
        new = made(["R"] * more, "fail", "new", frozen)
        theirs = new if frozen else made(["A"] * more, "pass", "new")
        sets = [Dataset("d", tuple(rows), ("enforced",), {"enforced": 0})
                for rows in (mine + new, old + theirs)]  # fmt: skip
        return decide_dataset(sets[0], rules, baseline=sets[1]).bounds[-1]

    number = further(held(0), len(mine))
    assert held(number).status == "holds"
    assert held(number - 1).status == "undecided"
