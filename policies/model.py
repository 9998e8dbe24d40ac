"""The policy: which role may do what with which zone.

Pure data. ``rolewall.policies.compile_mounts`` turns it into the mounts that
both backends make and that the probe checks; nothing else says who may write
where.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from rolewall.errors import PolicyError

__all__ = ["HARNESS", "HELD_NAMED", "Access", "Hold", "HostPort", "Limits", "Policy", "Zone"]

HARNESS = "harness"
HELD_NAMED = 5
"""Conditions that are named where several forbid the same."""
NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}\Z")


class Access(StrEnum):
    """What a role may do with a zone: not see it, read it, or change it."""

    HIDDEN = "hidden"
    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Zone:
    """A named place, mounted at ``/name``.

    ``owner`` is a role's name or ``"harness"``. A ``private`` zone (``tmp``,
    ``home``) is made anew for each phase, belongs to that role alone and is
    never shared.
    """

    name: str
    owner: str
    private: bool = False

    def __post_init__(self) -> None:
        if not NAME.match(self.name):
            raise PolicyError("not a zone name", got=self.name, expected=f"{NAME.pattern}")


@dataclass(frozen=True, slots=True)
class HostPort:
    """One network destination a role may reach, by name and TCP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one phase may use: seconds, mebibytes, processes, cores."""

    phase_seconds: float = 900.0
    memory_mb: int = 2048
    pids: int = 256
    cpus: float = 1.0
    disk_mb: int = 1024


@dataclass(frozen=True, slots=True)
class Hold:
    """What the open ``condition`` forbids: to ``write`` in a zone, or to ``read`` it.

    ``roles`` are those whom it binds; None: every role.
    """

    action: Literal["write", "read"]
    zone: str
    condition: str
    roles: tuple[str, ...] | None = None

    def binds(self, role: str) -> bool:
        return self.roles is None or role in self.roles


@dataclass(frozen=True)
class Policy:
    """Role × zone → access, with the owner of each zone.

    ``access[role][zone]`` is complete: a pair that is missing is an error,
    not ``hidden`` by default. ``single_writer`` asks the lint to refuse two
    roles with write access to one shared zone.

    ``access`` is what the roles have while nothing is held. ``holds`` are what open
    conditions forbid; ``binding`` says that they lower access: see ``hold``.
    """

    name: str
    roles: tuple[str, ...]
    zones: tuple[Zone, ...]
    access: Mapping[str, Mapping[str, Access]]
    network: Mapping[str, tuple[HostPort, ...]] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    single_writer: bool = True
    holds: tuple[Hold, ...] = ()
    binding: bool = True

    def allows(self, role: str, zone: str) -> Access:
        """What ``role`` may do with ``zone`` now, with all that is held."""
        access = self.access[role][zone]
        holds = self.holds if self.binding else ()
        held = {one.action for one in holds if one.zone == zone and one.binds(role)}
        if "read" in held:
            return Access.HIDDEN
        return Access.READ if "write" in held and access is Access.WRITE else access

    def held(self, role: str, zone: str, *, reading: bool = False) -> tuple[str, ...]:
        """The conditions that forbid ``role`` to write in ``zone``, or to read it; of many the
        first few, and how many more there are. What may not be read may not be written."""
        found = [
            one.condition
            for one in self.holds
            if one.zone == zone and one.binds(role) and (one.action == "read" or not reading)
        ]
        named = list(dict.fromkeys(found))
        more = len(named) - HELD_NAMED
        return (*named[:HELD_NAMED], *([f"and {more} more"] if more > 0 else []))

    def zone(self, name: str) -> Zone:
        for zone in self.zones:
            if zone.name == name:
                return zone
        known = ", ".join(z.name for z in self.zones)
        raise PolicyError("unknown zone", got=name, expected=f"one of {known}")
