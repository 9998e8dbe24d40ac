"""One outcome over the pairs of a contrast: its effect first, its test second."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rolewall.comparing.fourfold import Cluster, Fourfold, Ratio, Reading, fourfold
from rolewall.comparing.outcomes import Asked, Count, Event
from rolewall.paired import margin_test, sign_flip
from rolewall.pairing import Pair
from rolewall.ratios import mean_difference
from rolewall.stats import Interval

__all__ = ["Claim", "CountOutcome", "Outcome", "count_outcome", "event_outcome"]


@dataclass(frozen=True)
class Claim:
    """That a difference is smaller than a margin (``equivalence``), or that the second
    condition is not worse by it (``not-worse``).

    ``interval`` is the one of the difference at confidence 1 − 2α that decides a single
    claim; ``p_holm`` is over all claims of a comparison. ``None`` where there are fewer than
    two tasks: nothing can then be claimed. Where verdicts are missing both are by the worse
    of two readings, and ``p_seen`` takes no missing verdict for a wrong one.

    ``planned``: whether a plan fixed the margin, or whoever asked may have seen the data.
    ``hidden``: it is not shown, and would be if missing verdicts were passed over.
    """

    kind: Literal["equivalence", "not-worse"]
    margin: float
    alpha: float
    interval: Interval | None
    p: float
    p_holm: float
    p_seen: float
    planned: bool = False
    hidden: bool = False

    @property
    def shown(self) -> bool:
        return self.p_holm <= self.alpha


@dataclass(frozen=True)
class Outcome(Reading):
    """One primary outcome over all pairs.

    ``unknown`` pairs are left out of it, since the outcome is not known in one of the two.
    ``as_wrong`` is the same with missing verdicts for wrong ones, where that differs: then
    what is found must be found in both, and ``p_holm`` comes from ``decisive``.
    ``hidden``: it is not, and would be if missing verdicts were passed over.
    """

    p_holm: float = 1.0
    unknown: int = 0
    ratio: Ratio | None = None
    claims: tuple[Claim, ...] = ()
    alpha: float = 0.05
    as_wrong: Reading | None = None
    hidden: bool = False

    @property
    def decisive(self) -> float:
        """The larger p value of both readings; 1 where they do not point the same way."""
        if self.as_wrong is None:
            return self.p
        if self.difference * self.as_wrong.difference <= 0:
            return 1.0
        return max(self.p, self.as_wrong.p)

    @property
    def differs(self) -> bool:
        """By the test and by the interval: one very unequal task may part the two."""
        return self.p_holm <= self.alpha and not self.around_zero

    @property
    def around_zero(self) -> bool:
        """Whether the interval, by either reading of missing verdicts, holds 0."""
        intervals = [self.interval, *([self.as_wrong.interval] if self.as_wrong else [])]
        return any(found.low <= 0 <= found.high for found in intervals)

    @property
    def finding(self) -> str:
        """What may be said. Two conditions are the same only where a margin was tested, and
        never where a difference was found."""
        near = [c.margin for c in self.claims if c.kind == "equivalence" and c.shown]
        small = f", smaller than {100 * near[0]:g} points" if near else ""
        if self.differs:
            return f"difference{small}"
        if self.p_holm <= self.alpha:
            return f"not shown: the interval holds 0{small}"
        if self.hidden:
            return f"not shown: silence may hide it{small}"
        within = f"; indistinguishable within ±{100 * near[0]:g}" if near else ""
        return f"no difference shown{within}"


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


def event_outcome(event: Event, pairs: Sequence[Pair], asked: Asked) -> Outcome | None:
    """The outcome; ``None`` where the event is not known in any pair."""
    table = fourfold(event, pairs)
    if table is None:
        return None
    wrong = _as_wrong(event, pairs)
    seen = table.reading()
    return Outcome(
        **vars(seen),
        p_holm=seen.p,
        unknown=table.unknown,
        ratio=table.ratio(seen.effective_pairs / seen.pairs),
        claims=tuple(_claims(event, [table] if wrong is None else [table, wrong], asked)),
        alpha=asked.alpha,
        as_wrong=wrong.reading() if wrong else None,
    )


def _as_wrong(event: Event, pairs: Sequence[Pair]) -> Fourfold | None:
    """The other reading of missing verdicts, where it differs."""
    other = event.as_wrong
    if other is None or all(other.value(r) == event.value(r) for pair in pairs for r in pair):
        return None
    return fourfold(other, pairs)


def _claims(event: Event, readings: Sequence[Fourfold], asked: Asked) -> list[Claim]:
    tables = [table.clusters for table in readings]
    claims = []
    if (margin := asked.equivalence.get(event.key)) is not None:
        claims.append(_claim("equivalence", margin, tables, asked, event))
    if (margin := asked.not_worse.get(event.key)) is not None:
        claims.append(_claim("not-worse", margin, tables, asked, event))
    return claims


def _claim(
    kind: Literal["equivalence", "not-worse"],
    margin: float,
    tables: Sequence[Sequence[Cluster]],
    asked: Asked,
    event: Event,
) -> Claim:
    tests = [margin_test(clusters, margin, asked.alpha) for clusters in tables]
    found = [test for test in tests if test]
    if kind == "equivalence":
        sides = [test.within for test in found]
    else:
        sides = [test.above if event.wanted else test.below for test in found]
    p = max(sides, default=1.0)
    interval = None
    if found:
        interval = Interval(
            min(test.interval.low for test in found), max(test.interval.high for test in found)
        )
    seen = sides[0] if sides else 1.0
    return Claim(kind, margin, asked.alpha, interval, p, p, seen, asked.planned)


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
