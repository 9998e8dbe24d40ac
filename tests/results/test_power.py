from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import betabinom, binom, multinomial
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

from rolewall.designs import CompareDesign, GateDesign
from rolewall.errors import InputError
from rolewall.paired import mcnemar_exact, sign_flip, tango
from rolewall.power import needed_for
from rolewall.studies import law_of

if TYPE_CHECKING:
    from conftest import Here


@pytest.fixture
def cli(here: Here) -> Here:
    return here


def test_a_gate_needs_thirty_five_where_nothing_is_falsely_approved() -> None:
    assert needed_for(GateDesign(0.10, 0.0)).tasks == 35


def test_the_power_of_a_gate_without_repeats_is_exact() -> None:
    power, error = GateDesign(0.10, 0.03).power(113)
    known = sum(
        binom.pmf(x, 113, 0.03)
        for x in range(114)
        if proportion_confint(x, 113, method="wilson")[1] <= 0.10
    )
    assert (power, error) == (pytest.approx(known), 0.0)


def test_the_power_of_mcnemar_is_exact() -> None:
    design = CompareDesign(0.3, 0.6, discordant=0.4)
    pairs, known = 25, 0.0
    for gains, losses in product(range(pairs + 1), repeat=2):
        if gains + losses <= pairs:
            p = mcnemar([[0, losses], [gains, 0]], exact=True).pvalue
            chance = binom.pmf(gains + losses, pairs, 0.4)
            chance *= binom.pmf(gains, gains + losses, 0.35 / 0.4)
            known += chance if p <= 0.05 else 0.0
    assert design.power(pairs) == (pytest.approx(known), 0.0)


def test_the_power_of_a_gate_with_repeats_is_what_is_seen() -> None:
    design = GateDesign(0.20, 0.05, correlation=0.3, trials=3)
    needed = needed_for(design)
    assert needed.tasks is not None and needed.error > 0
    assert needed.episodes == 3 * needed.tasks
    random = np.random.default_rng(2)
    size = 0.7 / 0.3
    rates = random.beta(0.05 * size, 0.95 * size, (2000, needed.tasks))
    held = [design.holds([(x, 3) for x in study]) for study in random.binomial(3, rates).tolist()]
    assert np.mean(held) == pytest.approx(needed.power, abs=0.04)


def test_the_power_of_a_comparison_with_repeats_is_what_is_seen() -> None:
    design = CompareDesign(0.3, 0.6, correlation=0.3, trials=3)
    power, _ = design.power(30)
    random = np.random.default_rng(2)
    size = 0.7 / 0.3
    share, delta = design.share, 0.3
    law = np.array([(share + delta) / 2, (share - delta) / 2, 1 - share]) * size
    found = [
        sign_flip([g - x for g, x, _ in random.multinomial(3, random.dirichlet(law, 30)).tolist()])
        for _ in range(1000)
    ]
    assert np.mean(np.array(found) <= 0.05) == pytest.approx(power, abs=0.05)


@pytest.mark.parametrize("correlation", [0.0, 1e-320, 1e-17, 1e-9, 1e-3, 0.3, 0.9, 1 - 1e-16])
def test_outcomes_of_a_task_have_their_law_at_every_correlation(correlation: float) -> None:
    """With hardly any it is the binomial one, where a difference of gamma functions is noise."""
    law = law_of([0.05, 0.95], [(x, 6 - x) for x in range(7)], correlation)
    if 1e-9 < correlation < 1 - 1e-9:
        size = (1 - correlation) / correlation
        known = betabinom.pmf(range(7), 6, 0.05 * size, 0.95 * size)
    elif correlation < 0.5:
        known = binom.pmf(range(7), 6, 0.05)
    else:
        known = [0.95, 0, 0, 0, 0, 0, 0.05]
    assert law == pytest.approx(known, rel=1e-6, abs=1e-12)
    assert law @ range(7) == pytest.approx(0.3)


@pytest.mark.parametrize("correlation", [1e-320, 1e-17, 1e-16])
def test_hardly_any_correlation_needs_what_none_needs(correlation: float) -> None:
    words = {"correlation": correlation, "trials": 3}
    assert needed_for(GateDesign(0.2, 0.02, **words)) == needed_for(GateDesign(0.2, 0.02, trials=3))
    alike, none = CompareDesign(0.2, 0.7, **words), CompareDesign(0.2, 0.7, trials=3)
    assert alike.power(10, 500) == none.power(10, 500)


@pytest.mark.parametrize("tiny", [1e-320, 5e-324])
def test_a_rate_of_next_to_nothing_is_nothing(tiny: float) -> None:
    for more in ({}, {"trials": 3, "correlation": 0.5}):
        assert needed_for(GateDesign(0.2, tiny, **more)) == needed_for(GateDesign(0.2, 0, **more))
    assert CompareDesign(tiny, 0.9).power(8) == pytest.approx(CompareDesign(0, 0.9).power(8))


