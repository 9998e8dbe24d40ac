"""No worse than the baseline by more than a margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from rolewall.decision import Decision
from rolewall.errors import InputError
from rolewall.gate import decide_dataset
from rolewall.gaterules import Rules
from rolewall.records import Dataset
from rolewall.rows import Row, Source

WORDS = {"A": "approve", "R": "reject", "M": "missing"}
FIVE = Rules(margin=0.05)


def rows(letters: str, grade: str = "fail", **more: Any) -> tuple[Row, ...]:
    """One row a letter (Approve, Reject, Missing), each of a task of its own."""
    known = {"condition": "enforced", "trial": 0, "trust": "outside", "isolated": True, **more}
    return tuple(
        Row(**{"task": f"t{n}", "verdict": WORDS[letter], "grade": grade, **known})
        for n, letter in enumerate(letters)
    )


def frozen(letters: str, per_task: int = 1) -> tuple[Row, ...]:
    """The same of frozen candidates, so many a task."""
    return tuple(
        replace(row, task=f"t{n // per_task}", trial=n % per_task, candidate=f"m{n}")
        for n, row in enumerate(rows(letters, condition="calibrate-plain"))
    )


def data(some: Sequence[Row], place: str = "here", absent: int = 0) -> Dataset:
    names = tuple(sorted({row.condition for row in some}))
    return Dataset(place, tuple(some), names, dict.fromkeys(names, absent))


def held(here: Sequence[Row], there: Sequence[Row], rules: Rules = FIVE) -> Decision:
    return decide_dataset(data(here), rules, baseline=data(there, "main"))


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        ("R" * 100, "R" * 100, "holds"),
        ("R" * 20, "R" * 20, "undecided"),
        ("A" * 40 + "R" * 60, "R" * 100, "failed"),
        ("A" * 40 + "R" * 60, "A" * 60 + "R" * 40, "holds"),
        ("R" * 90 + "M" * 10, "R" * 100, "undecided"),
    ],
)
def test_runs_are_held_to_their_rates(here: str, there: str, expected: str) -> None:
    decision = held(rows(here), rows(there))
    assert (decision.status, decision.exit_code) == (
        expected,
        {"holds": 0, "failed": 1, "undecided": 4}[expected],
    )
    assert decision.baseline is not None and decision.baseline.pairing == "unpaired"
    assert decision.notes[-1].startswith("the difference from the baseline is descriptive")


def test_the_difference_of_runs_has_newcombes_interval() -> None:
    decision = held(rows("A" * 12 + "R" * 38), rows("A" * 6 + "R" * 44))
    low, high = confint_proportions_2indep(12, 50, 6, 50, method="newcomb", compare="diff")
    seen = decision.bounds[0].seen
    assert (seen.value, seen.low, seen.high) == pytest.approx((0.12, low, high))


def test_the_same_candidates_are_paired() -> None:
    there = frozen("A" * 10 + "R" * 90)
    decision = held(frozen("A" * 10 + "R" * 90), there)
    assert decision.status == "holds"
    assert decision.baseline is not None and decision.baseline.pairs == 100
    assert not any("descriptive" in note for note in decision.notes)
    # Unpaired the same rates do not suffice.
    apart = [replace(row, candidate="") for row in there]
    assert held([replace(row, candidate="") for row in frozen("A" * 10 + "R" * 90)],
                apart).status == "undecided"  # fmt: skip


def test_pairs_that_turn_for_the_worse_fail() -> None:
    decision = held(frozen("A" * 20 + "R" * 80), frozen("R" * 100))
    assert decision.exit_code == 1
    turned = held(frozen("A" * 10 + "R" * 90), frozen("R" * 90 + "A" * 10))
    assert turned.bounds[0].seen.value == 0.0 and turned.status == "undecided"


def test_silence_where_the_baseline_rejected_does_not_hold() -> None:
    decision = held(frozen("R" * 80 + "M" * 20), frozen("R" * 100))
    assert decision.status == "undecided"
    assert "silence may hide" in decision.reasons[0]


SILENT = "R" * 80 + "M" * 20


@pytest.mark.parametrize("make", [rows, frozen])
@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        (SILENT, SILENT, "undecided"),
        ("R" * 100, SILENT, "holds"),
        ("A" * 20 + "R" * 80, "M" * 20 + "R" * 80, "undecided"),
        ("R" * 80 + "A" * 20, "R" * 80 + "A" * 20, "holds"),
    ],
)
def test_what_the_baseline_did_not_say_was_no_false_approval(
    make: Any, here: str, there: str, expected: str
) -> None:
    decision = held(make(here), make(there), Rules(margin=0.15))
    assert decision.status == expected
    if expected == "undecided":
        assert decision.bounds[0].feared.high >= 0.20


def test_half_of_the_baseline_was_silent() -> None:
    """300 rejected and 300 silent before; 450 rejected and 150 silent here: of what was said
    none is a false approval, but the worst case is 25 points more."""
    decision = held(rows("R" * 450 + "M" * 150), rows("R" * 300 + "M" * 300))
    assert decision.status == "undecided"
    assert decision.bounds[0].seen.value == 0
    assert decision.bounds[0].feared.value == pytest.approx(0.25)
    assert "silence may hide more, here or in the baseline" in decision.reasons[0]


def test_the_number_of_pairs_that_decides_does() -> None:
    needed = held(frozen("R" * 20), frozen("R" * 20)).bounds[0].needed
    assert needed is not None
    for size, expected in ((needed, "holds"), (needed - 1, "undecided")):
        assert held(frozen("R" * size), frozen("R" * size)).status == expected


def test_candidates_of_one_task_count_for_less() -> None:
    letters = "A" * 3 + "R" * 57
    alone = held(frozen(letters), frozen("R" * 60)).bounds[0].seen
    together = held(frozen(letters, 10), frozen("R" * 60, 10)).bounds[0].seen
    assert together.value == alone.value and together.high > alone.high


def test_what_the_baseline_has_must_be_there() -> None:
    here, there = rows("R" * 100), rows("R" * 102)
    decision = held(here, there)
    assert (decision.status, decision.exit_code) == ("refused", 4)
    assert "t100, t101" in decision.reasons[0]
    assert held(here, there, Rules(margin=0.05, allow_partial=True)).status == "holds"
    assert held(there, here).status == "holds"  # more than the baseline is no harm
    fewer = held(
        frozen("R" * 99), [*frozen("R" * 99), replace(frozen("R")[0], trial=1, candidate="x")]
    )
    assert fewer.exit_code == 4 and "1 failing candidate" in fewer.reasons[0]


def test_a_task_that_changed_is_another_task() -> None:
    here, there = rows("R" * 100, version="a"), rows("R" * 100, version="a")
    changed = (replace(here[0], version="b"), *here[1:])
    assert held(here, there).status == "holds"
    assert "t0" in held(changed, there).reasons[0]
    with pytest.raises(InputError, match="no task in common"):
        held(rows("R" * 9, version="b"), there)
    # A table that does not state versions is taken at its word.
    assert held(rows("R" * 100), there).status == "holds"


def test_what_may_not_be_weighed_in_the_baseline_is_refused() -> None:
    here = rows("R" * 100)
    for more, code in (({"error": "BoxError"}, 3), ({"trust": "untrusted"}, 4)):
        decision = held(here, rows("R" * 100, **more))
        assert (decision.status, decision.exit_code) == ("refused", code)
        assert decision.reasons[0].startswith("the baseline: ")
    partial = decide_dataset(data(here), FIVE, baseline=data(here, "main", absent=1))
    assert partial.exit_code == 4


def test_the_baseline_has_the_condition() -> None:
    with pytest.raises(InputError, match="--baseline: no such condition"):
        held(rows("R" * 9), rows("R" * 9, condition="solo"))


def test_another_source_is_said() -> None:
    other = rows("R" * 100, source=Source(backend="docker"))
    assert "the baseline was made with another backend" in held(rows("R" * 100), other).notes


@pytest.mark.parametrize("rules", [Rules(0.1), FIVE])
def test_baseline_and_margin_go_together(rules: Rules) -> None:
    some = data(rows("R" * 9))
    with pytest.raises(InputError, match="both, or neither"):
        decide_dataset(some, rules, baseline=some if rules.margin is None else None)


def test_nothing_failed_in_the_baseline() -> None:
    decision = held(rows("R" * 50), rows("A" * 50, grade="pass"))
    assert decision.status == "undecided"
    assert "the baseline has too little" in decision.reasons[-1]
