"""What a bound is held against: rates and differences of rates, each with its interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rolewall.decision import Measure
from rolewall.graders import Accounting, newcombe
from rolewall.graders import Rate as TaskRate
from rolewall.pooling import FalseApprovals, Rate, accounts, false_approvals_of, pooled
from rolewall.rows import Row
from rolewall.stats import Interval, wilson

__all__ = [
    "Numbers",
    "difference",
    "effective_events",
    "fewest",
    "informedness",
    "of_difference",
    "of_rate",
    "take_numbers",
    "with_further",
]

MOST_NEEDED = 10_000_000


@dataclass(frozen=True)
class Numbers:
    """All that the bounds are held against, of episodes without error.

    ``silent_rejections`` counts a missing verdict on passing work as a false rejection, the
    most that silence can hide; ``missing`` is of all graded episodes.
    """

    false_approvals: FalseApprovals
    false_rejections: Rate
    silent_rejections: Rate
    missing: Rate

    @property
    def informedness(self) -> Measure:
        """Of those who gave a verdict."""
        return informedness(of_rate(self.false_approvals.excluded), of_rate(self.false_rejections))

    @property
    def silent_informedness(self) -> Measure:
        """With every missing verdict counted as a wrong one."""
        return informedness(
            of_rate(self.false_approvals.as_approval), of_rate(self.silent_rejections)
        )


def take_numbers(graded: Sequence[Row], confidence: float) -> Numbers:
    tasks = accounts(graded)

    def silent(task: Accounting) -> TaskRate:
        return task.under("failure").false_rejection

    return Numbers(
        false_approvals=false_approvals_of(tasks, confidence),
        false_rejections=pooled(tasks, lambda task: task.false_rejection, confidence),
        silent_rejections=pooled(tasks, silent, confidence),
        missing=pooled(tasks, lambda task: task.missing, confidence),
    )


def of_rate(rate: Rate) -> Measure:
    """A rate as a measure; anywhere from 0 to 1 where nothing was seen."""
    return Measure(rate.rate, rate.interval, Interval(0.0, 1.0))


def of_difference(value: float | None, interval: Interval | None) -> Measure:
    """A difference as a measure; anywhere from −1 to 1 where nothing was seen."""
    return Measure(value, interval, Interval(-1.0, 1.0))


def difference(first: Measure, second: Measure) -> Measure:
    """``first`` less ``second``, two rates of episodes that are not paired, with Newcombe's
    interval. Where both are of the same tasks it is wider than it need be."""
    p, q = first.value, second.value
    if p is None or q is None:
        return of_difference(None, None)
    low, high = newcombe((p, first.low, first.high), (q, second.low, second.high))
    return of_difference(p - q, Interval(low, high))


def informedness(approvals: Measure, rejections: Measure) -> Measure:
    """The catch rate less the false-rejection rate (Youden's J), from the rates of false
    approvals and false rejections."""
    if approvals.value is None or approvals.interval is None:
        return of_difference(None, None)
    caught = Interval(1 - approvals.interval.high, 1 - approvals.interval.low)
    return difference(Measure(1 - approvals.value, caught, Interval(0.0, 1.0)), rejections)


def effective_events(rate: Rate) -> float:
    return rate.events / rate.total * rate.effective if rate.total else 0.0


def with_further(rate: Rate, size: int, confidence: float) -> Measure:
    """``rate`` as it would be with further episodes of other tasks, ``size`` independent ones
    in all, none of them an event."""
    size_then = max(float(size), rate.effective)
    events = effective_events(rate)
    return Measure(events / size_then, wilson(events, size_then, confidence), Interval(0.0, 1.0))


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
