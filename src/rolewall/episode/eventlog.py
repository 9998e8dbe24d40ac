"""Which events of binding conditions an episode's record keeps.

A role can make a thousand with each handoff. So each role has a budget, and what one says
takes no room from another's, nor from what lifts a hold.
"""

from __future__ import annotations

from collections import Counter

from rolewall.policies import HARNESS
from rolewall.record import ConditionEvent

__all__ = ["ROLE_EVENTS", "EventLog"]

ROLE_EVENTS = 2_000
"""Events of one role that are kept besides those that are always."""


class EventLog:
    """Keeps events in order.

    Attributes:
        events: those that are kept.
        omitted: how many more there were.
    """

    def __init__(self) -> None:
        self.events: list[ConditionEvent] = []
        self.omitted = 0
        self._given: set[str] = set()
        self._open: set[str] = set()  # conditions whose last opening is kept
        self._spent: Counter[str] = Counter()

    def add(self, event: ConditionEvent) -> None:
        if event.role == HARNESS:
            self._given.add(event.condition)
        kept = self._always(event) or self._within(event.role)
        if kept:
            self.events.append(event)
        else:
            self.omitted += 1
        if event.event == "opened":
            (self._open.add if kept else self._open.discard)(event.condition)

    def _always(self, event: ConditionEvent) -> bool:
        """What a task's condition comes to, and the end of everything whose beginning is kept:
        what roles open and end in turn is bounded by what they open."""
        if event.event == "refused":
            return False
        return event.condition in self._given or (
            event.event == "discharged" and event.condition in self._open
        )

    def _within(self, role: str) -> bool:
        self._spent[role] += 1
        return self._spent[role] <= ROLE_EVENTS