def test_a_difference_is_found_by_test_and_interval() -> None:
    """So that the power is that of what compare calls a difference, at any level."""
    design = CompareDesign(0.3, 0.6, alpha=0.3)
    known = 0.0
    for gains, losses in product(range(11), repeat=2):
        if gains + losses <= 10:
            found = tango(losses, gains, 10)
            chance = multinomial.pmf([gains, losses, 10 - gains - losses], 10, [0.42, 0.12, 0.46])
            apart = found is not None and not found.low <= 0 <= found.high
            known += chance if apart and mcnemar_exact(losses, gains) <= 0.3 else 0.0
    assert design.power(10)[0] == pytest.approx(known)


def test_more_trials_of_a_task_need_fewer_tasks_and_more_episodes() -> None:
    one = needed_for(GateDesign(0.20, 0.05))
    three = needed_for(GateDesign(0.20, 0.05, correlation=0.5, trials=3))
    assert one.tasks and three.tasks and one.episodes and three.episodes
    assert three.tasks < one.tasks
    assert three.episodes > one.episodes


def test_equivalence_of_published_rates_needs_hundreds_of_tasks() -> None:
    """TeamBench (arXiv 2605.07073): prompt-only passes 42.7 %, enforced 40.5 %, on about 150."""
    published = CompareDesign(0.427, 0.405, discordant=0.2, margin=0.10)
    assert published.power(148)[0] < 0.7
    assert (needed_for(published).tasks or 0) > 200
    assert (needed_for(CompareDesign(0.427, 0.405, discordant=0.2)).tasks or 0) > 3000


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (lambda: GateDesign(0.1, 0.1), "--rate"),
        (lambda: GateDesign(1.5, 0.1), "--max-false-approval"),
        (lambda: GateDesign(float("nan"), 0.1), "--max-false-approval"),
        (lambda: GateDesign(0.1, 0.05, correlation=1.0), "--correlation"),
        (lambda: GateDesign(0.1, 0.05, trials=0), "--trials"),
        (lambda: CompareDesign(0.4, 0.4), "--second"),
        (lambda: CompareDesign(0.4, 0.6, margin=0.1), "--margin"),
        (lambda: CompareDesign(0.4, 0.6, discordant=0.1), "--discordant"),
        (lambda: CompareDesign(0.4, 0.6, tests=0), "--tests"),
        (lambda: CompareDesign(0.4, 0.6, tests=10**400), "--tests"),
        (lambda: needed_for(GateDesign(0.1, 0.0), 1.0), "--power"),
    ],
)
def test_what_no_number_would_do_is_refused(make: Any, place: str) -> None:
    with pytest.raises(InputError, match=place):
        make()


def test_the_command_says_tasks_trials_and_episodes(cli: Here) -> None:
    gate = ("power", "gate", "--max-false-approval", "0.2", "--rate", "0.05",
            "--correlation", "0.3", "--trials", "3", "--failing", "0.5")  # fmt: skip
    done = cli(*gate, "--json")
    assert done.code == 0, done.err
    tasks = done.json["tasks"]
    assert done.json["counted"] == 3 * tasks and done.json["episodes"] == 6 * tasks
    assert f"{tasks} tasks × 3 trials of failing work" in done.err
    assert done.json["standard_error"] > 0
    exact = cli("power", "compare", "--first", "0.2", "--second", "0.6")
    assert exact.code == 0 and "(exact)" in exact.out and "pairs" in exact.out


def test_the_command_takes_the_level_for_shared_as_compare_shares_it(cli: Here) -> None:
    words = ("power", "compare", "--first", "0.1", "--second", "0.8")
    shared, one = (cli(*words, "--json", *more) for more in ((), ("--tests", "1")))
    assert shared.json["asked"]["tests"] == 3 and one.json["tasks"] < shared.json["tasks"]
    assert shared.json["tasks"] == needed_for(CompareDesign(0.1, 0.8, tests=3)).tasks
    assert "one of 3 primary outcomes that share α = 0.05" in shared.err
    assert "one primary outcome alone" in one.err
    near = cli("power", "compare", "--first", "0", "--second", "0", "--margin", "0.9")
    assert near.code == 0 and "one claim alone, at α = 0.05" in near.out


def test_the_command_refuses_and_gives_up(cli: Here) -> None:
    strange = cli("power", "gate", "--first", "0.3", "--max-false-approval", "0.1", "--rate", "0.1")
    assert strange.code == 2 and "--first: power gate does not take it" in strange.err
    few = cli("power", "gate", "--max-false-approval", "0.1", "--rate", "0", "--failing", "1e-320")
    assert few.code == 2 and "--failing" in few.err and "bug" not in few.err
    lacking = cli("power", "compare", "--first", "0.3")
    assert lacking.code == 2 and "--second" in lacking.err
    hopeless = cli("power", "compare", "--first", "0.5", "--second", "0.5001", "--json")
    assert hopeless.code == 4 and hopeless.json["tasks"] is None
