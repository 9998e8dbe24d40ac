"""Zones named on a command line, and the policy they amount to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rolewall.errors import InputError
from rolewall.policies import (
    HARNESS,
    Access,
    Limits,
    Policy,
    Zone,
    enforced,
    lint,
    parse_host_port,
)

__all__ = ["AskedZone", "hidden_zones", "parse_environment", "parse_zones", "zone_policy"]

EXAMPLE = "NAME=DIR:read, NAME=DIR:write or NAME=hidden"


@dataclass(frozen=True, slots=True)
class AskedZone:
    """``NAME=DIR:read|write``, or ``NAME=hidden``, which has no directory."""

    name: str
    directory: Path | None
    access: Access


def parse_zones(arguments: Sequence[str]) -> list[AskedZone]:
    """Read ``--zone`` arguments; each name may come once."""
    found: dict[str, AskedZone] = {}
    for argument in arguments:
        zone = _zone(argument)
        if zone.name in found:
            raise InputError("a zone is named twice", place="--zone", got=zone.name)
        found[zone.name] = zone
    return list(found.values())


def _zone(argument: str) -> AskedZone:
    name, equals, rest = argument.partition("=")
    directory, colon, access = rest.rpartition(":")
    if equals and any(zone.name == name for zone in _PRIVATE):
        raise InputError(f"{name} is taken by the box", place="--zone", got=argument)
    if name and rest == Access.HIDDEN:
        return AskedZone(name, None, Access.HIDDEN)
    if not (name and equals and colon and directory) or access not in ("read", "write"):
        raise InputError("not a zone", place="--zone", got=argument, expected=EXAMPLE)
    path = Path(directory)
    if not os.path.isdir(path):  # of a name that is too long, too
        raise InputError("not a directory", place=f"--zone {name}", got=directory)
    return AskedZone(name, path, Access(access))


def hidden_zones(role: str, zones: Sequence[AskedZone]) -> list[AskedZone]:
    """The zones of the built-in conditions that ``role`` was not given and does not own: where
    it would look for what it must not see."""
    given = {zone.name for zone in zones}
    return [
        AskedZone(zone.name, None, Access.HIDDEN)
        for zone in enforced().zones
        if not zone.private and zone.name not in given and zone.owner != role
    ]


def parse_environment(arguments: Sequence[str]) -> dict[str, str]:
    """Read ``--env`` arguments."""
    found = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not (name and equals):
            raise InputError("not a variable", place="--env", got=argument, expected="KEY=VALUE")
        found[name] = value
    return found


def zone_policy(
    role: str, zones: Sequence[AskedZone], network: Sequence[str], limits: Limits
) -> Policy:
    """The policy of one role over the zones it was given.

    A zone with a name of the built-in conditions keeps its owner there
    (``workspace`` is the executor's); of other zones the role owns those that
    it may write, the harness the rest.
    """
    owners = {zone.name: _owner(role, zone) for zone in zones}
    others = tuple(dict.fromkeys(o for o in owners.values() if o not in (role, HARNESS)))
    access = {role: {zone.name: zone.access for zone in zones} | _private()}
    for other in others:
        mine = {n: Access.WRITE if o == other else Access.HIDDEN for n, o in owners.items()}
        access[other] = mine | _private()
    policy = Policy(
        name="exec",
        roles=(role, *others),
        zones=(*(Zone(n, o) for n, o in owners.items()), *_PRIVATE),
        access=access,
        network={role: tuple(parse_host_port(n, "--network") for n in network)},
        limits=limits,
        single_writer=False,
    )
    lint(policy)
    return policy


_PRIVATE = (Zone("tmp", HARNESS, private=True), Zone("home", HARNESS, private=True))


def _private() -> dict[str, Access]:
    return {zone.name: Access.WRITE for zone in _PRIVATE}


def _owner(role: str, zone: AskedZone) -> str:
    known = {z.name: z.owner for z in enforced().zones if not z.private}
    if zone.name in known and (known[zone.name] != role or zone.access is Access.WRITE):
        return known[zone.name]
    return role if zone.access is Access.WRITE else HARNESS
