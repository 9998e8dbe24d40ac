from __future__ import annotations

import math
from dataclasses import astuple
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binom, multinomial, poisson
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from rolewall.clusters import Moments, Shared, correlation
from rolewall.graders import wilson as accounting_wilson
from rolewall.paired import effective_pairs, mcnemar_exact, sign_flip, tango
from rolewall.stats import (
    clustered_wilson,
    exact_low,
    fewest,
    holm,
    rate_interval,
    wilson,
)

Z = 1.959963984540054


@given(st.integers(1, 500), st.data())
def test_wilson_is_the_known_interval(total: int, data: st.DataObject) -> None:
    events = data.draw(st.integers(0, total))
    found = wilson(events, total)
    assert found is not None
    low, high = proportion_confint(events, total, method="wilson")
    assert found.low == pytest.approx(low, abs=1e-12)
    assert found.high == pytest.approx(high, abs=1e-12)
    assert accounting_wilson(events, total) == pytest.approx((found.low, found.high))


def test_wilson_of_nothing_is_none() -> None:
    assert wilson(0, 0) is None
    assert tango(0, 0, 0) is None


def test_thirty_five_failing_episodes_hold_ten_per_cent() -> None:
    found = {n: wilson(0, n) for n in (34, 35)}
    assert found[34] is not None and found[34].high > 0.10
    assert found[35] is not None and found[35].high <= 0.10


@given(st.integers(1, 1000))
def test_the_fewest_is_the_smallest_that_holds(size: int) -> None:
    assert fewest(lambda number: number >= size) == size
    assert fewest(lambda number: False) is None


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=8))
def test_holm_is_the_known_adjustment(values: list[float]) -> None:
    assert holm(values) == pytest.approx(multipletests(values, method="holm")[1].tolist())


@given(st.integers(0, 30), st.integers(0, 30))
def test_mcnemar_is_the_known_test(first: int, second: int) -> None:
    known = mcnemar([[0, first], [second, 0]], exact=True).pvalue
    assert mcnemar_exact(first, second) == pytest.approx(min(1.0, known))


@given(st.integers(0, 25), st.integers(0, 25))
def test_sign_flip_without_repeats_is_mcnemar(first: int, second: int) -> None:
    sums = [1] * first + [-1] * second + [0, 0]
    assert sign_flip(sums) == pytest.approx(mcnemar_exact(first, second))


@given(st.lists(st.integers(-5, 5), max_size=9))
def test_sign_flip_is_the_whole_enumeration(sums: list[int]) -> None:
    flips = [abs(sum(s * x for s, x in zip(sums, f, strict=True)))
             for f in product((1, -1), repeat=len(sums))]  # fmt: skip
    known = sum(v >= abs(sum(sums)) for v in flips) / len(flips)
    assert sign_flip(sums) == pytest.approx(known)


def constrained_score(gains: int, losses: int, pairs: int, delta: float) -> float:
    """Tango's statistic with the nuisance rate found by numerical maximisation."""

    def unlikely(loss: float) -> float:
        rates = (
            (gains, loss + delta),
            (losses, loss),
            (pairs - gains - losses, 1 - 2 * loss - delta),
        )
        return -sum(n * math.log(max(p, 1e-300)) for n, p in rates if n)

    low, high = max(0.0, -delta), (1 - delta) / 2
    loss = minimize_scalar(unlikely, bounds=(low, high), method="bounded",
                           options={"xatol": 1e-12}).x  # fmt: skip
    return (gains - losses - pairs * delta) / math.sqrt(pairs * (2 * loss + delta - delta**2))


@pytest.mark.parametrize(
    ("losses", "gains", "pairs"), [(7, 1, 21), (3, 12, 40), (1, 2, 9), (10, 10, 25), (0, 4, 20)]
)
def test_tango_bounds_are_where_the_score_is_z(losses: int, gains: int, pairs: int) -> None:
    found = tango(losses, gains, pairs)
    assert found is not None
    assert constrained_score(gains, losses, pairs, found.low) == pytest.approx(Z, abs=1e-3)
    assert constrained_score(gains, losses, pairs, found.high) == pytest.approx(-Z, abs=1e-3)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 30))
def test_tango_is_symmetric_and_holds_the_estimate(first: int, second: int, same: int) -> None:
    pairs = first + second + same
    if not pairs:
        return
    there, back = tango(first, second, pairs), tango(second, first, pairs)
    assert there is not None and back is not None
    assert there.low == pytest.approx(-back.high, abs=1e-9)
    assert -1 <= there.low <= (second - first) / pairs <= there.high <= 1
    assert there.high > there.low


