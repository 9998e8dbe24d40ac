"""Paired statistics: the same tasks under two conditions, pair by pair.

A pair is an episode of each condition; it *gains* where the event is the second's
alone, and *loses* where it is the first's alone. Nothing draws random numbers.
How the tests hold their error rates is measured by ``bench/stats.py``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rolewall.clusters import Moments
from rolewall.stats import Interval, z_value

__all__ = [
    "LEAST_P",
    "Margin",
    "effective_pairs",
    "margin_test",
    "mcnemar_exact",
    "sign_flip",
    "tango",
    "within_margin",
]

LEAST_P = 1e-11
"""The least p value that a sign-flip test of unequal sums has; below it only the transform's
noise would be left, and the value reads "< 1e-11"."""
BISECTIONS = 80
MOST_STEPS = 1 << 20  # of the distribution of a sign-flip test


def effective_pairs(clusters: Sequence[tuple[int, int, int]]) -> float:
    """How many independent pairs the clusters are worth, for a paired difference.

    ``clusters`` holds (gains, losses, pairs) a task; see
    :attr:`rolewall.clusters.Moments.effective`.
    """
    return Moments.of_pairs(clusters).effective


def mcnemar_exact(first_only: int, second_only: int) -> float:
    """Two-sided exact McNemar test from the two discordant counts."""
    from scipy.special import bdtr  # scipy.stats takes ten times as long to load

    discordant = first_only + second_only
    return min(1.0, 2 * float(bdtr(min(first_only, second_only), discordant, 0.5)))


def sign_flip(sums: Sequence[int]) -> float:
    """Two-sided sign-flip permutation test that the task sums are centred on 0.

    Exact: the distribution over all 2**k flips, from its characteristic function, the
    product of the cosines of the sums. Where the sums are very large together, they are
    first rounded to a coarser unit; flipping a sign commutes with that, so the test stays
    exact for the rounded sums. Sums that are all of one size are a binomial. Elsewhere no
    value is less than ``LEAST_P``, which then is more than the true one.
    """
    if len(set(map(abs, sums)) - {0}) == 1:
        return mcnemar_exact(sum(s < 0 for s in sums), sum(s > 0 for s in sums))
    import numpy as np

    unit = max(1, math.ceil(sum(map(abs, sums)) / MOST_STEPS))
    steps = [round(abs(s) / unit) * (1 if s > 0 else -1) for s in sums]
    span = sum(map(abs, steps))
    if not span:
        return 1.0
    points = 2 * span + 1
    angles = 2 * np.pi / points * np.arange(span + 1)
    wave = np.ones(span + 1)
    sizes = Counter(filter(None, map(abs, steps)))
    for size, number in sizes.items():
        wave *= np.cos(size * angles) ** number
    weights = np.fft.irfft(wave, points)  # of 0, 1, … span, -span, … -1
    extreme = abs(sum(steps))
    reached = weights[extreme : points - extreme + 1 if extreme else points]
    found = round(float(reached.sum()), 12)  # beyond that it is the transform's noise
    return min(1.0, max(found, LEAST_P))


def tango(
    first_only: float,
    second_only: float,
    pairs: float,
    confidence: float = 0.95,
    *,
    critical: float | None = None,
) -> Interval | None:
    """Tango's score interval of a paired difference, second minus first
    (Statistics in Medicine 17, 1998).

    ``first_only`` and ``second_only`` are discordant pairs; all three may be
    fractional. ``critical`` stands in for the normal quantile. ``None`` without pairs.
    """
    if pairs <= 0:
        return None
    z = z_value(confidence) if critical is None else critical
    estimate = (second_only - first_only) / pairs

    def score(delta: float) -> float:
        return _tango_score(second_only, first_only, pairs, delta)

    low = _boundary(lambda d: score(d) - z, -1.0, estimate)
    high = _boundary(lambda d: score(d) + z, estimate, 1.0)
    return Interval(low, high)


@dataclass(frozen=True, slots=True)
class Margin:
    """A paired difference held against a margin.

    ``interval`` is the one of confidence 1 − 2α that decides: it lies within the margin
    where a p value is at most α. ``above`` is the p value against "the difference is
    −margin or less", ``below`` against "it is the margin or more".
    """

    margin: float
    interval: Interval
    above: float
    below: float

    @property
    def within(self) -> float:
        """The p value of both one-sided tests together: the larger."""
        return max(self.above, self.below)


def margin_test(
    clusters: Sequence[tuple[int, int, int]], margin: float, alpha: float = 0.05
) -> Margin | None:
    """Both one-sided score tests of the paired difference against ∓ ``margin``.

    ``clusters`` holds (gains, losses, pairs) a task. Tango's statistic on the effective
    pairs, against Student's t with one degree of freedom fewer than there are tasks: by
    the normal the tests were wrong in up to 7 % where they may be in 5 %. ``None`` with
    fewer than two tasks.
    """
    from scipy.special import stdtrit

    found = [c for c in clusters if c[2]]
    if len(found) < 2:
        return None
    gains, losses, size = _effective(found)
    critical = float(stdtrit(len(found) - 1, 1 - alpha))
    interval = tango(losses, gains, size, critical=critical) or Interval(-1.0, 1.0)
    return Margin(margin, interval, *_sides(gains, losses, size, margin, len(found)))


def within_margin(clusters: Sequence[tuple[int, int, int]], margin: float) -> float:
    """The p value of both tests of :func:`margin_test` alone; 1 with fewer than two tasks."""
    found = [c for c in clusters if c[2]]
    if len(found) < 2:
        return 1.0
    return max(_sides(*_effective(found), margin, len(found)))


def _effective(clusters: Sequence[tuple[int, int, int]]) -> tuple[float, float, float]:
    """Gains, losses and pairs, each of the effective number."""
    size = effective_pairs(clusters)
    scale = size / sum(n for _, _, n in clusters)
    return scale * sum(g for g, _, _ in clusters), scale * sum(x for _, x, _ in clusters), size


def _sides(
    gains: float, losses: float, size: float, margin: float, tasks: int
) -> tuple[float, float]:
    from scipy.special import stdtr

    above = stdtr(tasks - 1, -_tango_score(gains, losses, size, -margin))
    below = stdtr(tasks - 1, _tango_score(gains, losses, size, margin))
    return float(above), float(below)


def _tango_score(gains: float, losses: float, pairs: float, delta: float) -> float:
    """The score statistic for a true difference ``delta``; falls as delta grows."""
    numerator = gains - losses - pairs * delta
    linear = -gains - losses + (2 * pairs - gains + losses) * delta
    constant = -losses * delta * (1 - delta)
    root = math.sqrt(max(0.0, linear * linear - 8 * pairs * constant))
    loss_rate = max(0.0, (root - linear) / (4 * pairs))
    variance = pairs * (2 * loss_rate + delta * (1 - delta))
    if variance <= 0:
        return math.copysign(math.inf, numerator) if numerator else 0.0
    return numerator / math.sqrt(variance)


def _boundary(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function crosses 0 between ``low`` and ``high``."""
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if falling(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2
