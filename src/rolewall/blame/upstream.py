"""Clues that lie before the executor's turn: in the plan, and in how it was handed on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rolewall.blame.facts import Facts
from rolewall.blame.model import Clue
from rolewall.measures import Handed, Hop
from rolewall.roles import Evidence

__all__ = ["handoff_clues", "planning_clues", "stale"]

BINDS = ("status", "prerequisite", "authority", "forbids", "fallback", "consequence")
"""Fields of a condition that tell whether and how it binds."""
ALTERED = ("status", "prerequisite", "authority", "forbids")
"""Of those, the ones that another value makes another condition."""
LOOSE = 0.7  # nothing says that the failure has to do with it
WRONG = ("is not what its author's digest says", "does not exist")


def planning_clues(facts: Facts) -> Iterator[Clue]:
    """What the plan lacks or gets wrong."""
    if not (facts.by_executor and facts.planned):
        return
    plans = facts.files.of("planner")
    if not plans:
        return
    last = plans[-1]
    file = f"handoffs/{last.phase.name}.json"
    if not (last.whole.steps or last.whole.text.strip() or last.beside.strip()):
        why = "the planner left no plan"
        yield Clue("planning", 0.8, why, file, "text", last.digest, alone=True)
    for item in sorted(facts.recall.against.get("plan", ())):
        why = f"the plan contradicts {item} of the specification"
        yield Clue("planning", 0.9, why, file, item, last.digest, alone=True)
    for item in facts.omitted:
        if item not in facts.recall.against.get("plan", ()):
            why = f"the plan does not tell {item} of the specification"
            yield Clue("planning", 0.8, why, file, item, last.digest, alone=True)


def handoff_clues(facts: Facts) -> Iterator[Clue]:
    """What was there upstream and did not arrive, or was no longer so when it did."""
    if not facts.by_executor:
        return
    for hop in facts.hops:
        if hop.phase in facts.arriving:
            yield from _lost(facts, hop)
    yield from _items(facts)
    yield from _stale(facts)
    yield from _artifacts(facts)


def _lost(facts: Facts, hop: Hop) -> Iterator[Clue]:
    """Of conditions the fields that say whether and how they bind, of steps how many."""
    weight = 0.85 if facts.tried else LOOSE
    over = {e.condition for e in facts.record.conditions if e.event == "discharged"}
    absent = {gone.id for gone in hop.deactivated if gone.how == "absent"} - over
    for name in sorted(absent):
        why = f"condition {name} was open, and is not in what was {hop.kind}"
        yield Clue("handoff", weight, why, hop.file, f"conditions.{name}", hop.sha256)
    cut = [fate for fate in hop.lost if fate.item == "step"]
    for fate in hop.lost:
        telling = fate.field in (ALTERED if fate.present else BINDS)
        if fate.item == "condition" and fate.id not in absent | over and telling:
            how = "says something else" if fate.present else "is lost"
            why = f"{fate.field} of condition {fate.id} {how} in what was {hop.kind}"
            place = f"conditions.{fate.id}.{fate.field}"
            yield Clue("handoff", weight, why, hop.file, place, hop.sha256)
    if cut:
        why = f"{len(cut)} fields of the plan's steps were not shown"
        yield Clue("handoff", 0.5, why, hop.file, f"steps.{cut[0].id}.{cut[0].field}", hop.sha256)


def _items(facts: Facts) -> Iterator[Clue]:
    told, recall = facts.recall.told, facts.recall
    acted = told.get("calls", frozenset())
    plans = facts.files.of("planner")
    for item in sorted(told.get("plan", frozenset()) - told.get("handoff", frozenset()) - acted):
        if item in recall.declared and plans:
            last = plans[-1]
            why = f"the plan tells {item}, and the executor was not shown it"
            yield Clue("handoff", 0.85, why, f"handoffs/{last.phase.name}.shown.json", item,
                       last.shown_digest, alone=True)  # fmt: skip


def _stale(facts: Facts) -> Iterator[Clue]:
    for handed, one in stale(facts):
        why = f"{one.id} ({one.tool}) was out of date when it was handed over, and not renewed"
        weight = 0.75 if _another(one, _later(facts, one)) else LOOSE
        yield Clue("handoff", weight, why, f"handoffs/{handed.phase.name}.json",
                   f"evidence.{one.id}", handed.digest)  # fmt: skip


def _later(facts: Facts, one: Evidence) -> list[Evidence]:
    """What the same call gave afterwards, until the executor's last turn was over."""
    until = facts.executor.ended if facts.executor else 0.0
    return [
        later
        for later in facts.files.evidence
        if one.asks_same(later) and one.started < later.started <= until and later.ok
    ]


def _another(one: Evidence, later: Sequence[Evidence]) -> bool:
    return any(each.result != one.result for each in later)


def stale(facts: Facts) -> Iterator[tuple[Handed, Evidence]]:
    """Evidence handed to the executor that was out of date when its turn began, or that the same
    call gave another result for before that turn was over, and that nobody got anew for it. What
    a tool says later is nothing that could have been handed on."""
    phase = facts.executor
    if phase is None:
        return
    shown = {
        one.id
        for handed in facts.files.handoffs
        if handed.phase.index in facts.arriving
        for one in handed.shown.evidence
    }
    for handed in facts.files.handoffs:
        if handed.phase.role == "executor" or handed.phase.index > phase.index:
            continue
        for one in handed.evidence:
            if one.source != "broker" or not one.ok:
                continue
            later = _later(facts, one)
            renewed = any(e.role == "executor" and e.origin == "live" for e in later)
            over = one.fresh_until is not None and one.fresh_until < phase.started
            superseded = any(e.role == one.role or e.id in shown for e in later)
            if (over or _another(one, later)) and not renewed and not superseded:
                yield handed, one


def _artifacts(facts: Facts) -> Iterator[Clue]:
    for handed in facts.files.of("planner"):
        for problem in handed.whole.problems:
            if problem.startswith("artifact ") and problem.endswith(WRONG):
                yield Clue("handoff", LOOSE, problem, f"handoffs/{handed.phase.name}.json",
                           "problems", handed.digest)  # fmt: skip