@pytest.mark.parametrize("rates", [(0.1, 0.1), (0.3, 0.1), (0.05, 0.0), (0.2, 0.5)])
def test_tango_covers_ninety_five_per_cent(rates: tuple[float, float]) -> None:
    pairs, (gain, loss) = 25, rates
    covered = 0.0
    for gains in range(pairs + 1):
        for losses in range(pairs - gains + 1):
            found = tango(losses, gains, pairs)
            assert found is not None
            if found.low <= gain - loss <= found.high:
                covered += multinomial.pmf(
                    [gains, losses, pairs - gains - losses], pairs, [gain, loss, 1 - gain - loss]
                )
    assert covered > 0.935


def moments(rows: list[tuple[int, int]]) -> Moments:
    return Moments.of_rate((x, n, 1) for x, n in rows)


clusters = st.lists(
    st.integers(1, 8).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=1, max_size=12,
)  # fmt: skip


@given(clusters)
def test_effective_size_is_never_above_the_count_nor_below_the_tasks(
    rows: list[tuple[int, int]],
) -> None:
    sizes, found = [n for _, n in rows], moments(rows)
    size = found.effective
    assert found.kish - 1e-9 <= size <= sum(sizes) + 1e-9
    if max(sizes) == 1:
        assert size == sum(sizes)


@given(clusters)
def test_repeats_never_narrow_the_interval(rows: list[tuple[int, int]]) -> None:
    events, total = sum(x for x, _ in rows), sum(n for _, n in rows)
    plain, wide = wilson(events, total), clustered_wilson(rows)
    assert plain is not None and wide is not None
    assert wide.high - wide.low >= plain.high - plain.low - 1e-9


def test_trials_that_agree_count_as_their_tasks() -> None:
    assert moments([(0, 10)] * 20).effective == pytest.approx(20, rel=0.1)
    assert moments([(10, 10)] * 10 + [(0, 10)] * 10).effective == pytest.approx(20, rel=0.1)


def test_no_number_of_events_gives_a_lower_bound_than_none() -> None:
    highs = []
    for events in range(20):
        rows = [(int(n < events), 10) for n in range(20)]
        found = clustered_wilson(rows)
        assert found is not None
        highs.append(found.high)
    assert min(highs) == highs[0]
    assert highs[-1] == max(highs)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=10))
def test_effective_pairs_lies_between_tasks_and_pairs(rows: list[tuple[int, int]]) -> None:
    full = [(g, x, 6) for g, x in rows]
    assert len(rows) - 1e-9 <= effective_pairs(full) <= 6 * len(rows)
    assert effective_pairs([(1, 0, 1), (0, 1, 1), (0, 0, 1)]) == 3


def test_intervals_with_repeats_cover() -> None:
    """Where trials of a task agree (correlation 0.5), plain Wilson covers far less."""
    random = np.random.default_rng(3)
    inside = plain_inside = 0
    for _ in range(400):
        rates = random.beta(0.2, 0.8, 15)
        events = random.binomial(5, rates)
        rows = [(int(x), 5) for x in events]
        found, plain = clustered_wilson(rows), wilson(int(events.sum()), 75)
        assert found is not None and plain is not None
        inside += found.low <= 0.2 <= found.high
        plain_inside += plain.low <= 0.2 <= plain.high
    assert inside >= 0.94 * 400
    assert plain_inside < 0.85 * 400


def coverage_without_repeats(tasks: int, rate: float) -> float:
    """Exact: over all numbers of events."""
    covered = 0.0
    for events in range(tasks + 1):
        found = clustered_wilson([(1, 1)] * events + [(0, 1)] * (tasks - events))
        assert found is not None
        if found.low <= rate <= found.high:
            covered += float(binom.pmf(events, tasks, rate))
    return covered


def test_few_events_do_not_shut_out_a_small_rate() -> None:
    """Wilson's own interval of one event in eight leaves out 2 %, so it covers but 85 %."""
    plain = wilson(1, 8)
    assert plain is not None and plain.low > 0.02
    assert coverage_without_repeats(8, 0.02) > 0.98
    rates = (0.02, 0.05, 0.10, 0.20, 0.30, 0.50, 0.80, 0.98)
    found = [coverage_without_repeats(n, rate) for n in (8, 12, 20, 30, 60) for rate in rates]
    assert min(found) > 0.92
    assert 0.94 < sum(found) / len(found) < 0.97


