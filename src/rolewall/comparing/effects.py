"""One outcome over the pairs of a contrast: its effect first, its test second."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from rolewall.comparing.outcomes import Asked, Count, Event
from rolewall.paired import (
    effective_pairs,
    margin_test,
    mcnemar_exact,
    sign_flip,
    tango,
)
from rolewall.pairing import Pair
from rolewall.ratios import mean_difference, ratio_interval
from rolewall.stats import Interval

__all__ = ["Claim", "CountOutcome", "Outcome", "Ratio", "count_outcome", "event_outcome"]


@dataclass(frozen=True)
class Claim:
    """That a difference is smaller than a margin (``equivalence``), or that the second
    condition is not worse by it (``non-inferiority``).

    ``interval`` is the one of the difference at confidence 1 − 2α that decides a single
    claim; ``p_holm`` is over all claims of a comparison. ``None`` where there are fewer than
    two tasks: nothing can then be claimed.
    """

    kind: Literal["equivalence", "non-inferiority"]
    margin: float
    alpha: float
    interval: Interval | None
    p: float
    p_holm: float

    @property
    def shown(self) -> bool:
        return self.p_holm <= self.alpha


@dataclass(frozen=True)
class Ratio:
    """Episodes with the event, second by first; ``high`` is None for infinite."""

    ratio: float
    low: float
    high: float | None


@dataclass(frozen=True)
class Outcome:
    """One primary outcome over all pairs; ``difference`` is second minus first, a fraction.

    ``unknown`` pairs are left out of it, since the outcome is not known in one of the two.
    """

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
    p_holm: float
    unknown: int = 0
    ratio: Ratio | None = None
    claims: tuple[Claim, ...] = ()
    alpha: float = 0.05

    @property
    def finding(self) -> str:
        """What may be said. Two conditions are the same only where a margin was tested."""
        said = "difference" if self.p_holm <= self.alpha else "no difference shown"
        near = [c.margin for c in self.claims if c.kind == "equivalence" and c.shown]
        return f"{said}; indistinguishable within ±{100 * near[0]:g}" if near else said


@dataclass(frozen=True)
class CountOutcome:
    """A secondary outcome: a number an episode, paired. ``difference`` is that of the means."""

    name: str
    pairs: int
    tasks: int
    first_total: int
    second_total: int
    difference: float
    interval: Interval | None
    test: str
    p: float
    unknown: int = 0


@dataclass
class _Task:
    gains: int = 0
    losses: int = 0
    pairs: int = 0

    @property
    def cluster(self) -> tuple[int, int, int]:
        return self.gains, self.losses, self.pairs


@dataclass
class _Table:
    """The fourfold table of the pairs in which an event is known, by task."""

    both: int = 0
    unknown: int = 0
    tasks: dict[str, _Task] = field(default_factory=lambda: defaultdict(_Task))

    def add(self, task: str, first: bool, second: bool) -> None:
        found = self.tasks[task]
        found.pairs += 1
        found.gains += second and not first
        found.losses += first and not second
        self.both += first and second


def event_outcome(event: Event, pairs: Sequence[Pair], asked: Asked) -> Outcome | None:
    """The outcome; ``None`` where the event is not known in any pair."""
    table = _Table()
    for a, b in pairs:
        first, second = event.value(a), event.value(b)
        if first is None or second is None:
            table.unknown += 1
        else:
            table.add(a.task, first, second)
    return _outcome(event, table, asked) if table.tasks else None


def _outcome(event: Event, table: _Table, asked: Asked) -> Outcome:
    clusters = [t.cluster for t in table.tasks.values()]
    gains, losses, pairs = (sum(c[i] for c in clusters) for i in range(3))
    size = effective_pairs(clusters)
    scale = size / pairs
    if len(clusters) < pairs:
        test, p = "sign-flip by task", sign_flip([g - x for g, x, _ in clusters])
    else:
        test, p = "exact McNemar", mcnemar_exact(losses, gains)
    return Outcome(
        name=event.name,
        pairs=pairs,
        tasks=len(clusters),
        first_events=table.both + losses,
        second_events=table.both + gains,
        difference=(gains - losses) / pairs,
        interval=tango(losses * scale, gains * scale, size) or Interval(-1.0, 1.0),
        first_only=losses,
        second_only=gains,
        effective_pairs=size,
        test=test,
        p=p,
        p_holm=p,
        unknown=table.unknown,
        ratio=_ratio(table.both, losses, gains, scale),
        claims=tuple(_claims(event, clusters, asked)),
        alpha=asked.alpha,
    )


def _ratio(both: int, losses: int, gains: int, scale: float) -> Ratio | None:
    found = ratio_interval(both * scale, losses * scale, gains * scale)
    if found is None or not both + losses:
        return None
    return Ratio((both + gains) / (both + losses), *found)


def _claims(event: Event, clusters: Sequence[tuple[int, int, int]], asked: Asked) -> list[Claim]:
    claims = []
    if (margin := asked.equivalence.get(event.key)) is not None:
        found = margin_test(clusters, margin, asked.alpha)
        p = found.within if found else 1.0
        interval = found.interval if found else None
        claims.append(Claim("equivalence", margin, asked.alpha, interval, p, p))
    if (margin := asked.non_inferiority.get(event.key)) is not None:
        found = margin_test(clusters, margin, asked.alpha)
        p = (found.above if event.wanted else found.below) if found else 1.0
        interval = found.interval if found else None
        claims.append(Claim("non-inferiority", margin, asked.alpha, interval, p, p))
    return claims


def count_outcome(count: Count, pairs: Sequence[Pair]) -> CountOutcome | None:
    """The outcome; ``None`` where the number is not known in any pair."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    first_total = second_total = unknown = 0
    for a, b in pairs:
        first, second = count.value(a), count.value(b)
        if first is None or second is None:
            unknown += 1
            continue
        sums[a.task][0] += second - first
        sums[a.task][1] += 1
        first_total, second_total = first_total + first, second_total + second
    if not sums:
        return None
    known = len(pairs) - unknown
    return CountOutcome(
        name=count.name,
        pairs=known,
        tasks=len(sums),
        first_total=first_total,
        second_total=second_total,
        difference=(second_total - first_total) / known,
        interval=mean_difference([(d, n) for d, n in sums.values()]),
        test="sign-flip by task",
        p=sign_flip([d for d, _ in sums.values()]),
        unknown=unknown,
    )
