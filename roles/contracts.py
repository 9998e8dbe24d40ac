"""The contract of each role: what it consumes and produces, what it may do, when it is done.

Roles may share a model, a program or an image; contracts are never merged. What one role
produces is that role's alone, and ``BREACHES`` are the ways in which that can fail, found
by the harness from manifests and seals whatever the condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from rolewall.policies import Access, Compiled, Policy
from rolewall.roles.handoff import HANDOFF_ZONES

__all__ = ["BREACHES", "BreachKind", "Contract", "Item", "contract_of", "contract_text"]

BreachKind = Literal["merged-identity", "plan-changed", "author-touched-work", "uncovered-result"]
BREACHES: Mapping[BreachKind, str] = {
    "merged-identity": "one role made what another role produces",
    "plan-changed": "the plan was changed after execution began, and not by the planner",
    "author-touched-work": "whoever gave the verdict changed the work",
    "uncovered-result": "a later role was given work that no approving verdict covers",
}
assert tuple(BREACHES) == get_args(BreachKind)

_TYPES = {
    "spec": "text",
    "brief": "text",
    "workspace": "files",
    "verdict": "verdict",
    "output": "files",
    "history": "transcripts",
}
_FILE = {"verdict": "verdict.json"}


@dataclass(frozen=True, slots=True)
class Item:
    """What lies in one zone: ``text``, ``files``, a ``handoff``, a ``verdict`` or
    ``transcripts``."""

    zone: str
    type: str

    def __str__(self) -> str:
        return f"{self.zone}: {self.type}"


@dataclass(frozen=True, slots=True)
class Contract:
    """One role's. ``may`` are actions, as conditions forbid them, and network destinations;
    ``done`` are what must hold when its turn ends."""

    role: str
    consumes: tuple[Item, ...]
    produces: tuple[Item, ...]
    may: tuple[str, ...]
    done: tuple[str, ...]


def contract_of(policy: Policy, role: str, tools: Iterable[str] = ()) -> Contract:
    """The contract of ``role`` under ``policy``, whatever conditions forbid for now; ``tools``
    are those of the team's that it may use."""
    shared = [zone for zone in policy.zones if not zone.private]
    mine = [zone.name for zone in shared if zone.owner == role]
    access = policy.access[role]
    given = [
        zone.name
        for zone in shared
        if zone.owner != role and access[zone.name] is not Access.HIDDEN
    ]
    return Contract(
        role=role,
        consumes=tuple(_items(given)),
        produces=tuple(_items(mine)),
        may=(
            *(f"write {z.name}" for z in shared if access[z.name] is Access.WRITE),
            *(f"use {tool}" for tool in tools),
            *(f"reach {to}" for to in policy.network.get(role, ())),
        ),
        done=tuple(_left_in(zone, role) for zone in mine if _typed(zone, role) != "files"),
    )


def contract_text(compiled: Compiled) -> str:
    """The contract as one short paragraph for its role, in words that hold whatever access is."""
    zones = [zone for zone in compiled.zones() if not zone.private]
    mine = [f"`/{zone.name}`" for zone in zones if zone.owner == compiled.role]
    return (
        f"What you produce is {', '.join(mine) or 'nothing'}, and nobody else does. What another "
        "role produces is that role's alone: whoever changes it breaks the contract between you, "
        "and that is recorded."
    )


def _items(zones: list[str]) -> Iterator[Item]:
    handoffs = {zone: role for role, zone in HANDOFF_ZONES.items()}
    for zone in zones:
        yield Item(zone, _typed(zone, handoffs.get(zone, "")))


def _typed(zone: str, role: str) -> str:
    if zone in _TYPES:
        return _TYPES[zone]
    return "handoff" if HANDOFF_ZONES.get(role) == zone else "files"


def _left_in(zone: str, role: str) -> str:
    return f"{_FILE.get(zone, 'handoff.json')} of {role} is in /{zone}"
