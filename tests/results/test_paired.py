from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from rolewall.paired import LEAST_P, margin_test, sign_flip, tango, within_margin
from rolewall.ratios import mean_difference, ratio_interval

Cluster = tuple[int, int, int]


def test_very_large_sums_are_tested_exactly_at_a_coarser_unit() -> None:
    assert sign_flip([100_000] * 12) == pytest.approx(2 / 2**12)
    assert sign_flip([10**9, -1, 3]) == pytest.approx(1.0)
    assert sign_flip([7] * 60) == pytest.approx(2 / 2**60, rel=1e-9)


def test_sums_of_one_size_are_a_binomial_however_far_in_the_tail() -> None:
    for some in ([1] * 80 + [-1] * 12, [3] * 80 + [-3] * 12 + [0] * 5):
        assert sign_flip(some) == pytest.approx(2 * binom.cdf(12, 92, 0.5), rel=1e-9)


@pytest.mark.parametrize("sums", [[2] * 80 + [-1] * 12, [1, 2] * 300, [1] * 400 + [5]])
def test_in_the_far_tail_no_noise_is_told_as_a_p_value(sums: list[int]) -> None:
    law = {0: 1}
    for size in map(abs, sums):  # exact: whole numbers
        then: dict[int, int] = {}
        for at, ways in law.items():
            for step in (size, -size):
                then[at + step] = then.get(at + step, 0) + ways
        law = then
    ways = sum(w for at, w in law.items() if abs(at) >= sum(sums))
    assert ways / 2 ** len(sums) < LEAST_P
    assert sign_flip(sums) == LEAST_P


@pytest.mark.parametrize("margin", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("counts", [(3, 3), (0, 0), (9, 2)])
def test_a_margin_is_met_exactly_where_the_interval_lies_within(
    margin: float, counts: tuple[int, int]
) -> None:
    gains, losses = counts
    clusters = [(1, 0, 1)] * gains + [(0, 1, 1)] * losses + [(0, 0, 1)] * (80 - gains - losses)
    found = margin_test(clusters, margin)
    assert found is not None
    assert (found.within <= 0.05) == (-margin < found.interval.low and found.interval.high < margin)
    assert (found.above <= 0.05) == (-margin < found.interval.low)
    assert within_margin(clusters, margin) == pytest.approx(found.within)
    normal = tango(losses, gains, 80, 0.90)
    assert normal is not None
    assert found.interval.low <= normal.low and normal.high <= found.interval.high


def test_nothing_is_within_a_margin_by_one_task() -> None:
    assert margin_test([(0, 0, 50)], 0.2) is None
    assert within_margin([(0, 0, 50)], 0.2) == 1.0
    assert within_margin([(0, 0, 1)] * 100, 0.2) < 0.01


@pytest.mark.parametrize(("trials", "correlation"), [(1, 0.0), (5, 0.5)])
def test_two_that_differ_by_the_margin_are_rarely_called_the_same(
    trials: int, correlation: float
) -> None:
    """With as many tasks as make it easy: one in twenty studies may be wrong."""
    random = np.random.default_rng(11)
    law = np.array([0.2, 0.1, 0.7])  # the true difference is the margin
    size = (1 - correlation) / correlation if correlation else 0
    wrong = 0
    for _ in range(600):
        rates = random.dirichlet(law * size, 40) if size else np.tile(law, (40, 1))
        drawn = random.multinomial(trials, rates).tolist()
        wrong += within_margin([(g, x, trials) for g, x, _ in drawn], 0.1) <= 0.05
    assert wrong <= 0.05 * 600 + 3 * (0.05 * 0.95 * 600) ** 0.5


@pytest.mark.parametrize("law", [(0.3, 0.1, 0.1), (0.5, 0.2, 0.05), (0.05, 0.3, 0.3)])
def test_the_interval_of_a_ratio_covers(law: tuple[float, float, float]) -> None:
    both, first, second = law
    pairs, covered = 15, 0.0
    for cells in itertools.product(range(pairs + 1), repeat=3):
        if sum(cells) > pairs:
            continue
        chance = multinomial.pmf([*cells, pairs - sum(cells)], pairs, [*law, 1 - sum(law)])
        found = ratio_interval(*cells)
        true = (both + second) / (both + first)
        if found is None or (found[0] <= true and (found[1] is None or true <= found[1])):
            covered += chance
    assert covered > 0.94


def test_ratios_at_the_edges() -> None:
    assert ratio_interval(0, 0, 0) is None
    assert ratio_interval(0, 0, 5) is not None
    low, high = ratio_interval(0, 0, 5) or (0.0, 0.0)
    assert low > 0 and high is None
    low, high = ratio_interval(0, 5, 0) or (1.0, 0.0)
    assert low == 0 and high is not None and high < 1.2


def test_the_mean_difference_is_students_over_tasks() -> None:
    from scipy.stats import ttest_1samp

    sums = [3, 0, -1, 4, 2, 2]
    known = ttest_1samp([s / 2 for s in sums], 0).confidence_interval(0.95)
    found = mean_difference([(s, 2) for s in sums])
    assert found is not None
    assert (found.low, found.high) == pytest.approx((known.low, known.high))
    assert mean_difference([(3, 2)]) is None
    assert mean_difference([(3, 2)] * 4) is None
