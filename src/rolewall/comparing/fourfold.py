"""The fourfold table of an event over pairs, by task, and what it says of a difference."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from rolewall.comparing.outcomes import Event
from rolewall.paired import effective_pairs, mcnemar_exact, sign_flip, tango
from rolewall.pairing import Pair
from rolewall.ratios import ratio_interval
from rolewall.stats import Interval

__all__ = ["Cluster", "Fourfold", "Ratio", "Reading", "fourfold"]

Cluster = tuple[int, int, int]
"""Gains, losses and pairs of one task."""


@dataclass(frozen=True)
class Ratio:
    """Episodes with the event, second by first; ``high`` is None for infinite."""

    ratio: float
    low: float
    high: float | None


@dataclass(frozen=True)
class Reading:
    """An event over all pairs, by one reading of missing verdicts; ``difference`` is second
    minus first, a fraction."""

    name: str
    pairs: int
    tasks: int
    first_events: int
    second_events: int
    difference: float
    interval: Interval
    first_only: int
    second_only: int
    effective_pairs: float
    test: str
    p: float


@dataclass
class _Task:
    gains: int = 0
    losses: int = 0
    pairs: int = 0


@dataclass
class Fourfold:
    """Of the pairs in which the event is known; ``unknown`` counts the others."""

    name: str
    both: int = 0
    unknown: int = 0
    tasks: dict[str, _Task] = field(default_factory=lambda: defaultdict(_Task))

    def add(self, task: str, first: bool, second: bool) -> None:
        found = self.tasks[task]
        found.pairs += 1
        found.gains += second and not first
        found.losses += first and not second
        self.both += first and second

    @property
    def clusters(self) -> list[Cluster]:
        return [(t.gains, t.losses, t.pairs) for t in self.tasks.values()]

    @property
    def sums(self) -> Cluster:
        gains, losses, pairs = map(sum, zip(*self.clusters, strict=True))
        return gains, losses, pairs

    def reading(self) -> Reading:
        clusters, (gains, losses, pairs) = self.clusters, self.sums
        size = effective_pairs(clusters)
        scale = size / pairs
        if len(clusters) < pairs:
            test, p = "sign-flip by task", sign_flip([g - x for g, x, _ in clusters])
        else:
            test, p = "exact McNemar", mcnemar_exact(losses, gains)
        return Reading(
            name=self.name,
            pairs=pairs,
            tasks=len(clusters),
            first_events=self.both + losses,
            second_events=self.both + gains,
            difference=(gains - losses) / pairs,
            interval=tango(losses * scale, gains * scale, size) or Interval(-1.0, 1.0),
            first_only=losses,
            second_only=gains,
            effective_pairs=size,
            test=test,
            p=p,
        )

    def ratio(self, scale: float) -> Ratio | None:
        """``scale``: effective pairs by pairs. None where the first has no event."""
        gains, losses, _ = self.sums
        found = ratio_interval(self.both * scale, losses * scale, gains * scale)
        if found is None or not self.both + losses:
            return None
        return Ratio((self.both + gains) / (self.both + losses), *found)


def fourfold(event: Event, pairs: Sequence[Pair]) -> Fourfold | None:
    """None where the event is not known in any pair."""
    table = Fourfold(event.name)
    for a, b in pairs:
        first, second = event.value(a), event.value(b)
        if first is None or second is None:
            table.unknown += 1
        else:
            table.add(a.task, first, second)
    return table if table.tasks else None
