"""The statistics behind tables, comparison and gate: intervals of a proportion.

Everything here is exact or closed form; nothing draws random numbers. How often the
intervals cover is measured by ``bench/stats.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from rolewall.clusters import Moments
from rolewall.graders import wilson as wilson_score

__all__ = [
    "Interval",
    "clustered_wilson",
    "exact_low",
    "fewest",
    "holm",
    "rate_interval",
    "wilson",
    "z_value",
]

MOST_NEEDED = 10_000_000
EVEN = 1e-9  # by how much a number of effective events may be off by rounding


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


def fewest(holds: Callable[[int], bool]) -> int | None:
    """The smallest number from 1 on at which what holds from some number on holds; ``None``
    beyond ten million."""
    low, high = 0, 1
    while not holds(high):
        low, high = high, high * 2
        if high > MOST_NEEDED:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def clustered_wilson(
    clusters: Iterable[tuple[int, int]], confidence: float = 0.95
) -> Interval | None:
    """The interval of a rate, from (events, episodes) a task: see :func:`rate_interval`."""
    return rate_interval(Moments.of_rate((x, n, 1) for x, n in clusters), confidence)


def rate_interval(clusters: Moments, confidence: float = 0.95) -> Interval | None:
    """Wilson's interval, on the effective sample size, and wider within three events of
    either end; ``None`` of no episode.

    Its ends never lie inside those of no event, or only events, in as many
    tasks, so that no number of events gives a lower upper end than none does.
    Within three events of either end (two, up to 50 episodes) that end is the one of the
    modified interval of Brown, Cai and DasGupta (Statistical Science 16, 2001, section
    4.1.1): there Wilson's own covers as little as 83 %, one event in eight episodes
    shutting out 2 %.
    """
    size, tasks = clusters.effective, clusters.kish
    if not clusters.episodes:
        return None
    events = clusters.total / clusters.episodes * size
    found = wilson(events, size, confidence)
    none, every = wilson(0, tasks, confidence), wilson(tasks, tasks, confidence)
    if found is None or none is None or every is None:
        return None
    low = min(found.low, every.low, _rare(events, size, confidence))
    high = max(found.high, none.high, 1 - _rare(size - events, size, confidence))
    return Interval(low, high)


def exact_low(clusters: Moments, confidence: float = 0.95) -> float:
    """Clopper and Pearson's lower end (Biometrika 26, 1934), on the effective sample size.

    Without repeats a true rate lies below it in at most half of what ``confidence``
    leaves, whatever the rate; Wilson's own end is passed up to three times as often.
    """
    size = clusters.effective
    if not clusters.total:
        return 0.0
    from scipy.special import betaincinv

    events = clusters.total / clusters.episodes * size
    return float(betaincinv(events, size - events + 1, (1 - confidence) / 2))


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
