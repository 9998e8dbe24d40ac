"""Stating a policy of one's own, as plain data.

::

    name: two-hands
    roles: [builder, reviewer]
    zones: [workspace, findings, tmp]
    private: [tmp]
    owners: {builder: [workspace], reviewer: [findings]}
    access:
      builder:  {workspace: write, findings: hidden, tmp: write}
      reviewer: {workspace: read, findings: write, tmp: write}
    network: {builder: ["models.internal:443"]}
    limits: {phase_seconds: 60}
    single_writer: true

Owners are listed by role, so that two owners, or none, can be written down and
are refused; ``harness`` owns what no role does.
"""

from __future__ import annotations

from typing import Annotated, cast

from pydantic import Field

from rolewall._validate import Strict, validate
from rolewall.errors import PolicyError
from rolewall.policies.lint import Facts, findings
from rolewall.policies.model import HARNESS, Access, HostPort, Limits, Policy, Zone
from rolewall.policies.network import parse_host_port

__all__ = ["LimitsFile", "policy_from_mapping"]


class LimitsFile(Strict):
    """``limits:`` of a team or policy file; units are those of ``Limits``."""

    phase_seconds: Annotated[float, Field(gt=0, le=86_400)] = 900.0
    memory_mb: Annotated[int, Field(ge=32, le=1 << 20)] = 2048
    pids: Annotated[int, Field(ge=8, le=1 << 15)] = 256
    cpus: Annotated[float, Field(gt=0, le=1024)] = 1.0
    disk_mb: Annotated[int, Field(ge=1, le=1 << 20)] = 1024

    def limits(self) -> Limits:
        return Limits(self.phase_seconds, self.memory_mb, self.pids, self.cpus, self.disk_mb)


class _PolicyFile(Strict):
    name: str = Field(min_length=1, max_length=64)
    roles: list[str]
    zones: list[str]
    private: list[str] = Field(default_factory=list)
    owners: dict[str, list[str]]
    access: dict[str, dict[str, str]]
    network: dict[str, list[str]] = Field(default_factory=dict)
    limits: LimitsFile = LimitsFile()
    single_writer: bool = True


def policy_from_mapping(data: object, place: str = "policy") -> Policy:
    """A policy as stated in ``data``, after the lint.

    Args:
        data: what a YAML or JSON file holds; see the module's example.
        place: where it stands, for messages.

    Raises:
        PolicyError: unknown keys, wrong types, or anything that the lint finds.
    """
    file = validate(_PolicyFile, data, place, PolicyError)
    network = _network(file, place)
    facts = _facts(file, network)
    found = findings(facts)
    if found:
        raise PolicyError("; ".join(found), place=place)
    access = cast("dict[str, dict[str, Access]]", facts.access)
    return Policy(
        name=file.name,
        roles=tuple(file.roles),
        zones=tuple(_zone(name, facts) for name in file.zones),
        access=access,
        network=network,
        limits=file.limits.limits(),
        single_writer=file.single_writer,
    )


def _network(file: _PolicyFile, place: str) -> dict[str, tuple[HostPort, ...]]:
    return {
        role: tuple(
            parse_host_port(text, f"{place}: network.{role}[{index}]", PolicyError)
            for index, text in enumerate(destinations)
        )
        for role, destinations in file.network.items()
    }


def _facts(file: _PolicyFile, network: dict[str, tuple[HostPort, ...]]) -> Facts:
    owners: dict[str, tuple[str, ...]] = {}
    for owner, zones in file.owners.items():
        for zone in zones:
            owners[zone] = (*owners.get(zone, ()), owner)
    return Facts(
        roles=tuple(file.roles),
        zones=tuple(file.zones),
        owners=owners,
        private=frozenset(file.private),
        access={role: {z: _word(w) for z, w in row.items()} for role, row in file.access.items()},
        network=network,
        single_writer=file.single_writer,
    )


def _word(text: str) -> object:
    return Access(text) if text in set(Access) else text


def _zone(name: str, facts: Facts) -> Zone:
    owner = facts.owners.get(name, (HARNESS,))[0]
    return Zone(name, owner, private=name in facts.private)
