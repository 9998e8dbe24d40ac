"""When planning stands in its own way: told to the planner, and counted afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rolewall.record import PhaseRecord
from rolewall.roles import Evidence

__all__ = ["Alarm", "paralysis", "uses_of"]

STARVED = ("budget", "timeout")


@dataclass(frozen=True)
class Alarm:
    """Planning stands in its own way: ``revisions`` of the plan with nothing done by the
    executor between, or a budget that is gone without an action (``starved``)."""

    kind: Literal["revisions", "starved"]
    phase: int
    revisions: int
    why: str

    def json(self) -> dict[str, object]:
        return {"planning": "paralysis", **vars(self)}


def uses_of(evidence: Iterable[Evidence]) -> int:
    """How many uses of tools there are in one phase's evidence: that a team's program was
    started to play the role is none."""
    return sum("argv" not in one.arguments or one.source != "box" for one in evidence)


def paralysis(phases: Sequence[PhaseRecord], calls: Mapping[int, int]) -> Alarm | None:
    """The alarm as of the end of ``phases``, which may be those of an episode under way, so
    that the next prompt of the planner can tell it.

    Args:
        calls: by phase, how many uses of tools the harness saw: ``uses_of``.
    """
    plans = 0
    acted = False
    last = 0
    for phase in phases:
        if phase.role == "planner":
            plans, last = plans + 1, phase.index
        elif phase.role == "executor" and _did(phase, calls):
            plans, acted = 0, True
    if plans > 1:
        why = f"the plan was written {plans} times and the executor did nothing after the first"
        return Alarm("revisions", last, plans - 1, why)
    starved = [p for p in phases if p.role in ("planner", "executor") and p.outcome in STARVED]
    if starved and not acted:
        why = f"the {starved[-1].role}'s turn ended with {starved[-1].outcome}, nothing was done"
        return Alarm("starved", starved[-1].index, max(0, plans - 1), why)
    return None


def _did(phase: PhaseRecord, calls: Mapping[int, int]) -> bool:
    """Whether an executor's turn changed the work, or at least used a tool to an end; an agent
    that asked its model used tools of its own. Of changes that the record has no room for it may
    have been any."""
    listed = any(change.zone == "workspace" for change in phase.changes)
    changed = listed or phase.changes_omitted > 0
    used = calls.get(phase.index, 0) > 0 or (phase.usage is not None and phase.usage.calls > 0)
    return changed or (used and phase.outcome not in STARVED)
