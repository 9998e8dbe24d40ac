"""The accounting against published numbers and an independent implementation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from rolewall.graders import (
    GRADES,
    TREATMENTS,
    VERDICTS,
    Accounting,
    Grade,
    Rate,
    Verdict,
    account,
    newcombe,
    wilson,
)

Row = tuple[Verdict, Grade]


def published(
    approve_pass: int, approve_fail: int, reject_pass: int, reject_fail: int, missing: int = 0
) -> Accounting:
    """Runs as TeamBench (arXiv 2605.07073) counts them: it prints no grade for a run
    without a verdict and treats it as failing work."""
    rows: list[Row] = []
    rows += [("approve", "pass") for _ in range(approve_pass)]
    rows += [("approve", "fail") for _ in range(approve_fail)]
    rows += [("reject", "pass") for _ in range(reject_pass)]
    rows += [("reject", "fail") for _ in range(reject_fail)]
    rows += [("missing", "fail") for _ in range(missing)]
    return account(rows)


def shown(rate: Rate) -> float:
    assert rate.rate is not None
    return round(rate.rate, 3)


@pytest.mark.pain(21)
def test_the_published_pool_comes_out_to_the_printed_digit() -> None:
    pool = published(285, 384, 20, 394, 942)
    assert pool.episodes == 2025
    assert shown(pool.false_approval) == 0.494
    assert pool.false_approval.low is not None
    assert pool.false_approval.high is not None
    assert round(pool.false_approval.low, 3) == 0.459
    assert round(pool.false_approval.high, 3) == 0.529
    assert shown(pool.false_rejection) == 0.066
    assert shown(pool.accuracy) == 0.627
    assert shown(pool.false_approval_missing_as_reject) == 0.223
    assert shown(pool.verifier_failure) == 0.665
    assert (pool.false_approval.count, pool.false_approval.of) == (384, 778)


def test_the_same_pool_under_each_treatment() -> None:
    """What it prints, 22.3 % and 66.5 % beside 49.4 %, are rates of two of the tables."""
    pool = published(285, 384, 20, 394, 942)
    assert shown(pool.under("excluded").false_approval) == 0.494
    assert shown(pool.under("reject").false_approval) == 0.223
    assert shown(pool.under("failure").failure) == 0.665
    assert shown(pool.under("excluded").accuracy) == 0.627
    assert shown(pool.under("excluded").false_rejection) == 0.066
    assert pool.under("failure").false_approval == Rate(384 + 942, 384 + 394 + 942)


def test_the_published_models_come_out_too() -> None:
    assert shown(published(98, 140, 0, 93).false_approval) == 0.601
    flash = published(70, 87, 16, 26)
    assert shown(flash.false_approval) == 0.770
    assert shown(flash.false_rejection) == 0.186


def test_precision_of_the_published_models() -> None:
    """By hand: 70 right of 157 approvals."""
    assert published(70, 87, 16, 26).precision == Rate(70, 157)
    assert published(98, 140, 0, 93).precision == Rate(98, 238)


def test_a_missing_verdict_is_treated_three_ways() -> None:
    rows: list[Row] = [("approve", "pass")] * 5 + [("approve", "fail")] + [("reject", "fail")] * 2
    rows += [("reject", "pass")] + [("missing", "fail")] * 3 + [("missing", "pass")] * 2
    found = account(rows)
    tables = [found.under(treatment) for treatment in TREATMENTS]
    assert TREATMENTS == ("excluded", "reject", "failure")
    assert [t.false_approval for t in tables] == [Rate(1, 3), Rate(1, 6), Rate(4, 6)]
    assert [t.catch for t in tables] == [Rate(2, 3), Rate(5, 6), Rate(2, 6)]
    assert [t.false_rejection for t in tables] == [Rate(1, 6), Rate(3, 8), Rate(3, 8)]
    assert [t.accuracy for t in tables] == [Rate(7, 9), Rate(10, 14), Rate(7, 14)]
    assert [t.precision for t in tables] == [Rate(5, 6), Rate(5, 6), Rate(5, 9)]
    assert found.verifier_failure == Rate(7, 14)


def test_errors_enter_no_rate() -> None:
    rows: list[Row] = [("approve", "fail"), ("reject", "fail"), ("approve", "pass")]
    clean = account(rows)
    noisy = account([*rows, ("approve", "error"), ("reject", "error"), ("missing", "error")])
    assert (noisy.episodes, noisy.errors, clean.errors) == (6, 3, 0)
    for name in ("false_approval", "verifier_failure", "accuracy", "missing", "passed"):
        assert getattr(noisy, name) == getattr(clean, name)


def test_a_rate_over_nothing_is_none() -> None:
    empty = account([])
    assert empty.episodes == 0
    assert empty.false_approval == Rate(0, 0)
    assert (empty.false_approval.rate, empty.false_approval.low) == (None, None)
    assert account([("approve", "error")]).passed.rate is None
    assert account([("approve", "pass")]).false_approval.rate is None
    assert account([("missing", "fail")]).false_approval.rate is None


def test_silence_on_failing_work_gains_nothing() -> None:
    rows: list[Row] = [("reject", "fail") for _ in range(3)]
    rows += [("missing", "fail") for _ in range(7)]
    found = account(rows)
    assert found.false_approval.rate == 0.0
    assert found.false_approval_missing_as_reject.rate == 0.0
    assert found.false_approval_missing_as_approval.rate == 0.7
    assert found.verifier_failure.rate == 0.7
    assert found.missing == Rate(7, 10)


def test_a_word_that_is_no_verdict_is_refused() -> None:
    with pytest.raises(ValueError, match="not a verdict"):
        account([("approved", "fail")])  # type: ignore[list-item]


@given(st.lists(st.tuples(st.sampled_from(VERDICTS), st.sampled_from(GRADES)), max_size=60))
def test_every_row_is_counted_once(rows: list[Row]) -> None:
    found = account(rows)
    assert sum(found.counts.values()) == found.episodes == len(rows)
    assert found.passed.of + found.errors == len(rows)
    assert found.verifier_failure.of == found.missing.of == found.passed.of
    order = (found.false_approval_missing_as_reject, found.false_approval_missing_as_approval)
    if order[0].rate is not None and order[1].rate is not None:
        assert order[0].rate <= order[1].rate


@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_agrees_with_scipy_and_statsmodels(pair: tuple[int, int]) -> None:
    count, of = pair
    low, high = wilson(count, of)
    reference = binomtest(count, of).proportion_ci(method="wilson")
    assert low == pytest.approx(reference.low, abs=1e-12)
    assert high == pytest.approx(reference.high, abs=1e-12)
    assert (low, high) == pytest.approx(proportion_confint(count, of, method="wilson"), abs=1e-12)
    assert 0 <= low <= count / of <= high <= 1


@pytest.mark.parametrize(
    ("count", "of", "level"), [(0, 0, 0.95), (2, 1, 0.95), (-1, 3, 0.95), (1, 2, 1.0)]
)
def test_wilson_refuses_what_is_no_proportion(count: int, of: int, level: float) -> None:
    with pytest.raises(ValueError, match="no proportion"):
        wilson(count, of, level)


PROPORTION = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(PROPORTION, PROPORTION)
def test_newcombe_agrees_with_statsmodels(first: tuple[int, int], second: tuple[int, int]) -> None:
    found = newcombe(*((count / of, *wilson(count, of)) for count, of in (first, second)))
    reference = confint_proportions_2indep(*first, *second, method="newcomb", compare="diff")
    assert found == pytest.approx(reference, abs=1e-9)
    assert -1 <= found[0] <= first[0] / first[1] - second[0] / second[1] <= found[1] <= 1


def test_newcombe_agrees_with_the_published_example() -> None:
    """Newcombe 1998, table II, example (a), method 10: 56/70 less 48/80."""
    low, high = newcombe((56 / 70, *wilson(56, 70)), (48 / 80, *wilson(48, 80)))
    assert (round(low, 4), round(high, 4)) == (0.0524, 0.3339)
