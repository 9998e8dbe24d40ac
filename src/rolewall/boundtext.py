"""Conditions that bind, and contracts, as lines of text: for a terminal and for a page."""

from __future__ import annotations

from collections.abc import Iterator

from rolewall.record import ConditionEvent, EpisodeRecord, PhaseRecord

__all__ = ["breach_lines", "condition_lines", "contract_lines", "turn_of"]

SHOWN = 50


def turn_of(phase: PhaseRecord) -> str:
    """Which turn of its role a phase is."""
    return f"round {phase.round}" + (f", step {phase.step}" if phase.step else "")


def contract_lines(record: EpisodeRecord) -> Iterator[str]:
    """What each role is given, and what is its alone to make; and where that was broken."""
    for role, contract in record.contracts.items():
        gets, makes = (
            ", ".join(item.partition(":")[0] for item in items) or "nothing"
            for items in (contract.consumes, contract.produces)
        )
        yield f"{role}: gets {gets}; produces {makes}"
    yield from breach_lines(record)


def breach_lines(record: EpisodeRecord) -> Iterator[str]:
    for breach in record.breaches[:SHOWN]:
        by = f"by {breach.role} in phase {breach.phase}"
        yield f"contract broken: {breach.kind} {by}: {breach.why}"
    if len(record.breaches) > SHOWN:
        yield f"and {len(record.breaches) - SHOWN} more breaches in episode.json"


def condition_lines(record: EpisodeRecord, phase: int | None) -> Iterator[str]:
    """What became of conditions by the handoff of ``phase``; None is the task's word."""
    found = [event for event in record.conditions if event.phase == phase]
    yield from map(_event, found[:SHOWN])
    if len(found) > SHOWN:
        yield f"and {len(found) - SHOWN} more of conditions in episode.json"


def _event(event: ConditionEvent) -> str:
    text = f"condition {event.condition} {event.event}"
    if event.event == "refused":
        text += f": said to be {event.status}" if event.status != "open" else ""
    elif event.event == "discharged":
        text += f": {event.status}"
    elif event.forbids:
        ends = f"until {event.authority} ends it" if event.authority else "for good"
        text += f": forbids {', '.join(event.forbids)} {ends}"
    return f"{text} ({event.why})" if event.why else text
