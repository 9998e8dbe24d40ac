"""Each bound by the same rule: it holds, it fails, or there is not enough to decide.

A verifier that falls silent must not pass. So ``holds`` asks for two intervals: of what was
judged, and of the same with every missing verdict counted as a wrong one. ``failed`` asks for
the first alone: what was not said is no proof against the verifier.
"""

from __future__ import annotations

from collections.abc import Iterator

from rolewall.clusterrates import Informedness, Rate
from rolewall.decision import Bound, BoundStatus, Measure
from rolewall.gaterules import Rules
from rolewall.gating.measures import Numbers, of_informedness, of_rate
from rolewall.gating.words import (
    APPROVALS,
    INFORMEDNESS,
    MISSING,
    REJECTIONS,
    Words,
    highest,
    of_informed,
    of_rate_bound,
)
from rolewall.stats import fewest

__all__ = ["at_most", "informed_status", "rate_status", "weigh"]


def weigh(numbers: Numbers, rules: Rules) -> Iterator[Bound]:
    """Every bound that was asked for on the rates of one side."""
    approvals = numbers.false_approvals
    if (limit := rules.max_false_approval) is not None:
        yield _rate(APPROVALS, limit, approvals.excluded, approvals.as_approval)
    if (limit := rules.max_false_rejection) is not None:
        yield _rate(REJECTIONS, limit, numbers.false_rejections, numbers.silent_rejections)
    if (limit := rules.min_informedness) is not None:
        yield _informed(limit, numbers)
    if (limit := rules.max_missing) is not None:
        yield _rate(MISSING, limit, numbers.missing, numbers.missing)


def at_most(limit: float, seen: Measure, feared: Measure) -> BoundStatus:
    """Whether both are seen to keep an upper limit, the first to break it, or neither."""
    if seen.high <= limit and feared.high <= limit:
        return "holds"
    return "failed" if seen.low > limit else "undecided"


def _at_least(limit: float, seen: Measure, feared: Measure) -> BoundStatus:
    """The same of a lower limit."""
    if seen.low >= limit and feared.low >= limit:
        return "holds"
    return "failed" if seen.high < limit else "undecided"


def rate_status(limit: float, among: Rate, worst: Rate) -> BoundStatus:
    """The same of a rate, ``worst`` being the one with missing verdicts as wrong ones.

    It fails only where the exact lower end is above the limit as well: by the interval's
    alone a rate that is at the limit would fail in up to 8 %, where 2.5 % are allowed. It
    holds only where it does so with each task weighed alike as well.
    """
    status = at_most(limit, of_rate(among), of_rate(worst))
    if status == "failed" and among.exact.low <= limit:
        return "undecided"
    if status == "holds" and any(highest(rate) > limit for rate in (among, worst)):
        return "undecided"
    return status


def informed_status(limit: float, among: Informedness, worst: Informedness) -> BoundStatus:
    """The same of informedness, with the exact intervals of its two rates."""
    status = _at_least(limit, of_informedness(among), of_informedness(worst))
    return "undecided" if status == "failed" and among.exact.high >= limit else status


def _rate(words: Words, limit: float, among: Rate, worst: Rate) -> Bound:
    status = rate_status(limit, among, worst)
    needed = None
    if status == "undecided":
        more = fewest(lambda n: rate_status(limit, among.further(n), worst.further(n)) == "holds")
        needed = None if more is None else worst.total + more
    reasons = of_rate_bound(words, limit, status, among, worst, needed)
    return Bound(words.name, limit, status, tuple(reasons), of_rate(among), of_rate(worst), needed)


def _informed(limit: float, numbers: Numbers) -> Bound:
    among, worst = numbers.informedness, numbers.silent_informedness
    status = informed_status(limit, among, worst)
    needed = None
    if status == "undecided":

        def holds(size: int) -> bool:
            failing = max(0, size - worst.catch.total)
            passing = max(0, size - worst.false_rejection.total)
            then = (one.further(failing, passing) for one in (among, worst))
            return informed_status(limit, *then) == "holds"

        needed = fewest(holds)
    reasons = of_informed(limit, status, among, worst, needed)
    seen, feared = of_informedness(among), of_informedness(worst)
    return Bound(INFORMEDNESS, limit, status, tuple(reasons), seen, feared, needed)
