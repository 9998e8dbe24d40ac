"""What a bound is held against: rates and differences of rates, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rolewall.clusterrates import Informedness, Rate
from rolewall.decision import Measure
from rolewall.graders import Accounting, newcombe
from rolewall.graders import Rate as TaskRate
from rolewall.pooling import FalseApprovals, accounts, false_approvals_of, informedness_of, pooled
from rolewall.rows import Row
from rolewall.stats import Interval

__all__ = [
    "Numbers",
    "difference",
    "of_difference",
    "of_informedness",
    "of_rate",
    "take_numbers",
]


@dataclass(frozen=True)
class Numbers:
    """All that the bounds are held against, of episodes without error.

    ``silent_rejections`` counts a missing verdict on passing work as a false rejection, the
    most that silence can hide, and ``silent_informedness`` every one as a wrong one;
    ``missing`` is of all graded episodes.
    """

    false_approvals: FalseApprovals
    false_rejections: Rate
    silent_rejections: Rate
    missing: Rate
    informedness: Informedness
    silent_informedness: Informedness


def take_numbers(graded: Sequence[Row], confidence: float) -> Numbers:
    tasks = accounts(graded)

    def silent(task: Accounting) -> TaskRate:
        return task.under("failure").false_rejection

    return Numbers(
        false_approvals=false_approvals_of(tasks, confidence),
        false_rejections=pooled(tasks, lambda task: task.false_rejection, confidence),
        silent_rejections=pooled(tasks, silent, confidence),
        missing=pooled(tasks, lambda task: task.missing, confidence),
        informedness=informedness_of(tasks, "excluded", confidence),
        silent_informedness=informedness_of(tasks, "failure", confidence),
    )


def of_rate(rate: Rate) -> Measure:
    """A rate as a measure; anywhere from 0 to 1 where nothing was seen."""
    return Measure(rate.rate, rate.interval, Interval(0.0, 1.0))


def of_difference(value: float | None, interval: Interval | None) -> Measure:
    """A difference as a measure; anywhere from −1 to 1 where nothing was seen."""
    return Measure(value, interval, Interval(-1.0, 1.0))


def of_informedness(found: Informedness) -> Measure:
    return of_difference(found.value, found.interval)


def difference(first: Rate, second: Rate) -> Measure:
    """``first`` less ``second``, two rates of episodes that are not paired, with Newcombe's
    interval. Where both are of the same tasks it is wider than it need be."""
    p, q, one, other = first.rate, second.rate, first.interval, second.interval
    if p is None or q is None or one is None or other is None:
        return of_difference(None, None)
    low, high = newcombe((p, one.low, one.high), (q, other.low, other.high))
    return of_difference(p - q, Interval(low, high))
