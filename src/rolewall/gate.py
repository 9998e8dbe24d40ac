"""The decision: may this team's verifier be trusted with the merge button?

``holds`` (0), ``failed`` (1), ``refused`` (3 or 4) and ``undecided`` (4) all come from one
:class:`Decision`, which every output is made from. Each bound that was asked for is weighed
by the same rule (``gating.weigh``); the worst decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rolewall.decision import Bound, Decision, Status
from rolewall.errors import InputError, RolewallError
from rolewall.gaterules import Rules
from rolewall.gating import (
    Held,
    Numbers,
    Side,
    admit,
    choose,
    hold_to_baseline,
    notes_of,
    take_numbers,
    weigh,
)
from rolewall.gating.measures import of_informedness
from rolewall.gating.words import APPROVALS, REPEAT
from rolewall.records import Dataset
from rolewall.rows import Row

__all__ = ["Decision", "Rules", "decide", "decide_dataset", "not_decided"]

CODES: dict[Status, int] = {"failed": 1, "undecided": 4, "holds": 0}  # the worst first
BY_WEIGHT = tuple(CODES)


def decide_dataset(
    found: Dataset,
    rules: Rules,
    condition: str | None = None,
    *,
    baseline: Dataset | None = None,
) -> Decision:
    """Decide on one condition; planned episodes without a record are absent.

    ``baseline`` is what ``rules.margin`` is about, under the same condition.
    """
    if found.run is None and condition is None and not found.rows:
        made = decide((), rules, baseline=baseline, place=found.place)
    else:
        chosen = choose(found.conditions, condition)
        absent = found.absent.get(chosen, 0)
        made = decide(
            found.rows, rules, chosen, absent=absent, baseline=baseline, place=found.place
        )
    read = [
        *found.notes,
        *(f"the baseline: {note}" for note in (baseline.notes if baseline else ())),
    ]
    return replace(made, notes=(*made.notes, *read), **(found.head() if found.run else {}))


def decide(
    rows: Sequence[Row],
    rules: Rules,
    condition: str | None = None,
    *,
    absent: int = 0,
    baseline: Dataset | None = None,
    place: str = "",
) -> Decision:
    """Decide on the rows of one condition, ``absent`` more having been planned.

    Raises InputError when the rows hold several conditions and none is named, when they mix
    sources, when one is there twice, when there is no verifier, and when of ``baseline`` and
    ``rules.margin`` one is given without the other, or the baseline has no task in common.
    """
    side = admit(rows, rules, condition, absent=absent, place=place)
    held = _hold(side, rules, baseline)
    numbers = take_numbers(side.graded, rules.confidence)
    refusal = side.refusal or (held.refusal if held else None)
    bounds = () if refusal else (*weigh(numbers, rules), *([held.bound] if held else []))
    status, code, reasons = _outcome(side, refusal, bounds)
    return Decision(
        status=status,
        exit_code=code,
        place=place,
        condition=side.condition,
        rules=rules,
        reasons=reasons,
        notes=(*notes_of(side, numbers, rules), *(held.notes if held else ())),
        bounds=bounds,
        needed=next((bound.needed for bound in bounds if bound.name == APPROVALS.name), None),
        baseline=held.baseline if held else None,
        phases_failed=side.failures,
        episodes=len(side.rows),
        errors=side.errors,
        absent=side.absent,
        repaired=side.repaired,
        **(_numbers(numbers) if side.graded else {}),
    )


def not_decided(error: RolewallError, place: str = "") -> Decision:
    """What stands in the files of a decision when there can be none."""
    return Decision(
        status="refused",
        exit_code=error.exit_code,
        place=place,
        condition="(none)",
        rules=None,
        reasons=(str(error),),
    )


def _hold(side: Side, rules: Rules, baseline: Dataset | None) -> Held | None:
    if baseline is None and rules.margin is None:
        return None
    if baseline is None or rules.margin is None:
        raise InputError(
            "a baseline needs a margin, and a margin a baseline",
            place="--baseline" if baseline is None else "--margin",
            expected="both, or neither",
        )
    condition = choose(baseline.conditions, side.condition, "--baseline")
    absent = baseline.absent.get(condition, 0)
    there = admit(baseline.rows, rules, condition, absent=absent, place=baseline.place)
    return hold_to_baseline(side, there, rules, rules.margin, baseline.place)


def _outcome(
    side: Side, refusal: tuple[int, str] | None, bounds: Sequence[Bound]
) -> tuple[Status, int, tuple[str, ...]]:
    if refusal is not None:
        return "refused", refusal[0], (refusal[1],)
    status = min((bound.status for bound in bounds), key=BY_WEIGHT.index)
    ordered = sorted(bounds, key=lambda bound: BY_WEIGHT.index(bound.status))
    reasons = [reason for bound in ordered for reason in _reasons(bound, len(bounds))]
    if any(REPEAT in bound.reasons for bound in bounds):
        reasons.append(REPEAT)
    if len(bounds) > 1:
        hold = sum(bound.status == "holds" for bound in bounds)
        reasons.insert(0, f"{hold} of {len(bounds)} bounds hold")
    if not side.graded:
        reasons.insert(0, "no episode was evaluated")
    return status, CODES[status], tuple(reasons)


def _reasons(bound: Bound, of: int) -> Iterator[str]:
    for reason in bound.reasons:
        if reason == REPEAT:  # said once of all bounds
            continue
        yield f"{bound.name}, {bound.status}: {reason}" if of > 1 else reason


def _numbers(numbers: Numbers) -> dict[str, Any]:
    return {
        "numbers": numbers.false_approvals,
        "false_rejections": numbers.false_rejections,
        "missing": numbers.missing,
        "informedness": of_informedness(numbers.informedness),
    }
