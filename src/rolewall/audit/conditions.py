"""What became of binding conditions, made again from the sealed handoffs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rolewall.episode import FOUND, KEPT, VIOLATION, Conditions
from rolewall.policies import HAS_WALL, Policy, Zone
from rolewall.record import EpisodeRecord, PhaseRecord
from rolewall.roles import Condition, SealedHandoff

__all__ = ["check_conditions"]


def check_conditions(record: EpisodeRecord, handoffs: Mapping[int, SealedHandoff]) -> Iterator[str]:
    """Where the record's events, what was held in a phase, or what kept the work from a
    verdict, are not what handoffs make them.

    Args:
        handoffs: phase → its handoff, of every phase that has one; their seals hold.
    """
    if not record.contracts or record.candidate:
        return  # of an earlier version, or of a calibration, in which nobody else has a turn
    conditions = Conditions(_policy(record), [*_given(record)])
    kept = {row.phase: row.held for row in record.verdicts}
    for phase in record.phases:
        held = conditions.held(phase.role)
        if kept.get(phase.index, ()) != (held.closed("workspace") if phase.index in kept else ()):
            yield f"what kept the work from the verdict of phase {phase.index} is not what held it"
        if phase.held != held.listed():
            yield f"what was held in phase {phase.index} is not what the handoffs before make it"
        if phase.index in handoffs:
            _hear(conditions, record, phase, handoffs[phase.index])
    # An episode that infrastructure ended may have sealed a handoff whose phase has no row.
    past = len(record.phases) if record.status == "error" else None
    said = [event for event in record.conditions if event.phase is None or event.phase != past]
    if said != conditions.log.events:
        yield "the events of conditions are not what the handoffs make them"


def _policy(record: EpisodeRecord) -> Policy:
    """As far as conditions go: who takes part, and the zones that a role owns."""
    zones = tuple(
        Zone(item.partition(":")[0], role)
        for role, contract in record.contracts.items()
        for item in contract.produces
    )
    wall = HAS_WALL.get(record.condition, True)
    return Policy(record.condition, tuple(record.contracts), zones, {}, single_writer=wall)


def _given(record: EpisodeRecord) -> Iterator[Condition]:
    for event in record.conditions:
        if event.phase is None:
            yield Condition(
                id=event.condition,
                statement="the task's",
                authority=event.authority,
                prerequisite=event.prerequisite,
                forbids=list(event.forbids),
            )


def _hear(
    conditions: Conditions, record: EpisodeRecord, phase: PhaseRecord, handoff: SealedHandoff
) -> None:
    row = next((row for row in record.verdicts if row.phase == phase.index), None)
    if row and row.verdict == "approve" and row.step:
        conditions.step_approved(phase.role, row.step)
    if KEPT in handoff.problems or FOUND in handoff.problems:
        return
    unheard = VIOLATION if phase.outcome == "violation" else ""
    beside = row.beside if row else ""
    events = conditions.hear(handoff, phase.role, phase.index, unheard=unheard, beside=beside)
    conditions.record(events, handoff.seal.sha256)
