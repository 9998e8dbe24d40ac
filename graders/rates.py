"""Rates with their counts, and the intervals of rates and of differences of rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

__all__ = ["Rate", "newcombe", "wilson"]


@dataclass(frozen=True, slots=True)
class Rate:
    """``count`` of ``of``; ``rate`` and its Wilson 95 % interval are None where ``of`` is 0."""

    count: int
    of: int

    @property
    def rate(self) -> float | None:
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        return wilson(self.count, self.of) if self.of else None

    @property
    def low(self) -> float | None:
        return self.interval[0] if self.interval else None

    @property
    def high(self) -> float | None:
        return self.interval[1] if self.interval else None


def wilson(
    count: float, of: float, confidence: float = 0.95, *, z: float | None = None
) -> tuple[float, float]:
    """The Wilson score interval for ``count`` of ``of``, two-sided.

    Both may be effective, fractional sizes; ``of`` is positive and at least ``count``.
    ``z`` stands in for the normal quantile of ``confidence``.
    """
    if not 0 <= count <= of or of <= 0 or not 0 < confidence < 1:
        raise ValueError(f"no proportion: {count} of {of} at {confidence}")
    z2 = (NormalDist().inv_cdf((1 + confidence) / 2) if z is None else z) ** 2
    centre = (count + z2 / 2) / (of + z2)
    spread = (z2 * (count * (of - count) / of + z2 / 4)) ** 0.5 / (of + z2)
    low = 0.0 if count == 0 else centre - spread
    high = 1.0 if count == of else centre + spread
    return max(0.0, low), min(1.0, high)


def newcombe(
    first: tuple[float, float, float],
    second: tuple[float, float, float],
    correlation: float = 0.0,
) -> tuple[float, float]:
    """The interval of ``first`` less ``second``, each a rate with its own interval.

    Newcombe's square-and-add method (Statistics in Medicine 17, 1998, 873-890, method
    10, where the intervals are Wilson's): each end is as far from the difference as the
    two rates' own ends are from them, added as squares. ``correlation`` is that of the two
    rates, as Zou and Donner add it (Statistics in Medicine 27, 2008, 1693-1702): where it
    is below 0 the interval is wider, where it is above, narrower.
    """
    (a, a_low, a_high), (b, b_low, b_high) = first, second

    def far(one: float, other: float) -> float:
        return math.sqrt(max(0.0, one * one + other * other - 2 * correlation * one * other))

    low, high = a - b - far(a - a_low, b_high - b), a - b + far(a_high - a, b - b_low)
    return max(-1.0, low), min(1.0, high)
