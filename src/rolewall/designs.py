"""Planned gates and comparisons, and the chance that one of a given size succeeds.

Exact where trials do not repeat and the test is a binomial one; elsewhere simulated, with a
seed of its own, so that the same question has the same answer. Trials of a task repeat one
another by an intraclass correlation: rates of tasks are beta-distributed, outcomes of pairs
Dirichlet-distributed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rolewall.errors import InputError
from rolewall.paired import effective_pairs, sign_flip, within_margin
from rolewall.stats import clustered_wilson, z_value
from rolewall.studies import FINE, law_of, simulated

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CompareDesign", "GateDesign", "fraction"]

NEGLIGIBLE = 1e-12
MOST_TESTS = 1_000
Z_95 = z_value(0.95)  # a difference is found only where its interval, of 95 %, agrees


@dataclass(frozen=True)
class GateDesign:
    """A gate on ``threshold``, of a verifier whose true false-approval rate is ``rate``.

    ``trials`` are those of one task that end in failing work.
    """

    threshold: float
    rate: float
    correlation: float = 0.0
    trials: int = 1
    confidence: float = 0.95

    def __post_init__(self) -> None:
        fraction("--max-false-approval", self.threshold)
        fraction("--rate", self.rate, least=0.0)
        _correlated(self.correlation, self.trials)
        if self.rate >= self.threshold:
            raise InputError(
                "no number of episodes would do: the gate asks for a rate below its bound",
                place="--rate", got=self.rate, expected=f"below {self.threshold:g}",
            )  # fmt: skip

    def power(self, tasks: int, studies: int = FINE) -> tuple[float, float]:
        """The chance that the gate holds, and its standard error."""
        if self.trials == 1:
            return self._exact(tasks), 0.0
        seen = [[x, x * x] for x in range(self.trials + 1)]
        return simulated(self._law(), seen, tasks, studies, self._holds_counts)

    def holds(self, clusters: list[tuple[int, int]]) -> bool:
        found = clustered_wilson(clusters, self.confidence)
        return found is not None and found.high <= self.threshold

    def _exact(self, tasks: int) -> float:
        from scipy.stats import binom

        for events in range(tasks + 1):
            if not self.holds([(1, 1)] * events + [(0, 1)] * (tasks - events)):
                return float(binom.cdf(events - 1, tasks, self.rate))
        return 1.0

    def _law(self) -> NDArray[np.float64]:
        """The chance of each number of false approvals of one task."""
        cells = [(x, self.trials - x) for x in range(self.trials + 1)]
        return law_of([self.rate, 1 - self.rate], cells, self.correlation)

    def _holds_counts(self, counts: tuple[int, ...]) -> bool:
        return self.holds([(x, self.trials) for x, n in enumerate(counts) for _ in range(n)])


@dataclass(frozen=True)
class CompareDesign:
    """A paired comparison of an outcome whose true rates are ``first`` and ``second``.

    ``discordant`` is the share of pairs that differ; by default that of two conditions that
    have nothing to do with one another. With ``margin`` it is the test of equivalence that
    is to succeed, without the test of a difference. ``tests`` primary tests share ``alpha``
    in the worst case of Holm's adjustment.
    """

    first: float
    second: float
    discordant: float | None = None
    margin: float | None = None
    correlation: float = 0.0
    trials: int = 1
    alpha: float = 0.05
    tests: int = 1

    def __post_init__(self) -> None:
        fraction("--first", self.first, least=0.0, most=1.0)
        fraction("--second", self.second, least=0.0, most=1.0)
        fraction("--alpha", self.alpha, least=NEGLIGIBLE, most=0.5)
        _correlated(self.correlation, self.trials)
        if not 1 <= self.tests <= MOST_TESTS:
            raise InputError("out of range", place="--tests", got=self.tests,
                             expected=f"1 to {MOST_TESTS}")  # fmt: skip
        least, most = abs(self.difference), self._most_discordant
        if not least - NEGLIGIBLE <= self.share <= most + NEGLIGIBLE:
            raise InputError(
                "no such pairs with these rates", place="--discordant", got=self.share,
                expected=f"from {least:g} to {most:g}",
            )  # fmt: skip
        if self.margin is None and not self.difference:
            raise InputError("there is no difference to find", place="--second", got=self.second,
                             hint="give --margin to show that there is none")  # fmt: skip
        if self.margin is not None:
            fraction("--margin", self.margin)
            if abs(self.difference) >= self.margin:
                raise InputError(
                    "no number of pairs would do: the difference is not within the margin",
                    place="--margin", got=self.margin,
                    expected=f"above {abs(self.difference):g}",
                )  # fmt: skip

    @property
    def difference(self) -> float:
        return self.second - self.first

    @property
    def share(self) -> float:
        """The share of pairs that differ."""
        if self.discordant is not None:
            return self.discordant
        return self.first * (1 - self.second) + self.second * (1 - self.first)

    @property
    def level(self) -> float:
        return self.alpha / self.tests

    @property
    def _most_discordant(self) -> float:
        total = self.first + self.second
        return min(total, 2 - total)

    def power(self, tasks: int, studies: int = FINE) -> tuple[float, float]:
        """The chance that the test succeeds, and its standard error."""
        if self.trials == 1 and self.margin is None:
            return self._exact(tasks), 0.0
        return simulated(self._law(), self._seen(), tasks, studies, self._succeeds)

    def _exact(self, tasks: int) -> float:
        """Over the number of discordant pairs, the chance of an exact McNemar test."""
        import numpy as np
        from scipy.stats import binom

        discordant = np.arange(tasks + 1)
        weight = binom.pmf(discordant, tasks, self.share)
        # The most of the rarer kind that still rejects.
        most = binom.ppf(self.level / 2, discordant, 0.5)
        most = np.where(binom.cdf(most, discordant, 0.5) > self.level / 2, most - 1, most)
        # And with which Tango's interval does not hold 0: (gains − losses) ÷ √discordant > z.
        most = np.minimum(most, np.ceil((discordant - Z_95 * np.sqrt(discordant)) / 2) - 1)
        gain = (self.share + self.difference) / (2 * self.share)
        rejects = binom.cdf(most, discordant, gain) + binom.cdf(most, discordant, 1 - gain)
        return float((weight * np.where(most < 0, 0.0, rejects)).sum())

    def _law(self) -> NDArray[np.float64]:
        """The chance of each (gains, losses) of one task, in the order of ``_cells``."""
        gain, loss = (self.share + self.difference) / 2, (self.share - self.difference) / 2
        cells = [(g, x, self.trials - g - x) for g, x in self._cells()]
        return law_of([gain, loss, 1 - self.share], cells, self.correlation)

    def _cells(self) -> list[tuple[int, int]]:
        trials = self.trials
        return [(g, x) for g in range(trials + 1) for x in range(trials + 1 - g)]

    def _seen(self) -> list[list[int]]:
        """What the test sees of each cell: sums of these over tasks decide it."""
        if self.margin is not None:
            return [[g, x, (g - x) ** 2] for g, x in self._cells()]
        sizes = range(1, self.trials + 1)
        return [[g, x, *(int(abs(g - x) == size) for size in sizes)] for g, x in self._cells()]

    def _succeeds(self, counts: tuple[int, ...]) -> bool:
        tasks = [cell for cell, n in zip(self._cells(), counts, strict=True) for _ in range(n)]
        clusters = [(g, x, self.trials) for g, x in tasks]
        if self.margin is None:
            return _apart(clusters) and sign_flip([g - x for g, x in tasks]) <= self.level
        return within_margin(clusters, self.margin) <= self.level


def _apart(clusters: list[tuple[int, int, int]]) -> bool:
    """Whether Tango's 95 % interval on the effective pairs does not hold 0."""
    gains, losses, pairs = map(sum, zip(*clusters, strict=True))
    scale = effective_pairs(clusters) / pairs
    return abs(gains - losses) * math.sqrt(scale) > Z_95 * math.sqrt(gains + losses)


def fraction(place: str, value: float, least: float = NEGLIGIBLE, most: float = 1.0) -> None:
    if not least <= value <= most or (most == 1.0 and value == 1.0 and least > 0):
        raise InputError("out of range", place=place, got=value, expected=f"{least:g} to {most:g}")


def _correlated(correlation: float, trials: int) -> None:
    if not 0 <= correlation < 1:
        raise InputError("out of range", place="--correlation", got=correlation,
                         expected="0 or more and below 1")  # fmt: skip
    if not 1 <= trials <= 100:
        raise InputError("out of range", place="--trials", got=trials, expected="1 to 100")
