"""What a reader of a decision has to know beside it."""

from __future__ import annotations

from collections.abc import Iterator

from rolewall.gaterules import Rules
from rolewall.gating.admit import Side
from rolewall.gating.measures import Numbers
from rolewall.terminal import counted

__all__ = ["notes_of"]

CONFIDENCE = 0.95


def notes_of(side: Side, numbers: Numbers, rules: Rules) -> Iterator[str]:
    graded, total = side.graded, counted(len(side.graded), "episode")
    if rules.confidence != CONFIDENCE:
        yield f"the intervals are of {rules.confidence:g} confidence, not of {CONFIDENCE:g}"
    for why, number in side.apart.items():
        yield f"{counted(number, 'candidate')} left out: {why}"
    if not graded:
        return
    yield from _about_approvals(side, numbers)
    unstated = sum(row.trust is None for row in graded)
    if unstated:
        yield f"the trust of the grader is not stated in {unstated} of {total}"
    shared = sum(row.isolated is False for row in graded)
    if shared:
        refuses = "" if rules.require_isolated else " (--require-isolated refuses that)"
        yield (
            f"in {shared} of {total} the verdict was made beside the work it judged,"
            f" which could have changed it, or without sight of it{refuses}"
        )
    if side.repaired:
        yield (
            f"in {counted(side.repaired, 'episode')} the verifier itself turned failing work into"
            " passing work; the grade is of what it left"
        )
    if side.errors:
        yield f"{counted(side.errors, 'episode')} ended in error and enter no rate"
    if side.absent:
        yield f"{counted(side.absent, 'planned episode')} without a record are left out"


def _about_approvals(side: Side, numbers: Numbers) -> Iterator[str]:
    rejected = sum(row.verdict == "reject" for row in side.graded)
    if rejected and not any(row.verdict == "approve" for row in side.graded):
        yield (
            f"NOTHING WAS APPROVED: {rejected} of {counted(len(side.graded), 'episode')} rejected;"
            " a verifier that rejects everything has no false approval and is of no use"
            " (--max-false-rejection and --min-informedness bound that)"
        )
    if not numbers.false_rejections.total:
        yield "no verdict on passing work: whether it rejects good work was not seen"