@pytest.mark.parametrize(("events", "total"), [(1, 8), (2, 8), (1, 30), (2, 50), (3, 60)])
def test_the_lower_end_of_few_events_is_poissons(events: int, total: int) -> None:
    found = clustered_wilson([(1, 1)] * events + [(0, 1)] * (total - events))
    mirror = clustered_wilson([(0, 1)] * events + [(1, 1)] * (total - events))
    plain = wilson(events, total)
    assert found is not None and mirror is not None and plain is not None
    assert poisson.sf(events - 1, found.low * total) == pytest.approx(0.05)
    assert found.high == plain.high and found.low < plain.low
    assert mirror.high == pytest.approx(1 - found.low)


@pytest.mark.parametrize(("events", "total"), [(0, 8), (3, 8), (3, 50), (4, 60), (384, 778)])
def test_elsewhere_it_is_wilsons(events: int, total: int) -> None:
    found = clustered_wilson([(1, 1)] * events + [(0, 1)] * (total - events))
    known = proportion_confint(events, total, method="wilson")
    assert found is not None
    assert (found.low, found.high) == pytest.approx(known)


@given(st.integers(1, 60), st.sampled_from([0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8]))
def test_a_rate_at_the_limit_fails_in_two_and_a_half_per_cent_at_most(n: int, rate: float) -> None:
    """Exact, over all numbers of events; Wilson's lower end alone is passed in up to 8 %."""
    wrong = sum(
        float(binom.pmf(x, n, rate))
        for x in range(n + 1)
        if exact_low(moments([(1, 1)] * x + [(0, 1)] * (n - x))) > rate
    )
    assert wrong <= 0.025


@given(st.integers(1, 80), st.data())
def test_the_exact_end_is_clopper_and_pearsons(total: int, data: st.DataObject) -> None:
    events = data.draw(st.integers(0, total))
    known, _ = proportion_confint(events, total, method="beta")
    found = exact_low(moments([(1, 1)] * events + [(0, 1)] * (total - events)))
    assert found == pytest.approx(0 if events == 0 else known, abs=1e-9)


@given(clusters, st.integers(0, 30))
def test_sums_say_what_the_list_says(rows: list[tuple[int, int]], more: int) -> None:
    found = moments(rows)
    turned = moments([(n - x, n) for x, n in rows])
    longer = moments(rows + [(0, 1)] * more)
    assert astuple(found.turned()) == pytest.approx(astuple(turned))
    assert astuple(found.further(more)) == pytest.approx(astuple(longer))
    assert rate_interval(found) == clustered_wilson(rows)
    mirror, plain = rate_interval(turned), rate_interval(found)
    assert mirror is not None and plain is not None
    assert (1 - mirror.high, 1 - mirror.low) == pytest.approx((plain.low, plain.high))


@given(clusters)
def test_tasks_weighed_alike_are_as_if_each_had_as_many_episodes(
    rows: list[tuple[int, int]],
) -> None:
    alike = moments(rows).alike
    assert alike.total / alike.episodes == pytest.approx(sum(x / n for x, n in rows) / len(rows))
    even = moments([(min(x, 2), 2) for x, _ in rows])
    assert not even.uneven and astuple(even.alike) == pytest.approx(astuple(even))


@given(st.lists(st.tuples(*[st.integers(0, 5)] * 4), min_size=1, max_size=10))
def test_rates_of_tasks_apart_are_not_correlated(cells: list[tuple[int, int, int, int]]) -> None:
    rows = [(min(x, n), n, min(y, m), m) for x, n, y, m in cells]
    first, second = [(x, n) for x, n, _, _ in rows], [(y, m) for _, _, y, m in rows]
    if not sum(n for _, n in first) or not sum(m for _, m in second):
        return
    together = Shared.of((*row, 1) for row in rows)
    assert correlation(moments(first), moments(second), Shared()) == 0
    assert -1 <= correlation(moments(first), moments(second), together) <= 1


def test_rates_that_go_against_one_another_are_correlated_so() -> None:
    caught, rejected = [(4, 4)] * 20 + [(0, 4)] * 20, [(0, 4)] * 20 + [(4, 4)] * 20
    shared = Shared.of((*x, *y, 1) for x, y in zip(caught, rejected, strict=True))
    assert correlation(moments(caught), moments(rejected), shared) < -0.95
    same = Shared.of((*x, *x, 1) for x in caught)
    assert correlation(moments(caught), moments(caught), same) > 0.95
