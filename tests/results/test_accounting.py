"""The accounting over tasks, through the doors that tables, gate and report use.

The counts and printed rates are TeamBench's: arXiv 2605.07073 v1, role-mixing pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from rolewall.clusterrates import Rate
from rolewall.pooling import (
    false_approvals,
    false_rejections,
    informedness,
    measures,
    passes,
    rate_of,
)
from rolewall.record import Grade, Verdict
from rolewall.rows import Row
from rolewall.tables import result_table
from rolewall.tally import missing

Pair = tuple[Verdict, Grade]


def rows(pairs: Sequence[Pair], *, tasks: int = 0, **more: Any) -> list[Row]:
    """One row a pair, each of a task of its own or round robin over ``tasks``."""
    return [
        Row(f"t{n % tasks if tasks else n}", "enforced", n, verdict, grade, **more)
        for n, (verdict, grade) in enumerate(pairs)
    ]


def published(ap: int, af: int, rp: int, rf: int, silent: int = 0) -> list[Row]:
    """A run without a verdict is treated as failing work: its grade is not printed."""
    pairs: list[Pair] = [("approve", "pass")] * ap + [("approve", "fail")] * af
    pairs += [("reject", "pass")] * rp + [("reject", "fail")] * rf
    return rows(pairs + [("missing", "fail")] * silent)


POOL = published(285, 384, 20, 394, 942)
HAIKU = published(98, 140, 0, 93)
FLASH = published(70, 87, 16, 26)


def printed(rate: Rate) -> float:
    assert rate.rate is not None
    return round(rate.rate, 3)


def test_every_printed_number_comes_out() -> None:
    found = measures(POOL)
    excluded, reject, failure = found["excluded"], found["reject"], found["failure"]
    interval = excluded.false_approval.interval
    assert interval and len(POOL) == 2025
    assert (round(interval.low, 3), round(interval.high, 3)) == (0.459, 0.529)
    assert printed(excluded.false_approval) == 0.494
    assert printed(excluded.false_rejection) == 0.066
    assert printed(excluded.accuracy) == 0.627
    assert printed(reject.false_approval) == 0.223
    assert printed(failure.failure) == 0.665
    assert printed(measures(HAIKU)["excluded"].false_approval) == 0.601
    flash = measures(FLASH)["excluded"]
    assert (printed(flash.false_approval), printed(flash.false_rejection)) == (0.770, 0.186)


def test_the_gate_and_the_table_have_the_same_numbers(many: Any) -> None:
    pairs = [(row.verdict, row.grade) for row in POOL]
    found = result_table(many(pairs), team="pool").json()["conditions"][0]
    rates = false_approvals(POOL)
    assert found["false_approvals"]["excluded"]["rate"] == rates.excluded.rate
    assert found["measures"]["excluded"]["false_approval"]["rate"] == rates.excluded.rate
    assert found["measures"]["reject"]["false_approval"]["events"] == rates.as_reject.events
    assert found["measures"]["failure"]["failure"]["rate"] == rates.verifier_failure.rate
    assert found["measures"]["failure"]["false_approval"]["rate"] == rates.as_approval.rate
    assert found["measures"]["excluded"]["false_rejection"]["rate"] == false_rejections(POOL).rate


@pytest.mark.parametrize("found", [POOL, FLASH])
def test_intervals_agree_with_an_independent_implementation(found: list[Row]) -> None:
    for measured in measures(found).values():
        for rate in (measured.false_approval, measured.catch, measured.precision,
                     measured.accuracy, measured.failure):  # fmt: skip
            assert rate.interval and rate.effective == rate.total
            low, high = proportion_confint(rate.events, rate.total, method="wilson")
            assert (rate.interval.low, rate.interval.high) == pytest.approx((low, high))
        both = measured.informedness
        low, high = confint_proportions_2indep(
            both.catch.events, both.catch.total,
            both.false_rejection.events, both.false_rejection.total,
            method="newcomb", compare="diff",
        )  # fmt: skip
        assert both.interval
        assert (both.interval.low, both.interval.high) == pytest.approx((low, high))


def test_repeats_widen_every_interval() -> None:
    """Twelve tasks, each always judged alike, ten times over, tell no more than twelve."""
    pairs: list[Pair] = [("approve", "fail"), ("reject", "fail"), ("approve", "pass")] * 4
    once = measures(rows(pairs, tasks=12))["excluded"]
    tenfold = measures(rows(pairs * 10, tasks=12))["excluded"]
    apart = measures(rows(pairs * 10))["excluded"]
    for name in ("false_approval", "catch", "precision", "accuracy"):
        few, many, free = (getattr(x, name) for x in (once, tenfold, apart))
        assert (many.rate, many.total) == (few.rate, 10 * few.total)
        assert many.effective < many.total == free.effective
        assert many.interval.high - many.interval.low > free.interval.high - free.interval.low
    assert tenfold.informedness.value == once.informedness.value
    assert tenfold.informedness.interval and apart.informedness.interval
    assert tenfold.informedness.interval.low < apart.informedness.interval.low


@pytest.mark.parametrize(
    ("pairs", "value"),
    [
        ([("approve", "pass"), ("reject", "fail")], 1.0),
        ([("approve", "pass"), ("approve", "fail")], 0.0),
        ([("reject", "pass"), ("approve", "fail")], -1.0),
        ([("approve", "pass")], None),
        ([("reject", "fail")], None),
        ([("missing", "pass"), ("missing", "fail")], None),
        ([], None),
    ],
)
def test_informedness_is_of_good_and_bad_work_or_is_none(
    pairs: list[Pair], value: float | None
) -> None:
    found = informedness(rows(pairs))
    assert found.value == value and (found.interval is None) == (value is None)


def test_silence_counts_against_the_verifier_when_it_is_a_failure() -> None:
    silent = rows([("missing", "pass")] * 3 + [("missing", "fail")] * 5)
    assert informedness(silent, "failure").value == -1.0
    assert informedness(silent, "reject").value == 0.0
    assert informedness(silent).value is None


def test_nobody_is_silent_where_nobody_was_asked() -> None:
    """Work of a condition without a verifier passes or fails; of verdicts it says nothing."""
    alone = rows([("missing", "pass"), ("missing", "fail"), ("missing", "fail")], verified=False)
    assert [missing(row) for row in alone] == [False] * 3
    assert (passes(alone).events, passes(alone).total) == (1, 3)
    rates = false_approvals(alone)
    assert (rates.missing, rates.as_reject.total, rates.verifier_failure.total) == (0, 0, 0)
    asked = rows([("missing", "fail")])
    assert missing(asked[0]) and false_approvals(asked).missing == 1


def test_the_rate_of_anything_keeps_its_clusters() -> None:
    found = rate_of(rows([("reject", "fail")] * 12, tasks=3), lambda r: r.task == "t0")
    assert (found.events, found.total, found.tasks) == (4, 12, 3)
    assert 3 <= found.effective < 12
    assert rate_of([], lambda r: True).interval is None


def test_a_corrupt_success_needs_a_pass_and_an_edit_that_landed(record: Any) -> None:
    def row(grade: Grade, landed: int | None) -> Row:
        return Row("t", "prompt-only", 0, "approve", grade, landed=landed)

    found = [row("pass", 2), row("pass", 0), row("fail", 2), row("pass", None)]
    assert [one.corrupt for one in found] == [True, False, False, None]


@pytest.mark.parametrize(("tasks", "trials"), [(8, 8), (30, 8), (30, 1)])
def test_informedness_covers_where_hard_tasks_are_judged_badly_both_ways(
    tasks: int, trials: int
) -> None:
    """The two rates taken as independent, it would cover in 84 % with eight trials."""
    random = np.random.default_rng(3)
    covered, studies = 0, 300
    for _ in range(studies):
        hard = random.beta(0.3, 1.2, tasks)  # 20 % wrong, on failing as on passing work
        wrong = random.binomial(trials, [hard, hard])
        some = [
            Row(f"t{n}", "enforced", trial, verdict, grade)
            for n, (x, y) in enumerate(wrong.T)
            for trial in range(trials)
            for verdict, grade in (
                ("approve" if trial < x else "reject", "fail"),
                ("reject" if trial < y else "approve", "pass"),
            )
        ]
        found = informedness(some).interval
        assert found is not None
        covered += found.low <= 0.6 <= found.high
    assert covered >= 0.92 * studies


def test_tasks_in_common_never_narrow_the_interval_of_informedness() -> None:
    """A strict verifier, that rejects good and bad work of the same tasks, is told from none."""
    bad: list[Pair] = [("approve", "fail"), ("reject", "fail")] * 8
    good: list[Pair] = [("reject", "pass"), ("approve", "pass")] * 8
    apart = rows(bad, tasks=4) + [replace(row, task=f"x{row.task}") for row in rows(good, tasks=4)]
    plain = informedness(apart).interval
    hard = informedness(rows(bad, tasks=4) + rows(good, tasks=4)).interval
    strict = informedness(rows(bad, tasks=4) + rows(good[1:] + good[:1], tasks=4)).interval
    assert plain and hard and strict
    assert hard.low < plain.low and hard.high > plain.high
    assert (strict.low, strict.high) == pytest.approx((plain.low, plain.high))
