"""The statistics behind tables, comparison and gate: intervals of a proportion.

Everything here is exact or closed form; nothing draws random numbers. A
*cluster* is a task: trials of one task repeat one another, so they count for
less than as many different tasks. How often the intervals cover is measured by
``bench/stats.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from rolewall.graders import wilson as wilson_score

__all__ = [
    "Interval",
    "clustered_wilson",
    "effective_size",
    "holm",
    "kish",
    "size_needed",
    "wilson",
    "z_value",
]

MOST_NEEDED = 10_000_000
EVEN = 1e-9  # by how much a number of effective events may be off by rounding
PSEUDO = 0.25
"""How much each of the two tasks weighs that are added before a design effect is taken."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval, as fractions (0.25 is 25 %)."""

    low: float
    high: float


def z_value(confidence: float) -> float:
    """The normal quantile for a two-sided interval, 1.96 for 0.95."""
    if not 0.0 < confidence < 1.0:
        raise ValueError("confidence lies strictly between 0 and 1")
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def wilson(events: float, total: float, confidence: float = 0.95) -> Interval | None:
    """Wilson's score interval of ``events / total``; ``None`` when ``total`` is 0.

    Both may be fractional, so that an effective sample size can stand in.
    """
    if total <= 0:
        return None
    return Interval(*wilson_score(events, total, confidence))


def size_needed(
    threshold: float, confidence: float = 0.95, *, events: float = 0, already: float = 0
) -> int | None:
    """The sample size, in all, at which Wilson's upper bound falls to ``threshold``
    if no event is added to ``events``.

    At least ``already``; ``None`` beyond ten million.
    """

    def holds(total: int) -> bool:
        interval = wilson(events, total, confidence)
        return interval is not None and interval.high <= threshold

    low = max(0, int(already) - 1)
    high = max(1, int(already), int(events))
    while not holds(high):
        low, high = high, high * 2
        if high > MOST_NEEDED:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def kish(sizes: Sequence[int]) -> float:
    """How many clusters there are, unequal ones counting for less."""
    total = sum(sizes)
    return total * total / sum(n * n for n in sizes) if total else 0.0


def effective_size(clusters: Sequence[tuple[int, int]]) -> float:
    """How many independent episodes the clusters are worth.

    ``clusters`` holds (events, episodes) a task. Without repeats the result is
    the number of episodes. With repeats it lies between :func:`kish` and that.

    The plain design effect cannot be seen where no event, or only events, were
    seen, and is erratic near there: one false approval more could narrow the
    interval. So two tasks that agree with themselves wholly, one each way, are
    added before it is taken, each at a quarter of a task's weight: at full weight
    the intervals covered too much, at none they narrowed so.
    """
    sizes = [n for _, n in clusters if n]
    total = sum(sizes)
    if not total or max(sizes) == 1:
        return float(total)
    typical = sum(n * n for n in sizes) / total
    rows = [(float(x), float(n), 1.0) for x, n in clusters if n]
    rows += [(typical, typical, PSEUDO), (0.0, typical, PSEUDO)]
    tasks = sum(w for _, _, w in rows)
    episodes = sum(w * n for _, n, w in rows)
    rate = sum(w * x for x, _, w in rows) / episodes
    between = sum(w * (x - rate * n) ** 2 for x, n, w in rows) * tasks / (tasks - 1)
    effect = max(1.0, between / (episodes * rate * (1 - rate)))
    return max(kish(sizes), total / effect)


def clustered_wilson(
    clusters: Sequence[tuple[int, int]], confidence: float = 0.95
) -> Interval | None:
    """Wilson's interval on the effective size; on the plain one without repeats.

    Its ends never lie inside those of no event, or only events, in as many
    tasks, so that no number of events gives a lower upper end than none does.
    Within three events of either end it is the modified interval of Brown, Cai
    and DasGupta (Statistical Science 16, 2001, section 4.1.1): there Wilson's
    own covers as little as 83 %, one event in eight episodes shutting out 2 %.
    """
    total = sum(n for _, n in clusters)
    if not total:
        return None
    size, tasks = effective_size(clusters), kish([n for _, n in clusters])
    events = sum(x for x, _ in clusters) / total * size
    found = wilson(events, size, confidence)
    none, every = wilson(0, tasks, confidence), wilson(tasks, tasks, confidence)
    if found is None or none is None or every is None:
        return None
    low = min(found.low, every.low, _rare(events, size, confidence))
    high = max(found.high, none.high, 1 - _rare(size - events, size, confidence))
    return Interval(low, high)


def _rare(events: float, size: float, confidence: float) -> float:
    """The lower end for few events: the rate at which so many, or more, are as rare as an
    interval may be wrong, by Poisson's law; 1 where Wilson's end needs no help."""
    if events > (2 if size <= 50 else 3) + EVEN:
        return 1.0
    if events <= EVEN:
        return 0.0
    from scipy.special import gammaincinv

    return float(gammaincinv(events, 1 - confidence)) / size


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment, in the order given."""
    adjusted = [0.0] * len(p_values)
    running = 0.0
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = running
    return adjusted
