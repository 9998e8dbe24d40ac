"""A rate over several tasks, and informedness: counts, effective size and intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rolewall.clusters import Moments, Shared, correlation
from rolewall.graders import newcombe
from rolewall.stats import Interval, exact_low, rate_interval

__all__ = ["Informedness", "Rate"]


@dataclass(frozen=True)
class Rate:
    """``events`` of ``total`` episodes over ``tasks`` tasks, with its interval.

    ``effective`` is the number of independent episodes they are worth; ``rate``
    and ``interval`` are ``None`` when there is nothing to divide by.
    """

    clusters: Moments
    confidence: float = 0.95

    @property
    def events(self) -> int:
        return int(self.clusters.total)

    @property
    def total(self) -> int:
        return int(self.clusters.episodes)

    @property
    def tasks(self) -> int:
        return self.clusters.tasks

    @property
    def effective(self) -> float:
        return self.clusters.effective

    @property
    def rate(self) -> float | None:
        return self.events / self.total if self.total else None

    @cached_property
    def interval(self) -> Interval | None:
        return rate_interval(self.clusters, self.confidence)

    @cached_property
    def alike(self) -> Interval | None:
        """The interval of the rate in which each task is weighed alike, however many episodes
        it has: work that is tried often, since it is easy to judge, hides no other."""
        if not self.clusters.uneven:
            return self.interval
        return rate_interval(self.clusters.alike, self.confidence)

    @cached_property
    def exact(self) -> Interval:
        """Clopper and Pearson's interval, or ``interval`` where that is wider; 0 to 1 of
        nothing."""
        found, turned = self.interval, self.clusters.turned()
        if found is None:
            return Interval(0.0, 1.0)
        low, missed = (exact_low(side, self.confidence) for side in (self.clusters, turned))
        return Interval(min(found.low, low), max(found.high, 1 - missed))

    def further(self, number: int) -> Rate:
        """With an episode more of so many further tasks, none of them an event."""
        return Rate(self.clusters.further(number), self.confidence)


@dataclass(frozen=True)
class Informedness:
    """Catch rate less false-rejection rate: 1 is always right, 0 tells nothing apart.

    ``shared`` is what the two have in common, task by task. ``value`` and ``interval`` are
    ``None`` unless there is failing and passing work.
    """

    catch: Rate
    false_rejection: Rate
    shared: Shared

    @property
    def value(self) -> float | None:
        if self.catch.rate is None or self.false_rejection.rate is None:
            return None
        return self.catch.rate - self.false_rejection.rate

    @cached_property
    def interval(self) -> Interval | None:
        """Newcombe's, of the two rates' own intervals, with their correlation over tasks.

        On a task that is hard to judge fewer faults are caught and more good work is
        rejected, so that the difference varies more than of two rates that have nothing to
        do with one another. The other way round it is left as wide as of such two.
        """
        return self._of(self.catch.interval, self.false_rejection.interval)

    @cached_property
    def exact(self) -> Interval:
        """The same of the two rates' exact intervals; −1 to 1 of nothing."""
        found = self._of(self.catch.exact, self.false_rejection.exact)
        return found or Interval(-1.0, 1.0)

    def _of(self, caught: Interval | None, rejected: Interval | None) -> Interval | None:
        p, q = self.catch.rate, self.false_rejection.rate
        if p is None or q is None or caught is None or rejected is None:
            return None
        together = correlation(self.catch.clusters, self.false_rejection.clusters, self.shared)
        ends = (p, caught.low, caught.high), (q, rejected.low, rejected.high)
        return Interval(*newcombe(*ends, min(0.0, together)))

    def further(self, failing: int, passing: int) -> Informedness:
        """With so much more failing and passing work, each of a task of its own, all of it
        judged right."""
        caught = self.catch.clusters.turned().further(failing).turned()
        return Informedness(
            Rate(caught, self.catch.confidence), self.false_rejection.further(passing), self.shared
        )
