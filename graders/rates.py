"""Rates and differences of rates, each with its counts and its interval."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

__all__ = ["Difference", "Rate", "newcombe", "wilson"]


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


@dataclass(frozen=True, slots=True)
class Difference:
    """``first`` less ``second``, two rates of different episodes, between -1 and 1.

    ``value`` and its 95 % interval (Newcombe's) are None where either is over nothing.
    """

    first: Rate
    second: Rate

    @property
    def value(self) -> float | None:
        if self.first.rate is None or self.second.rate is None:
            return None
        return self.first.rate - self.second.rate

    @property
    def interval(self) -> tuple[float, float] | None:
        if not (self.first.interval and self.second.interval):
            return None
        return newcombe(
            (self.first.count / self.first.of, *self.first.interval),
            (self.second.count / self.second.of, *self.second.interval),
        )


def wilson(count: float, of: float, confidence: float = 0.95) -> tuple[float, float]:
    """The Wilson score interval for ``count`` of ``of``, two-sided.

    Both may be effective, fractional sizes; ``of`` is positive and at least ``count``.
    """
    if not 0 <= count <= of or of <= 0 or not 0 < confidence < 1:
        raise ValueError(f"no proportion: {count} of {of} at {confidence}")
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    centre = (count + z2 / 2) / (of + z2)
    spread = (z2 * (count * (of - count) / of + z2 / 4)) ** 0.5 / (of + z2)
    low = 0.0 if count == 0 else centre - spread
    high = 1.0 if count == of else centre + spread
    return max(0.0, low), min(1.0, high)


def newcombe(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> tuple[float, float]:
    """The interval of ``first`` less ``second``, each a rate with its own interval.

    Newcombe's square-and-add method (Statistics in Medicine 17, 1998, 873-890, method
    10, where the intervals are Wilson's): each end is as far from the difference as the
    two rates' own ends are from them, added as squares. The rates are taken as
    independent; where a verifier that approves much does so of good and of bad work, the
    interval is too wide rather than too narrow.
    """
    (a, a_low, a_high), (b, b_low, b_high) = first, second
    low = a - b - ((a - a_low) ** 2 + (b_high - b) ** 2) ** 0.5
    high = a - b + ((a_high - a) ** 2 + (b - b_low) ** 2) ** 0.5
    return max(-1.0, low), min(1.0, high)
