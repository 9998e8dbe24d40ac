"""How often the gate is wrong at its own limit, on simulated verifiers: part of ``stats.py``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import product

import numpy as np
from scipy.stats import beta, binom
from studies import Cell, Random, Section, allowed, task_rates

from rolewall.clusterrates import Informedness, Rate
from rolewall.clusters import Moments, Shared
from rolewall.gating.weigh import informed_status, rate_status

TASKS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 20, 30, 60)
TRIALS = (1, 3, 10)
CORRELATIONS = (0.0, 0.3, 0.8)
LIMITS = (0.02, 0.05, 0.10, 0.20, 0.30, 0.50)
SIDE = 0.025
JUDGED_TASKS = (5, 8, 12, 30)
JUDGED_TRIALS = (1, 3, 8)
VERIFIERS = ((0.8, 0.2), (0.6, 0.1), (0.95, 0.05))
POINTS = 4000


def decisions(random: Random, studies: int) -> list[Section]:
    """`--max-false-approval T` of a verifier whose true rate is T: neither holds nor failed
    would be right, and each is allowed in 2.5 %."""
    found: dict[Cell, Counter[str]] = {
        cell: _decided(random, studies, *cell)
        for cell in product(TASKS, TRIALS, CORRELATIONS, LIMITS)
        if cell[1] > 1 or not cell[2]
    }
    names = ("tasks", "trials", "correlation", "limit")
    return [
        Section(f"the gate says {word} of a rate that is at the limit (2.5 % allowed)", names,
                {cell: _share(counts, word) for cell, counts in found.items()},
                (0.0, SIDE), worst, high=True)
        for word, worst in (("holds", 0.07), ("failed", allowed(SIDE, studies)))
    ]  # fmt: skip


def _share(counts: Counter[str], word: str) -> float:
    return counts[word] / counts.total()


def _decided(
    random: Random, studies: int, tasks: int, trials: int, correlation: float, limit: float
) -> Counter[str]:
    """Decision → how often; without repeats summed exactly."""
    shares: Counter[str] = Counter()
    if trials == 1:
        for events in range(tasks + 1):
            found = Moments.of_rate([(1, 1, events), (0, 1, tasks - events)])
            shares[_status(found, limit)] += float(binom.pmf(events, tasks, limit))
        return shares
    known: dict[tuple[int, ...], str] = {}
    for events in random.binomial(trials, task_rates(random, studies, tasks, correlation, limit)):
        at = tuple(sorted(events.tolist()))
        if at not in known:
            known[at] = _status(Moments.of_rate((x, trials, 1) for x in at), limit)
        shares[known[at]] += 1
    return shares


def _status(found: Moments, limit: float) -> str:
    rate = Rate(found)
    return rate_status(limit, rate, rate)


def informedness(random: Random, studies: int) -> list[Section]:
    """Every task has as many trials of failing as of passing work. Where it is hard to judge,
    its catch rate is low and its false-rejection rate high (opposite), or the two have nothing
    to do with one another, or they go together: the verifier is strict with the task."""
    grid = product(JUDGED_TASKS, JUDGED_TRIALS, (0.3, 0.6),
                   ("opposite", "independent", "same"), VERIFIERS)  # fmt: skip
    found = {cell: _judged(random, studies, *cell) for cell in grid}
    names = ("tasks", "trials", "correlation", "catch and false rejection", "rates")

    def section(title: str, place: int, limits: tuple[float, float], worst: float) -> Section:
        cells = {cell: shares[place] for cell, shares in found.items()}
        return Section(title, names, cells, limits, worst, high=place > 0)

    wrong = "the gate says {} of informedness that is at the limit (2.5 % allowed)"
    return [
        section("coverage of the 95 % interval of informedness", 0, (0.93, 0.97), 0.90),
        section(wrong.format("holds"), 1, (0.0, SIDE), 0.08),
        section(wrong.format("failed"), 2, (0.0, SIDE), 0.08),
    ]


def _judged(
    random: Random, studies: int, tasks: int, trials: int, alike: float, how: str,
    rates: tuple[float, float],
) -> tuple[float, float, float]:  # fmt: skip
    """How often the interval covers, and the gate holds and fails at the truth."""
    size = (1 - alike) / alike
    shares = (np.arange(POINTS) + 0.5) / POINTS
    caught, rejected = (beta.ppf(shares, rate * size, (1 - rate) * size) for rate in rates)
    truth = float(caught.mean() - rejected.mean())
    place = random.integers(0, POINTS, (studies, tasks))
    other = {"same": place, "opposite": POINTS - 1 - place}.get(
        how, random.integers(0, POINTS, (studies, tasks))
    )
    catches = random.binomial(trials, caught[place]).tolist()
    refused = random.binomial(trials, rejected[other]).tolist()
    said: Counter[str] = Counter()
    for x, y in zip(catches, refused, strict=True):
        found = _informedness(zip(x, y, strict=True), trials)
        assert found.interval is not None
        said["covers"] += found.interval.low <= truth <= found.interval.high
        said[informed_status(truth, found, found)] += 1
    covers, holds, failed = (said[word] / studies for word in ("covers", "holds", "failed"))
    return covers, holds, failed


def _informedness(tasks: Iterable[tuple[int, int]], trials: int) -> Informedness:
    found = list(tasks)
    return Informedness(
        Rate(Moments.of_rate((x, trials, 1) for x, _ in found)),
        Rate(Moments.of_rate((y, trials, 1) for _, y in found)),
        Shared.of((x, trials, y, trials, 1) for x, y in found),
    )
