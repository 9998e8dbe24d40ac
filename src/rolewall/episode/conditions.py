"""The binding conditions of one episode: which are open, and what that forbids whom.

A condition is opened by the task or by any role's handoff, and discharged by one thing
alone: its authority's own handoff that says ``met`` or ``waived``, once what it waits for
is over. What anybody else says of it, in a field or in prose, changes nothing.

What a condition waits for, a condition or a step, is settled when it is opened. So no id
that somebody takes later stands for it, or in its way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rolewall.episode.binding import binds
from rolewall.episode.eventlog import EventLog
from rolewall.episode.held import Held, held_by
from rolewall.policies import HARNESS, Policy
from rolewall.record import ConditionEvent
from rolewall.roles import Condition, Handoff, SealedHandoff

__all__ = ["Conditions", "conditions_bytes"]

SHOWN = 200  # characters of what a role wrote
# What a condition is by; a later word on any of these would make it another one.
_BINDING = ("prerequisite", "authority", "forbids")


@dataclass
class _Bound:
    """A condition, who opened it, and whether what it waits for is a condition, not a step."""

    condition: Condition
    opener: str
    open: bool = True
    waits_for_condition: bool = False


class Conditions:
    """Keeps the state of every condition of an episode.

    Args:
        policy: the episode's; without a single writer to each zone there is no wall.
        given: those that the task brings.

    Attributes:
        log: what happened to conditions, as the record has it.
    """

    def __init__(self, policy: Policy, given: Sequence[Condition] = ()) -> None:
        self.log = EventLog()
        self._policy = policy
        self._bound: dict[str, _Bound] = {}
        self._plan: set[str] = set()
        self._done: dict[str, set[str]] = {}
        self.record([self._open(condition, HARNESS, None) for condition in given])
        self._settle(given, HARNESS)
        waits = {condition.prerequisite for condition in given} - {""}
        self._steps = waits - set(self._bound)  # ids that are a step's: no condition takes one

    def held(self, role: str) -> Held:
        """What is forbidden to ``role`` now."""
        actions: dict[str, list[str]] = {}
        for name, bound in self._bound.items():
            valid = bound.condition.authority in self._policy.roles
            for action in bound.condition.forbids if bound.open else ():
                if binds(bound.opener, role, action, valid=valid):
                    actions.setdefault(action, []).append(name)
        return held_by(self._policy, role, actions)

    def step_approved(self, role: str, step: str) -> None:
        """``role`` gave a verdict that approves a step: by its word the step is done."""
        self._done.setdefault(role, set()).add(step)

    def hear(
        self,
        handoff: Handoff | SealedHandoff,
        role: str,
        phase: int,
        *,
        unheard: str = "",
        beside: str = "",
    ) -> list[ConditionEvent]:
        """What a handoff that ``role`` wrote in its own phase changes, and what it claims in
        vain; ``record`` keeps it, once the handoff is sealed.

        Args:
            unheard: why nothing that it says discharges anything.
            beside: what may have run the work where the handoff was written, and so written it.
        """
        events = self._hear_steps(handoff, role, phase, heard=not unheard)
        known, opened = set(self._bound), []
        for condition in handoff.conditions:
            if condition.id in known:
                events += self._again(condition, role, phase)
            elif condition.id in self._steps:
                why = f"{condition.id} is a step: no condition has its id"
                events.append(_refused(condition, role, phase, why))
            else:
                events.append(self._open(condition, role, phase))
                opened.append(condition)
        self._settle(opened, role)
        here = [one for one in handoff.conditions if one.id in self._bound]
        said = [one for one in here if one.status != "open"]
        claims = [one for one in said if self._bound[one.id].open]
        if unheard:
            return [*events, *(_refused(one, role, phase, unheard) for one in claims)]
        return [*events, *self._claims(claims, role, phase, beside)]

    def record(self, events: Iterable[ConditionEvent], seal: str = "") -> None:
        """Keep ``events`` of the handoff that was sealed as ``seal``."""
        for event in events:
            self.log.add(event.model_copy(update={"seal": seal}))

    def _settle(self, opened: Iterable[Condition], role: str) -> None:
        """Whether each waits for a condition, which is the task's or its own opener's: in
        another's place nobody can put one."""
        for condition in opened:
            other = self._bound.get(condition.prerequisite)
            there = other is not None and other.opener in (HARNESS, role)
            self._bound[condition.id].waits_for_condition = there

    def _hear_steps(
        self, handoff: Handoff | SealedHandoff, role: str, phase: int, *, heard: bool
    ) -> list[ConditionEvent]:
        """Which steps the plan has, and which of them ``role`` says are done; what is refused."""
        refused: list[ConditionEvent] = []
        if role == "planner":
            steps = {step.id for step in handoff.steps}
            self._plan = steps - set(self._bound)
            self._steps |= self._plan
            why = "a step of the plan has its id, and is no step that a condition waits for"
            refused = [
                _event(name, role, phase, "refused", "open", why)
                for name in (step.id for step in handoff.steps)
                if name in self._bound
            ]
        done = self._done.setdefault(role, set())
        for step in handoff.steps:
            if step.status == "done" and heard:
                done.add(step.id)
            else:
                done.discard(step.id)
        return refused

    def _open(self, condition: Condition, role: str, phase: int | None) -> ConditionEvent:
        self._bound[condition.id] = _Bound(condition, role)
        event = _event(condition.id, role, phase, "opened", "open", self._unbound(condition, role))
        return event.model_copy(
            update={
                "authority": condition.authority[:SHOWN],
                "prerequisite": condition.prerequisite[:SHOWN],
                "forbids": tuple(condition.forbids),
            }
        )

    def _unbound(self, condition: Condition, role: str) -> str:
        """What of a condition is nothing here: it is opened all the same, and binds by the rest."""
        found = []
        if condition.authority not in self._policy.roles:
            named = f"its authority {condition.authority[:SHOWN]!r} has no part here"
            alone = "" if role == HARNESS else f", and it binds {role} alone"
            found.append(f"{named if condition.authority else 'it has no authority'}: "
                         f"nobody can discharge it{alone}")  # fmt: skip
        zones = {zone.name for zone in self._policy.zones}
        for action in condition.forbids:
            word, _, name = action.partition(" ")
            if word != "use" and name not in zones:
                found.append(f"`{action}`: there is no such zone here")
        return "; ".join(found)

    def _again(self, condition: Condition, role: str, phase: int) -> Iterator[ConditionEvent]:
        """A word on what is known: nobody makes another condition of it, and only its
        authority opens it again."""
        bound = self._bound[condition.id]
        first = bound.condition
        other = [
            name
            for name in _BINDING
            if getattr(condition, name) and getattr(condition, name) != getattr(first, name)
        ]
        if other:
            why = f"it stands as it was opened; another {', '.join(other)} counts for nothing"
            yield _refused(condition, role, phase, why)
        if condition.status == "open" and not bound.open and role == first.authority:
            bound.open = True
            yield _event(condition.id, role, phase, "opened", "open", "again, by its authority")

    def _claims(
        self, claims: list[Condition], role: str, phase: int, beside: str
    ) -> Iterator[ConditionEvent]:
        """One may wait for another of the same handoff, in whatever order they stand."""
        why = f"beside it ran {beside}" if beside else ""
        moved = True
        while moved:
            moved = False
            for claim in list(claims):
                if not self._refusal(claim.id, role):
                    self._bound[claim.id].open = False
                    claims.remove(claim)
                    yield _event(claim.id, role, phase, "discharged", claim.status, why)
                    moved = True
        for claim in claims:
            yield _refused(claim, role, phase, self._refusal(claim.id, role))

    def _refusal(self, name: str, role: str) -> str:
        """Why ``role`` cannot discharge a condition; empty if it can."""
        bound = self._bound[name]
        first = bound.condition
        if role != first.authority:
            by = f"only {first.authority[:SHOWN]} can" if first.authority else "nobody can"
            return f"{role} cannot discharge it, {by}"
        waits = first.prerequisite
        if not waits:
            return ""
        if bound.waits_for_condition:
            over, why = not self._bound[waits].open, f"condition {waits} is open"
        elif waits in self._plan:
            over = waits in self._done.get(role, ())
            why = f"step {waits} is not done by the word of {role}"
        else:
            return f"its prerequisite is no condition and no step of the plan: {waits[:SHOWN]}"
        return "" if over else f"its prerequisite is not over: {why}"


def conditions_bytes(given: Sequence[Condition]) -> bytes:
    """What a task brings, as the roles that read the specification find it."""
    listed = [condition.model_dump(mode="json") for condition in given]
    return json.dumps(listed, indent=2, ensure_ascii=False).encode() + b"\n"


def _refused(condition: Condition, role: str, phase: int, why: str) -> ConditionEvent:
    return _event(condition.id, role, phase, "refused", condition.status, why)


def _event(
    condition: str,
    role: str,
    phase: int | None,
    event: Literal["opened", "discharged", "refused"],
    status: Literal["open", "met", "waived"],
    why: str = "",
) -> ConditionEvent:
    return ConditionEvent(
        phase=phase, role=role, condition=condition, event=event, status=status, why=why
    )
