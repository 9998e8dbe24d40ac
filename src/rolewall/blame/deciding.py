"""From clues and replays to a stage, or to none.

The rule: a stage weighs as much as its heaviest clue. The heaviest is named if it weighs at
least ``LEAST`` and ``MARGIN`` more than any other; else the episode is undecided. Replays come
before clues.
"""

from __future__ import annotations

from collections.abc import Sequence

from rolewall.blame.byreplays import by_replays, refuted
from rolewall.blame.facts import Facts
from rolewall.blame.model import STAGES, Blame, Clue, Named, Replayed, Stage

__all__ = ["LEAST", "MARGIN", "decide"]

LEAST = 0.5
MARGIN = 0.2
SHOWN_BY_REPLAY = 0.9
AGREED = 0.05


def decide(
    facts: Facts,
    clues: Sequence[Clue],
    replays: Sequence[Replayed] = (),
    *,
    chance: bool = False,
    notes: Sequence[str] = (),
) -> Blame:
    """The stage to blame.

    Args:
        chance: whether a role plays that does not do the same again.
    """
    weights = _weights(clues)
    heaviest = max(weights, key=lambda stage: weights[stage], default=None)
    for stage in refuted(facts, replays):
        weights.pop(stage, None)
    order = sorted(weights, key=lambda stage: -weights[stage])
    named, confidence, decided = _by_clues(facts, weights, order)
    candidates = _candidates(named, order, weights)
    if replays and (ruled := by_replays(facts, clues, weights, replays, chance=chance)):
        named, decided = ruled.stage, ruled.why
        confidence = _shown(named, replays, agreed=named == heaviest, chance=chance)
        candidates = ruled.among or _candidates(named, order, weights)
    return Blame(
        record=facts.record,
        failure=facts.failure,
        stage=named,
        confidence=round(confidence, 2),
        candidates=candidates,
        decided=decided,
        clues=tuple(clues),
        replays=tuple(replays),
        notes=tuple(notes),
    )


def _weights(clues: Sequence[Clue]) -> dict[Stage, float]:
    return {
        stage: max(clue.weight for clue in clues if clue.stage == stage)
        for stage in STAGES
        if any(clue.stage == stage for clue in clues)
    }


def _by_clues(
    facts: Facts, weights: dict[Stage, float], order: list[Stage]
) -> tuple[Named, float, str]:
    if facts.failure in ("", "infrastructure"):
        why = "nothing failed" if not facts.failure else "the machine failed, and no role"
        return "none", 1.0, why
    if not order:
        return "undecided", 0.0, "nothing in the record speaks for a stage"
    first, second = weights[order[0]], weights[order[1]] if len(order) > 1 else 0.0
    if first < LEAST:
        return "undecided", 0.0, f"no stage weighs {LEAST}"
    if first - second < MARGIN - 1e-9:
        return "undecided", 0.0, f"{order[0]} and {order[1]} are within {MARGIN} of one another"
    return order[0], first - second / 2, "the heaviest clue, less half of the next stage's"


def _candidates(named: Named, order: list[Stage], weights: dict[Stage, float]) -> tuple[Stage, ...]:
    if named == "undecided":
        return tuple(s for s in order if weights[s] > weights[order[0]] - MARGIN + 1e-9)
    return tuple(stage for stage in STAGES if stage == named)


def _shown(stage: Named, replays: Sequence[Replayed], *, agreed: bool, chance: bool) -> float:
    if stage == "undecided":
        return 0.0
    base = SHOWN_BY_REPLAY
    if chance:
        base = min(base, *(_held(one) for one in replays if one.times))
    return base + (AGREED if agreed else -AGREED)


def _held(one: Replayed) -> float:
    """How likely the change does the next time what it did most times: Laplace's rule."""
    most = max(one.passes, one.times - one.passes)
    return (most + 1) / (one.times + 2)
