"""What is said of a bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rolewall.clusterrates import Informedness, Rate
from rolewall.decision import BoundStatus, Measure
from rolewall.figures import limit_text, percent
from rolewall.terminal import counted

__all__ = [
    "APPROVALS",
    "INFORMEDNESS",
    "MISSING",
    "REJECTIONS",
    "REPEAT",
    "SHIFT",
    "Further",
    "Words",
    "highest",
    "of_informed",
    "of_rate_bound",
    "of_shift",
]


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
REPEAT = "trials of one task repeat one another; other tasks decide sooner than more trials"
INFORMEDNESS = "informedness"
SHIFT = "false approvals above the baseline"


@dataclass(frozen=True)
class Further:
    """How a difference from a baseline was seen, and what more of it would be."""

    of: str  # on what it was seen
    unit: str  # what would be more numerous, in all
    each: str  # what a further task gives
    right: str  # how each of these has to be judged


def of_rate_bound(
    words: Words, limit: float, status: BoundStatus, among: Rate, worst: Rate, needed: int | None
) -> Iterator[str]:
    """``among`` is the rate with missing verdicts excluded, in ``worst`` they are wrong."""
    high = max(map(highest, (among, worst)))
    if status == "holds":
        yield f"the upper bound {percent(high)} is at most {limit_text(limit)}"
    elif status == "failed":
        yield f"the lower bound {percent(among.exact.low)} is above {limit_text(limit)}"
    else:
        yield from _undecided(words, limit, among, worst)
        if needed is not None:
            yield (
                f"{needed} in all would hold: {counted(needed - worst.total, 'further task')}, one"
                f" trial each, none of them {words.further}"
            )
        if worst.effective < worst.total:
            yield REPEAT


def highest(rate: Rate) -> float:
    """The upper bound, by episodes and with each task weighed alike."""
    return max(found.high if found else 1.0 for found in (rate.interval, rate.alike))


def _kept(rate: Rate, limit: float) -> bool:
    return rate.interval is not None and rate.interval.high <= limit


def _undecided(words: Words, limit: float, among: Rate, worst: Rate) -> Iterator[str]:
    episodes = f"{counted(worst.total, 'episode')}{words.work}"
    if _kept(among, limit) and _kept(worst, limit):
        yield (
            f"some tasks have more of the {episodes} than others; with each task weighed alike the"
            f" upper bound is {percent(max(map(highest, (among, worst))))}, above"
            f" {limit_text(limit)}"
        )
        return
    if among.interval and among.interval.high <= limit:
        yield (
            f"the verifier gave no verdict on {worst.total - among.total} of {episodes},"
            f" and silence may hide {words.hides}"
        )
        return
    yield f"{episodes}: not enough to decide on {limit_text(limit)}"
    if among.interval and among.interval.low > limit:
        yield (
            f"the interval is above {limit_text(limit)}, but the exact lower bound"
            f" {percent(among.exact.low)} is not"
        )


def of_informed(
    limit: float, status: BoundStatus, among: Informedness, worst: Informedness, needed: int | None
) -> Iterator[str]:
    failing, passing = worst.catch.total, worst.false_rejection.total
    low = min(found.interval.low if found.interval else -1.0 for found in (among, worst))
    if status == "holds":
        yield f"the lower bound {low:.2f} is at least {limit:.2f}"
    elif status == "failed":
        yield f"the upper bound {among.exact.high:.2f} is below {limit:.2f}"
    else:
        yield (
            f"{counted(failing, 'episode')} of failing and {passing} of passing"
            f" work: not enough to decide on {limit:.2f}"
        )
        if among.interval and among.interval.high < limit:
            yield (
                f"the interval is below {limit:.2f}, but the exact upper bound"
                f" {among.exact.high:.2f} is not"
            )
        if needed is not None:
            yield (
                f"{needed} or more of each would hold: {max(0, needed - failing)} further of"
                f" failing and {max(0, needed - passing)} of passing work, each of another task,"
                " one trial each, all judged right"
            )


def of_shift(
    margin: float,
    status: BoundStatus,
    seen: Measure,
    feared: Measure,
    words: Further,
    more: tuple[int, int] | None,
) -> Iterator[str]:
    """``more``: how many would hold in all, and how many further ones these are."""
    allowed = f"{_points(margin)} are allowed ({words.of})"
    if status == "holds":
        high = _points(max(seen.high, feared.high))
        yield f"the difference is at most {high} points, and {allowed}"
    elif status == "failed":
        yield f"the difference is at least {_points(seen.low)} points, and {allowed}"
    else:
        if seen.high <= margin:
            yield f"silence may hide more, here or in the baseline: {allowed}"
        else:
            yield (
                f"not enough to decide: the difference may be {_points(seen.high)} points,"
                f" and {allowed}"
            )
        if more is None:
            yield "no amount of failing work here alone would hold: the baseline has too little"
        else:
            yield (
                f"{more[0]} {words.unit} would hold: {counted(more[1], 'further task')},"
                f" {words.each} each, {words.right}"
            )


def _points(difference: float) -> str:
    return f"{100 * difference:+.1f}"
