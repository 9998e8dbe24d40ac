"""Each bound by the same rule, and what the gate refuses to weigh."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from rolewall.errors import InputError
from rolewall.gate import Decision, Rules, decide, decide_dataset
from rolewall.records import Dataset
from rolewall.rows import Row

TEN = Rules(0.10)
WORDS = {"A": "approve", "R": "reject", "M": "missing"}


def rows(fail: str = "", good: str = "", **more: Any) -> tuple[Row, ...]:
    """One row a letter (Approve, Reject, Missing), each of a task of its own."""
    known = {"condition": "enforced", "trial": 0, "trust": "outside", "isolated": True, **more}
    made = [(letter, "fail") for letter in fail] + [(letter, "pass") for letter in good]
    return tuple(
        Row(**{"task": f"t{n}", "verdict": WORDS[letter], "grade": grade, **known})
        for n, (letter, grade) in enumerate(made)
    )


def status(decision: Decision) -> dict[str, str]:
    return {bound.name: bound.status for bound in decision.bounds}


@pytest.mark.parametrize(
    ("good", "limit", "expected", "needed"),
    [
        ("A" * 35, 0.10, "holds", None),
        ("A" * 34, 0.10, "undecided", 35),
        ("A" * 34 + "R", 0.10, "undecided", 53),
        ("R" * 10, 0.10, "failed", None),
        ("A" * 34 + "M" * 3, 0.10, "undecided", None),
        ("", 0.10, "undecided", 35),
    ],
)
def test_false_rejections(good: str, limit: float, expected: str, needed: int | None) -> None:
    rules = Rules(0.10, max_false_rejection=limit)
    decision = decide(rows("R" * 35, good), rules)
    assert status(decision) == {"false approvals": "holds", "false rejections": expected}
    assert decision.exit_code == {"holds": 0, "undecided": 4, "failed": 1}[expected]
    if needed is not None:
        assert decision.bounds[1].needed == needed


@pytest.mark.parametrize(
    ("often", "expected"), [(1, "failed"), (10, "undecided")], ids=["alike", "the good more often"]
)
def test_work_that_is_tried_often_does_not_hide_other_work(often: int, expected: str) -> None:
    """A hundred tasks whose broken work is rejected, sixty whose is approved: however often
    the first are tried, more than a third of the tasks end with an approval."""
    made = [
        Row(f"good{n}", "enforced", trial, "reject", "fail", trust="outside")
        for n in range(100)
        for trial in range(often)
    ]
    made += [Row(f"bad{n}", "enforced", 0, "approve", "fail", trust="outside") for n in range(60)]
    found = decide(tuple(made), TEN)
    assert found.status == expected
    assert ("weighed alike" in " ".join(found.reasons)) is (often > 1)


def test_a_trial_that_is_missing_here_and_there_changes_little() -> None:
    made = [
        Row(f"t{n}", "enforced", trial, "reject", "fail", trust="outside")
        for n in range(60)
        for trial in range(3 if n % 20 else 2)
    ]
    assert decide(tuple(made), TEN).status == "holds"


def test_silence_on_passing_work_may_hide_a_rejection() -> None:
    decision = decide(rows("R" * 35, "A" * 40 + "M" * 4), Rules(0.10, max_false_rejection=0.10))
    assert decision.status == "undecided"
    assert "no verdict on 4 of 44 episodes of passing work" in " ".join(decision.reasons)


@pytest.mark.parametrize(("missing", "expected"), [(0, "holds"), (5, "undecided"), (20, "failed")])
def test_missing_verdicts(missing: int, expected: str) -> None:
    some = rows("R" * 100 + "M" * missing)
    decision = decide(some, Rules(0.50, max_missing=0.05))
    assert status(decision) == {"false approvals": "holds", "missing verdicts": expected}


@pytest.mark.parametrize(
    ("fail", "good", "expected"),
    [
        ("R" * 40, "A" * 40, "holds"),
        ("R" * 40, "R" * 40, "failed"),
        ("R" * 40, "", "undecided"),
        ("R" * 5, "A" * 5, "undecided"),
        ("R" * 40 + "M" * 30, "A" * 40, "undecided"),
        ("R" * 40, "A" * 40 + "M" * 30, "undecided"),
    ],
)
def test_informedness(fail: str, good: str, expected: str) -> None:
    decision = decide(rows(fail, good), Rules(0.99, min_informedness=0.5))
    assert status(decision)["informedness"] == expected


def test_informedness_has_newcombes_interval() -> None:
    decision = decide(rows("R" * 30 + "A" * 10, "A" * 44 + "R" * 6), TEN)
    found = decision.informedness
    assert found is not None and found.interval is not None
    low, high = confint_proportions_2indep(30, 40, 6, 50, method="newcomb", compare="diff")
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high))


def test_the_number_that_decides_on_informedness_does() -> None:
    rules = Rules(0.99, min_informedness=0.8)
    decision = decide(rows("R" * 9, "A" * 9), rules)
    needed = decision.bounds[1].needed
    assert needed is not None
    for size, expected in ((needed, "holds"), (needed - 1, "undecided")):
        assert status(decide(rows("R" * size, "A" * size), rules))["informedness"] == expected


def test_the_worst_bound_decides() -> None:
    rules = Rules(0.10, max_false_rejection=0.10, max_missing=0.50)
    decision = decide(rows("R" * 10, "R" * 10), rules)
    assert (decision.status, decision.exit_code) == ("failed", 1)
    assert decision.lines()[0] == "failed: 1 of 3 bounds hold"
    assert decision.reasons[1].startswith("false rejections, failed: the lower bound")
    assert decision.reasons[-1].startswith("missing verdicts, holds: ")


def test_a_verifier_that_rejects_everything_holds_loudly() -> None:
    decision = decide(rows("R" * 35, "R" * 3), TEN)
    assert decision.exit_code == 0
    assert decision.notes[0].startswith("NOTHING WAS APPROVED: 38 of 38 episodes rejected")
    assert decide(rows("R" * 35, "A" * 3), TEN).notes == ()
    unseen = decide(rows("R" * 35 + "A"), Rules(0.2)).notes
    assert unseen == ("no verdict on passing work: whether it rejects good work was not seen",)


@pytest.mark.parametrize(
    "rules", [{}, {"max_false_rejection": 0.1}, {"max_false_approval": None, "max_missing": 0.1}]
)
def test_false_approvals_are_always_bounded(rules: dict[str, float]) -> None:
    with pytest.raises(InputError, match="nothing bounds the false approvals"):
        Rules(**rules)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "option", ["max_false_rejection", "min_informedness", "max_missing", "margin"]
)
@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, float("nan"), float("inf"), "0.1", True])
def test_every_limit_lies_between_nought_and_one(option: str, value: Any) -> None:
    with pytest.raises(InputError, match=option.replace("_", "-")):
        Rules(0.1, **{option: value})


def test_a_condition_without_a_verifier_is_refused() -> None:
    alone = rows("M" * 40, condition="no-verify", verified=False)
    with pytest.raises(InputError, match=r"there is no verifier.*no-verify: 40 of 40"):
        decide(alone, TEN)
    with pytest.raises(InputError, match="1 of 36"):
        decide((*rows("R" * 35), replace(alone[-1], condition="enforced")), TEN)


@pytest.mark.parametrize(
    ("isolated", "expected", "words"),
    [(True, 0, ""), (False, 4, "was not isolated"), (None, 4, "is not stated whether")],
)
def test_isolation_that_is_not_known_is_refused_when_asked_for(
    isolated: bool | None, expected: int, words: str
) -> None:
    some = (*rows("R" * 35), *rows("R", isolated=isolated, task="last"))
    decision = decide(some, Rules(0.10, require_isolated=True))
    assert decision.exit_code == expected and words in decision.reasons[0]
    assert decide(some, TEN).exit_code == 0


def test_what_is_not_stated_is_said() -> None:
    some = (*rows("R" * 35, "A"), *rows("R", trust=None, task="last"))
    assert decide(some, TEN).notes == ("the trust of the grader is not stated in 1 of 37 episodes",)
    beside = decide(rows("R" * 35, "A", isolated=False), TEN)
    assert beside.exit_code == 0 and "beside the work it judged" in beside.notes[0]


def test_a_stated_source_and_one_that_is_not_never_pool() -> None:
    one = rows("R" * 3)
    other = replace(one[0], task="x", source=replace(one[0].source, backend="docker"))
    with pytest.raises(InputError, match=r"several backends.*\(not stated\), docker"):
        decide((*one, other), TEN)
    with pytest.raises(InputError, match="several kinds of work"):
        decide((*one, replace(one[0], task="x", candidate="m1")), TEN)


@pytest.mark.parametrize("letters", ["", "A", "R", "M"])
def test_one_class_alone_decides_nothing(letters: str) -> None:
    decision = decide(rows("", letters * 50), TEN)
    assert (decision.status, decision.exit_code, decision.needed) == ("undecided", 4, 35)
    assert ("no episode was evaluated" in decision.reasons[0]) == (not letters)


def test_only_errors_that_are_allowed_leave_no_episode() -> None:
    broken = rows("R" * 3, error="BoxError")
    decision = decide(broken, Rules(0.10, max_errors=3))
    assert (decision.exit_code, decision.reasons[0]) == (4, "no episode was evaluated")
    assert decide(broken, Rules(0.10, max_errors=2)).exit_code == 3


def test_no_records_and_a_named_condition() -> None:
    nothing = Dataset("records.jsonl", (), ())
    assert decide_dataset(nothing, TEN).exit_code == 4
    with pytest.raises(InputError, match="none is there"):
        decide_dataset(nothing, TEN, "enforced")


COUNTS = st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 20))


@settings(max_examples=60)
@given(COUNTS, st.sampled_from([0.05, 0.1, 0.3]))
def test_nothing_is_gained_by_silence_or_by_an_error(
    counts: tuple[int, int, int], limit: float
) -> None:
    approved, rejected, missing = counts
    rules = Rules(limit)
    before = decide(rows("A" * approved + "R" * rejected + "M" * missing), rules)
    if approved:
        silent = rows("A" * (approved - 1) + "R" * rejected + "M" * (missing + 1))
        assert before.exit_code == 0 or decide(silent, rules).exit_code != 0
        first, *rest = rows("A" * approved + "R" * rejected + "M" * missing)
        assert decide([replace(first, error="BoxError"), *rest], rules).exit_code == 3
    if before.exit_code == 0:
        better = rows("A" * approved + "R" * (rejected + 1) + "M" * missing)
        assert decide(better, rules).exit_code == 0
    if before.exit_code == 1:
        worse = rows("A" * (approved + 1) + "R" * rejected + "M" * missing)
        assert decide(worse, rules).exit_code == 1


def test_of_a_calibration_mutants_and_solutions_are_weighed() -> None:
    def candidates(kind: str, grade: str, number: int) -> list[Row]:
        made = rows("R" * number) if grade == "fail" else rows("", "A" * number)
        return [
            replace(row, task=f"{kind}-{row.task}-{grade}", kind=kind, candidate=f"{kind}{n}")
            for n, row in enumerate(made)
        ]

    sound = [*candidates("mutant", "fail", 35), *candidates("solution", "pass", 35)]
    decision = decide(sound, TEN)
    assert (decision.exit_code, decision.notes) == (0, ())
    apart = [*candidates("untouched", "fail", 9), *candidates("mutant", "pass", 2)]
    more = decide([*sound, *apart], TEN)
    assert more.numbers == decision.numbers and more.episodes == 81
    assert more.notes == (
        "9 candidates left out: the untouched workspace, which an empty diff gives away",
        "2 candidates left out: graded otherwise than when it was chosen",
    )
    assert decide(candidates("untouched", "fail", 50), TEN).exit_code == 4


@pytest.mark.parametrize(
    ("fail", "limit", "expected"),
    [
        ("AAA" + "R" * 17, 0.05, "undecided"),  # Wilson's own lower end is 5.2 %
        ("AAAA" + "R" * 16, 0.05, "failed"),
        ("AAA" + "R" * 7, 0.10, "undecided"),
        ("AAAA" + "R" * 6, 0.10, "failed"),
        ("A", 0.20, "undecided"),
        ("AA", 0.05, "failed"),
    ],
)
def test_a_rate_fails_by_the_exact_bound_too(fail: str, limit: float, expected: str) -> None:
    decision = decide(rows(fail), Rules(limit))
    assert decision.status == expected
    low, _ = proportion_confint(fail.count("A"), len(fail), method="beta")
    assert (low > limit) == (expected == "failed")
    above = decision.bounds[0].seen.low > limit
    assert ("but the exact lower bound" in " ".join(decision.reasons)) == (
        above and expected == "undecided"
    )


@pytest.mark.parametrize("tasks", range(1, 8))
def test_few_tasks_decide_wrongly_as_rarely_as_many(tasks: int) -> None:
    """Exact: how often a rate that is at the limit is said to hold it, or to fail."""
    for limit in (0.02, 0.05, 0.10, 0.20):
        shares = {"holds": 0.0, "failed": 0.0, "undecided": 0.0}
        for events in range(tasks + 1):
            said = decide(rows("A" * events + "R" * (tasks - events)), Rules(limit)).status
            shares[said] += float(binom.pmf(events, tasks, limit))
        assert shares["holds"] == 0 and shares["failed"] <= 0.025


def test_silence_on_few_of_the_verdicts_is_not_in_the_way_of_a_failure() -> None:
    decision = decide(rows("A" * 20 + "M" * 5, "R" * 20), Rules(0.10, min_informedness=0.2))
    assert status(decision) == {"false approvals": "failed", "informedness": "failed"}
    assert decision.needed is None


def test_what_would_decide_is_that_of_the_false_approvals() -> None:
    rules = Rules(margin=0.2, max_missing=0.05)
    some = rows("R" * 20)
    decision = decide_dataset(
        Dataset("d", some, ("enforced",), {}), rules, baseline=Dataset("b", some, ("enforced",), {})
    )
    assert decision.bounds[0].needed is not None and decision.needed is None
