"""Rates of the accounting over several tasks, with the interval of their clusters.

What a rate counts, and of what, is ``graders``' accounting. Trials of one task are
one cluster: they repeat one another, so the interval is taken at an effective size.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from rolewall.clusterrates import Informedness, Rate
from rolewall.clusters import Moments, Shared
from rolewall.graders import TREATMENTS, Accounting, Cells, Grade, Treatment, Verdict
from rolewall.graders import Rate as TaskRate

if TYPE_CHECKING:
    from rolewall.rows import Judged

AnyJudged = TypeVar("AnyJudged", bound="Judged")

__all__ = [
    "FalseApprovals",
    "Measures",
    "accounts",
    "false_approvals",
    "false_approvals_of",
    "false_rejections",
    "informedness",
    "informedness_of",
    "measures",
    "passes",
    "pooled",
    "rate_of",
]


Counted = tuple[Accounting, int]
"""The accounting of a task, and how many tasks have just this one."""


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


def accounts(records: Iterable[Judged], *, verified: bool = True) -> list[Counted]:
    """Verdict by grade, task by task. Under a condition without a verifier nobody was
    asked for a verdict: ``verified`` leaves such episodes out."""
    counted = Counter((r.task, r.verdict, r.grade) for r in records if r.verified or not verified)
    by_task: dict[str, dict[tuple[Verdict, Grade], int]] = defaultdict(dict)
    for (task, verdict, grade), number in counted.items():
        by_task[task][verdict, grade] = number
    # Very many tasks have few different counts.
    alike = Counter(frozenset(counts.items()) for counts in by_task.values())
    return [(Accounting(Counter(dict(counts))), tasks) for counts, tasks in alike.items()]


def pooled(
    tasks: Iterable[Counted],
    rate: Callable[[Accounting], TaskRate],
    confidence: float = 0.95,
) -> Rate:
    """One rate of the accounting over several tasks."""
    found = ((rate(account), times) for account, times in tasks)
    return Rate(Moments.of_rate((r.count, r.of, times) for r, times in found), confidence)


def rate_of(
    records: Iterable[AnyJudged], event: Callable[[AnyJudged], bool], confidence: float = 0.95
) -> Rate:
    """How many of ``records``, all of them, ``event`` holds for."""
    by_task: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for record in records:
        found = by_task[record.task]
        found[0] += event(record)
        found[1] += 1
    return Rate(Moments.of_rate((count, of, 1) for count, of in by_task.values()), confidence)


def passes(records: Iterable[Judged], confidence: float = 0.95) -> Rate:
    """Passing work among graded episodes, with or without a verifier."""
    return pooled(accounts(records, verified=False), lambda t: t.passed, confidence)


def false_approvals(records: Sequence[Judged], confidence: float = 0.95) -> FalseApprovals:
    """The false-approval rate of records without errors."""
    return false_approvals_of(accounts(records), confidence)


def false_approvals_of(tasks: Sequence[Counted], confidence: float = 0.95) -> FalseApprovals:
    """The same of tasks that are accounted for already."""
    return FalseApprovals(
        excluded=pooled(tasks, lambda t: t.false_approval, confidence),
        as_reject=pooled(tasks, lambda t: t.false_approval_missing_as_reject, confidence),
        as_approval=pooled(tasks, lambda t: t.false_approval_missing_as_approval, confidence),
        verifier_failure=pooled(tasks, lambda t: t.verifier_failure, confidence),
        missing=sum(times * t.counts["missing", "fail"] for t, times in tasks),
    )


def false_rejections(records: Sequence[Judged], confidence: float = 0.95) -> Rate:
    """Rejects among verdicts on passing work, of records without errors."""
    return pooled(accounts(records), lambda t: t.false_rejection, confidence)


def informedness(
    records: Sequence[Judged], treatment: Treatment = "excluded", confidence: float = 0.95
) -> Informedness:
    """Of records without errors."""
    return informedness_of(accounts(records), treatment, confidence)


def measures(records: Sequence[Judged], confidence: float = 0.95) -> dict[Treatment, Measures]:
    """Everything about the verifier, under each treatment, of records without errors."""
    tasks = accounts(records)
    return {treatment: _measures(tasks, treatment, confidence) for treatment in TREATMENTS}


def _measures(tasks: Sequence[Counted], treatment: Treatment, confidence: float) -> Measures:
    def over(rate: Callable[[Cells], TaskRate]) -> Rate:
        return pooled(tasks, lambda task: rate(task.under(treatment)), confidence)

    return Measures(
        false_approval=over(lambda cells: cells.false_approval),
        catch=over(lambda cells: cells.catch),
        false_rejection=over(lambda cells: cells.false_rejection),
        precision=over(lambda cells: cells.precision),
        accuracy=over(lambda cells: cells.accuracy),
        failure=over(lambda cells: cells.failure),
        informedness=informedness_of(tasks, treatment, confidence),
    )


def informedness_of(
    tasks: Sequence[Counted], treatment: Treatment, confidence: float = 0.95
) -> Informedness:
    """The same of tasks that are accounted for already."""
    cells = [(task.under(treatment), times) for task, times in tasks]
    found = [(c.catch, c.false_rejection, times) for c, times in cells]
    return Informedness(
        Rate(Moments.of_rate((x.count, x.of, times) for x, _, times in found), confidence),
        Rate(Moments.of_rate((y.count, y.of, times) for _, y, times in found), confidence),
        Shared.of((x.count, x.of, y.count, y.of, times) for x, y, times in found),
    )
