"""Effect sizes of pairs beside the difference of rates: ratios, and means of counts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rolewall.graders import wilson
from rolewall.stats import Interval, z_value

__all__ = ["mean_difference", "ratio_interval"]


def ratio_interval(
    both: float, first_only: float, second_only: float, confidence: float = 0.95
) -> tuple[float, float | None] | None:
    """The interval of a ratio of paired proportions, second by first, from the pairs that
    have the event under both conditions or one; the upper end is ``None`` for infinite.

    Bonett and Price's hybrid of two Wilson intervals (Biometrics 62, 2006). ``None``
    where no pair has the event.
    """
    seen = both + first_only + second_only
    if seen <= 0:
        return None
    second, first = both + second_only, both + first_only
    joint = math.sqrt((first_only + second_only + 2) / ((second + 1) * (first + 1)))
    alone = sum(math.sqrt((1 - (x + 1) / (seen + 2)) / (x + 1)) for x in (second, first))
    z = z_value(confidence) * joint / alone
    narrower = math.erf(z / math.sqrt(2))  # the confidence of which z is the quantile
    top, bottom = (Interval(*wilson(x, seen, narrower)) for x in (second, first))
    low = top.low / bottom.high if bottom.high > 0 else 0.0
    return low, top.high / bottom.low if bottom.low > 0 else None


def mean_difference(
    clusters: Sequence[tuple[int, int]], confidence: float = 0.95
) -> Interval | None:
    """The interval of a mean difference of counts a pair, Student's t over tasks.

    ``clusters`` holds (sum of the differences, pairs) a task; not as fractions. A rough
    interval where few tasks have most of the count. ``None`` with fewer than two tasks, and
    where all tasks differ equally, which says nothing of how they vary.
    """
    found = [(d, n) for d, n in clusters if n]
    if len(found) < 2:
        return None
    from scipy.special import stdtrit

    tasks, pairs = len(found), sum(n for _, n in found)
    mean = sum(d for d, _ in found) / pairs
    spread = sum((d - mean * n) ** 2 for d, n in found) * tasks / (tasks - 1)
    if not spread:
        return None
    half = float(stdtrit(tasks - 1, 0.5 + confidence / 2)) * math.sqrt(spread) / pairs
    return Interval(mean - half, mean + half)
