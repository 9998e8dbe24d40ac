"""Each bound by the same rule: it holds, it fails, or there is not enough to decide.

A verifier that falls silent must not pass. So ``holds`` asks for two intervals: of what was
judged, and of the same with every missing verdict counted as a wrong one. ``failed`` asks for
the first alone: what was not said is no proof against the verifier.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rolewall.decision import Bound, BoundStatus, Measure, Rules
from rolewall.figures import percent
from rolewall.gating.measures import (
    Numbers,
    effective_events,
    fewest,
    informedness,
    of_rate,
    with_further,
)
from rolewall.stats import size_needed
from rolewall.tally import Rate
from rolewall.terminal import counted

__all__ = ["at_least", "at_most", "weigh"]


@dataclass(frozen=True)
class Words:
    """What a rate is of, in words."""

    name: str
    work: str  # which episodes it is of
    hides: str  # what silence may hide
    further: str  # what no further episode may be


APPROVALS = Words(
    "false approvals", " of failing work", "a false approval", "approved or left without a verdict"
)
REJECTIONS = Words(
    "false rejections",
    " of passing work",
    "a false rejection",
    "rejected or left without a verdict",
)
MISSING = Words("missing verdicts", "", "", "left without a verdict")
SURE = "informedness"


def weigh(numbers: Numbers, rules: Rules) -> Iterator[Bound]:
    """Every bound that was asked for on the rates of one side."""
    approvals, confidence = numbers.false_approvals, rules.confidence
    if (limit := rules.max_false_approval) is not None:
        yield _rate(APPROVALS, limit, approvals.excluded, approvals.as_approval, confidence)
    if (limit := rules.max_false_rejection) is not None:
        yield _rate(
            REJECTIONS, limit, numbers.false_rejections, numbers.silent_rejections, confidence
        )
    if (limit := rules.min_informedness) is not None:
        yield _informed(limit, numbers, confidence)
    if (limit := rules.max_missing) is not None:
        yield _rate(MISSING, limit, numbers.missing, numbers.missing, confidence)


def at_most(limit: float, seen: Measure, feared: Measure) -> BoundStatus:
    """Whether both are seen to keep an upper limit, the first to break it, or neither."""
    if seen.high <= limit and feared.high <= limit:
        return "holds"
    return "failed" if seen.low > limit else "undecided"


def at_least(limit: float, seen: Measure, feared: Measure) -> BoundStatus:
    """The same of a lower limit."""
    if seen.low >= limit and feared.low >= limit:
        return "holds"
    return "failed" if seen.high < limit else "undecided"


def _rate(words: Words, limit: float, among: Rate, worst: Rate, confidence: float) -> Bound:
    seen, feared = of_rate(among), of_rate(worst)
    status = at_most(limit, seen, feared)
    needed = None
    if status == "holds":
        high = percent(max(seen.high, feared.high))
        reasons = [f"the upper bound {high} is at most {percent(limit)}"]
    elif status == "failed":
        reasons = [f"the lower bound {percent(seen.low)} is above {percent(limit)}"]
    else:
        needed = _needed(limit, among, worst, confidence)
        reasons = _why_undecided(words, limit, seen, among, worst, needed)
    return Bound(words.name, limit, status, tuple(reasons), seen, feared, needed)


def _needed(limit: float, among: Rate, worst: Rate, confidence: float) -> int | None:
    sizes = [
        size_needed(limit, confidence, events=effective_events(rate), already=rate.effective)
        for rate in (among, worst)
    ]
    known = [size for size in sizes if size is not None]
    return max(known) if len(known) == len(sizes) else None


def _why_undecided(
    words: Words, limit: float, seen: Measure, among: Rate, worst: Rate, needed: int | None
) -> list[str]:
    episodes = f"{counted(worst.total, 'episode')}{words.work}"
    reasons = [f"{episodes}: not enough to decide on {percent(limit)}"]
    if seen.high <= limit:
        reasons = [
            f"the verifier gave no verdict on {worst.total - among.total} of {episodes},"
            f" and silence may hide {words.hides}"
        ]
    if needed is not None:
        reasons.append(
            f"{needed} in all, of different tasks, would hold if no further one is {words.further}"
        )
    if worst.effective < worst.total:
        reasons.append(
            f"trials of one task repeat one another: {worst.total} episodes over {worst.tasks}"
            f" tasks count as {worst.effective:.1f}; other tasks decide sooner than more trials"
        )
    return reasons


def _informed(limit: float, numbers: Numbers, confidence: float) -> Bound:
    approvals, rejections = numbers.false_approvals.as_approval, numbers.silent_rejections
    seen, feared = numbers.informedness, numbers.silent_informedness
    status = at_least(limit, seen, feared)
    needed = None
    if status == "holds":
        reasons = [f"the lower bound {min(seen.low, feared.low):.2f} is at least {limit:.2f}"]
    elif status == "failed":
        reasons = [f"the upper bound {seen.high:.2f} is below {limit:.2f}"]
    else:
        needed = _needed_of_each(limit, approvals, rejections, confidence)
        reasons = [
            f"{counted(approvals.total, 'episode')} of failing and {rejections.total} of passing"
            f" work: not enough to decide on {limit:.2f}"
        ]
        if needed is not None:
            reasons.append(
                f"{needed} of each in all, of different tasks, would hold if every further one"
                " is judged right"
            )
    return Bound(SURE, limit, status, tuple(reasons), seen, feared, needed)


def _needed_of_each(
    limit: float, approvals: Rate, rejections: Rate, confidence: float
) -> int | None:
    def holds(size: int) -> bool:
        wrong = (with_further(rate, size, confidence) for rate in (approvals, rejections))
        return informedness(*wrong).low >= limit

    return fewest(holds)
