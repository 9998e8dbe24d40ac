"""Rates of the accounting over several tasks, with the interval of their clusters.

What a rate counts, and of what, is ``graders``' accounting. Trials of one task are
one cluster: they repeat one another, so the interval is taken at an effective size.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from rolewall.graders import TREATMENTS, Accounting, Cells, Grade, Treatment, Verdict, newcombe
from rolewall.graders import Rate as TaskRate
from rolewall.stats import Interval, clustered_wilson, effective_size

if TYPE_CHECKING:
    from rolewall.rows import Judged

AnyJudged = TypeVar("AnyJudged", bound="Judged")

__all__ = [
    "FalseApprovals",
    "Informedness",
    "Measures",
    "Rate",
    "accounts",
    "false_approvals",
    "false_approvals_of",
    "false_rejections",
    "informedness",
    "measures",
    "passes",
    "pooled",
    "rate_of",
]


@dataclass(frozen=True)
class Rate:
    """``events`` of ``total`` episodes over ``tasks`` tasks, with its interval.

    ``effective`` is the number of independent episodes they are worth; ``rate``
    and ``interval`` are ``None`` when there is nothing to divide by.
    """

    events: int
    total: int
    tasks: int
    effective: float
    interval: Interval | None

    @property
    def rate(self) -> float | None:
        return self.events / self.total if self.total else None


@dataclass(frozen=True)
class FalseApprovals:
    """The false-approval rate under each treatment of missing verdicts.

    Given a failing grade: ``excluded``, approvals among approve and reject;
    ``as_reject``, a missing verdict counts as a reject; ``as_approval``, it
    counts as a false approval, the most it can hide. ``verifier_failure`` is of
    all graded episodes: wrong verdicts and missing ones. ``missing`` counts
    missing verdicts on failing work.
    """

    excluded: Rate
    as_reject: Rate
    as_approval: Rate
    verifier_failure: Rate
    missing: int


@dataclass(frozen=True)
class Informedness:
    """Catch rate less false-rejection rate: 1 is always right, 0 tells nothing apart.

    ``value`` and ``interval`` (Newcombe's, on the effective sizes of the two rates) are
    ``None`` unless there is failing and passing work.
    """

    catch: Rate
    false_rejection: Rate
    value: float | None
    interval: Interval | None


@dataclass(frozen=True)
class Measures:
    """How a verifier judged, with missing verdicts treated in one way.

    ``failure`` is what ``accuracy`` leaves, ``false_approval`` what ``catch`` leaves."""

    false_approval: Rate
    catch: Rate
    false_rejection: Rate
    precision: Rate
    accuracy: Rate
    failure: Rate
    informedness: Informedness


def accounts(records: Iterable[Judged], *, verified: bool = True) -> list[Accounting]:
    """Verdict by grade, task by task. Under a condition without a verifier nobody was
    asked for a verdict: ``verified`` leaves such episodes out."""
    counted = Counter((r.task, r.verdict, r.grade) for r in records if r.verified or not verified)
    by_task: dict[str, dict[tuple[Verdict, Grade], int]] = defaultdict(dict)
    for (task, verdict, grade), number in counted.items():
        by_task[task][verdict, grade] = number
    # Very many tasks have few different counts: equal ones share an account.
    known: dict[frozenset[tuple[tuple[Verdict, Grade], int]], Accounting] = {}
    made = []
    for counts in by_task.values():
        key = frozenset(counts.items())
        if key not in known:
            known[key] = Accounting(Counter(counts))
        made.append(known[key])
    return made


def pooled(
    tasks: Iterable[Accounting],
    rate: Callable[[Accounting], TaskRate],
    confidence: float = 0.95,
) -> Rate:
    """One rate of the accounting over several tasks."""
    accounts_of = list(tasks)
    rates = {id(task): rate(task) for task in {id(task): task for task in accounts_of}.values()}
    found = (rates[id(task)] for task in accounts_of)
    return _over([(r.count, r.of) for r in found if r.of], confidence)


def rate_of(
    records: Iterable[AnyJudged], event: Callable[[AnyJudged], bool], confidence: float = 0.95
) -> Rate:
    """How many of ``records``, all of them, ``event`` holds for."""
    by_task: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for record in records:
        found = by_task[record.task]
        found[0] += event(record)
        found[1] += 1
    return _over([(count, of) for count, of in by_task.values()], confidence)


def _over(clusters: Sequence[tuple[int, int]], confidence: float) -> Rate:
    return Rate(
        events=sum(count for count, _ in clusters),
        total=sum(of for _, of in clusters),
        tasks=len(clusters),
        effective=effective_size(clusters),
        interval=clustered_wilson(clusters, confidence),
    )


def passes(records: Iterable[Judged], confidence: float = 0.95) -> Rate:
    """Passing work among graded episodes, with or without a verifier."""
    return pooled(accounts(records, verified=False), lambda t: t.passed, confidence)


def false_approvals(records: Sequence[Judged], confidence: float = 0.95) -> FalseApprovals:
    """The false-approval rate of records without errors."""
    return false_approvals_of(accounts(records), confidence)


def false_approvals_of(tasks: Sequence[Accounting], confidence: float = 0.95) -> FalseApprovals:
    """The same of tasks that are accounted for already."""
    return FalseApprovals(
        excluded=pooled(tasks, lambda t: t.false_approval, confidence),
        as_reject=pooled(tasks, lambda t: t.false_approval_missing_as_reject, confidence),
        as_approval=pooled(tasks, lambda t: t.false_approval_missing_as_approval, confidence),
        verifier_failure=pooled(tasks, lambda t: t.verifier_failure, confidence),
        missing=sum(t.counts["missing", "fail"] for t in tasks),
    )


def false_rejections(records: Sequence[Judged], confidence: float = 0.95) -> Rate:
    """Rejects among verdicts on passing work, of records without errors."""
    return pooled(accounts(records), lambda t: t.false_rejection, confidence)


def informedness(
    records: Sequence[Judged], treatment: Treatment = "excluded", confidence: float = 0.95
) -> Informedness:
    """Of records without errors."""
    return _informedness(accounts(records), treatment, confidence)


def measures(records: Sequence[Judged], confidence: float = 0.95) -> dict[Treatment, Measures]:
    """Everything about the verifier, under each treatment, of records without errors."""
    tasks = accounts(records)
    return {treatment: _measures(tasks, treatment, confidence) for treatment in TREATMENTS}


def _measures(tasks: Sequence[Accounting], treatment: Treatment, confidence: float) -> Measures:
    def over(rate: Callable[[Cells], TaskRate]) -> Rate:
        return pooled(tasks, lambda task: rate(task.under(treatment)), confidence)

    return Measures(
        false_approval=over(lambda cells: cells.false_approval),
        catch=over(lambda cells: cells.catch),
        false_rejection=over(lambda cells: cells.false_rejection),
        precision=over(lambda cells: cells.precision),
        accuracy=over(lambda cells: cells.accuracy),
        failure=over(lambda cells: cells.failure),
        informedness=_informedness(tasks, treatment, confidence),
    )


def _informedness(
    tasks: Sequence[Accounting], treatment: Treatment, confidence: float
) -> Informedness:
    catch = pooled(tasks, lambda task: task.under(treatment).catch, confidence)
    rejected = pooled(tasks, lambda task: task.under(treatment).false_rejection, confidence)
    if None in (catch.rate, rejected.rate) or not (catch.interval and rejected.interval):
        return Informedness(catch, rejected, None, None)
    first, second = catch.events / catch.total, rejected.events / rejected.total
    interval = newcombe(
        (first, catch.interval.low, catch.interval.high),
        (second, rejected.interval.low, rejected.interval.high),
    )
    return Informedness(catch, rejected, first - second, Interval(*interval))
