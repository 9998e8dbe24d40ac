"""Blame as tables and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rolewall.blame.model import WORDS, Blame, Clue, Replayed
from rolewall.graders import Rate
from rolewall.terminal import Sheet

__all__ = ["blame_json", "blame_lines", "blame_sheets"]

STAGES = ("stage", "failures", "of", "rate", "95 %")
EPISODES = ("episode", "failed", "stage", "confidence", "replays", "seconds", "tokens", "by")
SHORT = 12
MOST_CLUES = 20
REFERENCE = "a reference/plan.json in the task would let a replay tell the plan from the execution"
REPLAYS = "`--replays --team TEAM --tasks PATH` plays it again, with one change each, and may tell"


def blame_sheets(found: Sequence[Blame]) -> list[Sheet]:
    """The table over a run: stages by how often, then the failures one by one."""
    failed = [one for one in found if one.stage != "none"]
    spared = Counter(one.failure for one in found if one.stage == "none")
    notes = [f"{spared['']} of {len(found)} episodes did not fail"]
    if spared["infrastructure"]:
        notes.append(f"{spared['infrastructure']} ended with the machine, and are not counted")
    stages = Sheet(
        title="blame",
        columns=STAGES,
        rows=tuple(_stage(word, rate) for word, rate in counts(failed)),
        notes=tuple(notes),
        numeric=frozenset({1, 2, 3, 4}),
        empty="no episode failed",
    )
    if not failed:
        return [stages]
    open_ = any(one.stage == "undecided" and not one.replays for one in failed)
    failures = Sheet(
        title="failures",
        columns=EPISODES,
        rows=tuple(_episode(one) for one in failed),
        notes=(f"undecided: {REPLAYS}",) if open_ else (),
        numeric=frozenset({3, 4, 5, 6}),
    )
    return [stages, failures]


def counts(failed: Sequence[Blame]) -> list[tuple[str, Rate]]:
    """How many of the failures each stage has, ``undecided`` among them."""
    by = Counter(one.stage for one in failed)
    return [(word, Rate(by[word], len(failed))) for word in WORDS if by[word]]


def _stage(word: str, rate: Rate) -> tuple[str, ...]:
    assert rate.rate is not None
    interval = f"{rate.low:.0%} to {rate.high:.0%}"
    return word, str(rate.count), str(rate.of), f"{rate.rate:.0%}", interval


def _episode(one: Blame) -> tuple[str, ...]:
    cost = one.cost
    return (
        _name(one),
        one.failure,
        _said(one),
        f"{one.confidence:.2f}",
        str(cost.replays),
        f"{cost.seconds:.1f}",
        "-" if cost.tokens is None else str(cost.tokens),
        one.decided,
    )


def _name(one: Blame) -> str:
    return f"{one.record.task}:{one.record.condition}:{one.record.trial}"


def _said(one: Blame) -> str:
    if one.stage == "undecided" and one.candidates:
        return f"undecided: {' or '.join(one.candidates)}"
    return one.stage


def blame_lines(one: Blame) -> list[str]:
    """One episode's blame with all that it rests on."""
    lines = [f"{_name(one)}: {_said(one)}"]
    if one.stage != "none":
        lines.append(f"confidence {one.confidence:.2f}: {one.decided}")
    else:
        lines.append(one.decided)
    lines += [_clue(clue) for clue in one.clues[:MOST_CLUES]]
    if (more := len(one.clues) - MOST_CLUES) > 0:
        lines.append(f"  {more} more that weigh no more; `--json` has all")
    lines += [_replay(replay) for replay in one.replays]
    lines += [f"not played: {note}" for note in one.notes]
    if one.stage == "undecided" and not one.replays and not one.notes:
        lines.append(REPLAYS)
    tried = {replay.change for replay in one.replays}
    if tried and "plan" not in tried and {"planning", "execution"} <= set(one.candidates):
        lines.append(REFERENCE)
    cost = one.cost
    if cost.replays:
        tokens = "" if cost.tokens is None else f", {cost.tokens} tokens"
        lines.append(f"cost: {cost.replays} replays, {cost.seconds:.1f} s{tokens}")
    return lines


def _clue(clue: Clue) -> str:
    digest = f" sha256:{clue.sha256[:SHORT]}" if clue.sha256 else ""
    return f"  {clue.weight:.2f} {clue.stage}: {clue.why} [{clue.file}: {clue.field}{digest}]"


def _replay(one: Replayed) -> str:
    word = {True: "passes", False: "fails", None: "cannot be told"}[one.passed]
    if one.played > 1:
        word += f" ({one.passes} of {one.times} pass)"
    why = f" ({one.why})" if one.why else ""
    told = f"grade {one.grade}, verdict {one.verdict}, {one.seconds:.1f} s"
    return f"  replay {one.change}: {word}{why}: {told} [{one.run}]"


def blame_json(found: Sequence[Blame]) -> dict[str, object]:
    failed = [one for one in found if one.stage != "none"]
    return {
        "episodes": len(found),
        "failures": len(failed),
        "stages": [
            {"stage": word, "count": rate.count, "of": rate.of, "rate": rate.rate,
             "low": rate.low, "high": rate.high}
            for word, rate in counts(failed)
        ],
        "blame": [_json(one) for one in found],
    }  # fmt: skip


def _json(one: Blame) -> dict[str, object]:
    return {
        "key": one.record.key,
        "episode": _name(one),
        "failure": one.failure,
        "stage": one.stage,
        "confidence": one.confidence,
        "candidates": list(one.candidates),
        "decided": one.decided,
        "evidence": [{name: getattr(clue, name) for name in Clue.__slots__} for clue in one.clues],
        "replays": [_replay_json(replay) for replay in one.replays],
        "not_played": list(one.notes),
        "cost": _cost(one),
    }


def _replay_json(one: Replayed) -> dict[str, object]:
    alike = None if one.alike is None else len(one.alike)
    return {name: getattr(one, name) for name in Replayed.__slots__} | {"alike": alike}


def _cost(one: Blame) -> dict[str, object]:
    cost = one.cost
    return {"replays": cost.replays, "seconds": cost.seconds, "tokens": cost.tokens}
