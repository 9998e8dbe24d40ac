"""What open conditions forbid one role, as its box and its tools heed it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rolewall.policies import HELD_NAMED, Access, Hold, Policy, hold

__all__ = ["MOST_HELD", "Held", "held_by"]

MOST_HELD = 100
"""Actions that a phase's record lists."""


@dataclass(frozen=True)
class Held:
    """What is forbidden to one role while the conditions of a moment are open.

    Attributes:
        policy: the episode's, with the zones held from that role.
        actions: what is forbidden → the conditions that forbid it, all of them.
        binding: whether it is refused, or told and recorded only: there is no wall.
    """

    policy: Policy
    actions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    binding: bool = True

    def listed(self) -> dict[str, tuple[str, ...]]:
        """The first of ``actions`` with the first few of their conditions, for a record: roles
        can make more of both than it has room for."""
        return {name: _few(ids) for name, ids in list(self.actions.items())[:MOST_HELD]}

    def closed(self, zone: str) -> tuple[str, ...]:
        """The first few of the conditions that keep ``zone`` out of the role's box."""
        return _few(self.actions.get(f"read {zone}", ())) if self.binding else ()

    def without(self, role: str, zones: Collection[str]) -> Held:
        """The same, with ``zones`` hidden from ``role`` for another reason than a condition."""
        access = dict(self.policy.access)
        access[role] = {**access[role], **dict.fromkeys(zones, Access.HIDDEN)}
        return replace(self, policy=replace(self.policy, access=access))

    @property
    def tools(self) -> dict[str, tuple[str, ...]]:
        """Tools that may not be used → the conditions that forbid it."""
        return {
            action.removeprefix("use "): ids
            for action, ids in self.actions.items()
            if action.startswith("use ")
        }


def held_by(policy: Policy, role: str, actions: Mapping[str, Sequence[str]]) -> Held:
    """What ``actions`` take from ``role``.

    Args:
        actions: what it may not do → the conditions that forbid it. Of zones that ``policy``
            has not nothing is taken.
    """
    zones = {zone.name for zone in policy.zones}
    holds = [found for found in _holds(actions, role) if found.zone in zones]
    binding = policy.single_writer
    return Held(
        hold(policy, holds, binding=binding),
        {action: tuple(names) for action, names in actions.items()},
        binding,
    )


def _holds(actions: Mapping[str, Sequence[str]], role: str) -> Iterator[Hold]:
    for action, names in actions.items():
        word, _, zone = action.partition(" ")
        for name in names:
            if word == "write":
                yield Hold("write", zone, name, (role,))
            elif word == "read":
                yield Hold("read", zone, name, (role,))


def _few(ids: tuple[str, ...]) -> tuple[str, ...]:
    more = len(ids) - HELD_NAMED
    return (*ids[:HELD_NAMED], *([f"and {more} more"] if more > 0 else []))
