"""The decision: may this team's verifier be trusted with the merge button?

``holds`` (0), ``failed`` (1), ``refused`` (3 or 4) and ``undecided`` (4) all
come from one :class:`Decision`, which also makes the text and the JSON.

A verifier that falls silent must not pass. So ``holds`` asks for two bounds:
the false-approval rate among verdicts, and the same rate with every missing
verdict on failing work counted as a false approval. ``failed`` asks for the
first alone: what was not said is no proof against the verifier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rolewall.decision import Decision, Rules, Status
from rolewall.errors import InputError
from rolewall.records import Dataset
from rolewall.rows import Row, repeats
from rolewall.stats import size_needed
from rolewall.tables import percent
from rolewall.tally import (
    FalseApprovals,
    Rate,
    errored,
    false_approvals,
    false_rejections,
)
from rolewall.terminal import counted

__all__ = ["Decision", "Rules", "decide", "decide_dataset"]


def decide_dataset(found: Dataset, rules: Rules, condition: str | None = None) -> Decision:
    """Decide on one condition; planned episodes without a record are absent."""
    if found.run is None and condition is None and not found.rows:
        return decide((), rules)
    chosen = _choose(found.conditions, condition)
    return decide(found.rows, rules, chosen, absent=found.absent.get(chosen, 0))


def decide(
    rows: Sequence[Row],
    rules: Rules,
    condition: str | None = None,
    *,
    absent: int = 0,
) -> Decision:
    """Decide on the rows of one condition, ``absent`` more having been planned.

    Raises InputError when the rows hold several conditions and none is
    named, when they mix sources, or when one is there twice.
    """
    if condition is None and rows:
        condition = _choose(sorted({r.condition for r in rows}), None)
    chosen = [r for r in rows if r.condition == condition]
    for words in repeats(chosen):
        raise InputError(words, expected="each once")
    _one_source(chosen)
    graded = [r for r in chosen if not errored(r)]
    numbers = false_approvals(graded, rules.confidence) if graded else None
    errors = len(chosen) - len(graded)
    refusal = _refusal(graded, rules, errors, absent)
    if refusal or numbers is None:
        status: Status = "refused" if refusal else "undecided"
        code, reasons = refusal or (4, ("no episode was evaluated",))
        needed = None if refusal else size_needed(rules.max_false_approval, rules.confidence)
    else:
        status, code, reasons, needed = _weigh(numbers, rules)
    return Decision(
        status=status,
        exit_code=code,
        condition=condition or "(none)",
        rules=rules,
        reasons=reasons,
        episodes=len(chosen),
        errors=errors,
        absent=absent,
        numbers=numbers,
        needed=needed,
        false_rejections=false_rejections(graded, rules.confidence) if graded else None,
        repaired=sum(r.repaired for r in graded),
        phases_failed=_failures(chosen),
    )


def _choose(conditions: Sequence[str], asked: str | None) -> str:
    if asked is None and len(conditions) == 1:
        return conditions[0]
    if asked is None or asked not in conditions:
        raise InputError(
            "the gate decides on one condition at a time" if asked is None else "no such condition",
            place="--condition",
            got=asked,
            expected=f"one of {', '.join(conditions)}",
        )
    return asked


def _one_source(rows: Sequence[Row]) -> None:
    """Refuse to pool what was not made in one way."""
    for what, values in (
        ("teams", {f"{r.source.team} {r.source.team_digest[:12]}".strip() for r in rows}),
        ("backends", {r.source.backend for r in rows}),
        ("versions of rolewall's code", {r.source.code[:16] or "none" for r in rows}),
    ):
        if len(values) > 1:
            raise InputError(
                f"the records come from several {what}",
                got=", ".join(sorted(values)),
                expected="one source at a time",
            )
    # A task may bring an image of its own, so images are compared within a task.
    seen: dict[str, tuple[str, str]] = {}
    for row in rows:
        version = (row.version, row.image)
        if seen.setdefault(row.task, version) != version:
            raise InputError(
                "the records hold two versions of a task, or two images for it",
                got=row.task,
                expected="one source at a time",
            )


def _refusal(
    graded: Sequence[Row], rules: Rules, errors: int, absent: int
) -> tuple[int, tuple[str, ...]] | None:
    """Why these records may not be weighed at all, with the exit code."""
    if errors > rules.max_errors:
        return 3, (
            f"{counted(errors, 'episode')} ended in error and at most {rules.max_errors} may;"
            " an error says nothing about the verifier, and nothing may gain by causing one",
        )
    if not graded:
        return None
    if absent and not rules.allow_partial:
        return 4, (
            f"the run is incomplete: {counted(absent, 'planned episode')} without a record;"
            " run it again to resume, or pass --allow-partial",
        )
    untrusted = sum(r.trust == "untrusted" for r in graded)
    if untrusted:
        return 4, (
            f"{untrusted} of {len(graded)} episodes were graded by an untrusted grader,"
            " which runs code that roles could write; such grades are never gated",
        )
    shared = sum(r.isolated is not True for r in graded)
    if rules.require_isolated and shared:
        return 4, (
            f"in {shared} of {len(graded)} episodes the verdict was not isolated from the work"
            " it judged, and --require-isolated is given",
        )
    return None


def _failures(rows: Sequence[Row]) -> dict[str, int]:
    return dict(sorted(Counter(word for row in rows for word in row.failures).items()))


def _weigh(
    numbers: FalseApprovals, rules: Rules
) -> tuple[Status, int, tuple[str, ...], int | None]:
    limit, among, worst = rules.max_false_approval, numbers.excluded, numbers.as_approval
    if _high(among) <= limit and _high(worst) <= limit:
        why = f"the upper bound {percent(_high(worst))} is at most {percent(limit)}"
        return "holds", 0, (why,), None
    if among.interval is not None and among.interval.low > limit:
        low = among.interval.low
        return "failed", 1, (f"the lower bound {percent(low)} is above {percent(limit)}",), None
    needed = size_needed(
        limit, rules.confidence, events=_effective_events(worst), already=worst.effective
    )
    return "undecided", 4, _why_undecided(numbers, rules, needed), needed


def _why_undecided(numbers: FalseApprovals, rules: Rules, needed: int | None) -> tuple[str, ...]:
    limit, worst = rules.max_false_approval, numbers.as_approval
    seen = f"{counted(worst.total, 'episode')} of failing work"
    reasons = [f"{seen}: not enough to decide on {percent(limit)}"]
    if _high(numbers.excluded) <= limit:
        reasons = [
            f"the verifier gave no verdict on {numbers.missing} of {seen},"
            " and silence may hide a false approval"
        ]
    if needed is not None:
        reasons.append(
            f"{needed} in all, of different tasks, would hold if no further one is approved"
            " or left without a verdict"
        )
    if worst.effective < worst.total:
        reasons.append(
            f"trials of one task repeat one another: {worst.total} episodes over {worst.tasks}"
            f" tasks count as {worst.effective:.1f}; other tasks decide sooner than more trials"
        )
    return tuple(reasons)


def _high(rate: Rate) -> float:
    """The upper bound; 1 where nothing was seen."""
    return rate.interval.high if rate.interval else 1.0


def _effective_events(rate: Rate) -> float:
    return rate.events / rate.total * rate.effective if rate.total else 0.0
