"""The separation-of-duty lint: what makes a policy one that nobody should run.

All findings are told at once, each with the zone or role it is about. A policy
that is empty, or silent about a pair of role and zone, is refused; it never
means "allowed" and never means "hidden".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rolewall.errors import PolicyError
from rolewall.policies.model import HARNESS, NAME, Access, HostPort, Policy

__all__ = ["Facts", "findings", "lint"]

_SYSTEM = "usr etc proc dev sys bin lib lib64 sbin root run var opt srv mnt media boot"
_RESERVED = frozenset({"rolewall", *_SYSTEM.split()})
"""Names that a box needs for itself."""


@dataclass(frozen=True)
class Facts:
    """A policy as it was stated, contradictions included.

    ``zones`` may name a zone twice, ``owners`` may give it none or several.
    ``access`` holds ``Access`` members or whatever word stood there.
    """

    roles: tuple[str, ...]
    zones: tuple[str, ...]
    owners: Mapping[str, tuple[str, ...]]
    private: frozenset[str]
    access: Mapping[str, Mapping[str, object]]
    network: Mapping[str, tuple[HostPort, ...]]
    single_writer: bool

    @property
    def shared(self) -> tuple[str, ...]:
        return tuple(zone for zone in dict.fromkeys(self.zones) if zone not in self.private)

    def allows(self, role: str, zone: str) -> object:
        return self.access.get(role, {}).get(zone)


def lint(policy: Policy) -> None:
    """Refuse a policy that does not separate duties.

    Raises:
        PolicyError: with every finding, separated by semicolons.
    """
    found = findings(_facts(policy))
    if found:
        raise PolicyError("; ".join(found), place=f"policy {policy.name}")


def findings(facts: Facts) -> list[str]:
    """What is wrong, each as one clause; an empty list means nothing is."""
    checks = (_empty, _names, _owners, _pairs, _private, _grader, _owner_writes, _network)
    found = [finding for check in checks for finding in check(facts)]
    if facts.single_writer:
        found += _writers(facts)
    return found


def _facts(policy: Policy) -> Facts:
    owners: dict[str, tuple[str, ...]] = {}
    for zone in policy.zones:
        owners[zone.name] = (*owners.get(zone.name, ()), zone.owner)
    return Facts(
        roles=policy.roles,
        zones=tuple(zone.name for zone in policy.zones),
        owners=owners,
        private=frozenset(zone.name for zone in policy.zones if zone.private),
        access=policy.access,
        network=policy.network,
        single_writer=policy.single_writer,
    )


def _empty(facts: Facts) -> Iterator[str]:
    if not facts.roles:
        yield "no roles"
    if not facts.shared:
        yield "no shared zones"


def _names(facts: Facts) -> Iterator[str]:
    for role, times in Counter(facts.roles).items():
        if times > 1:
            yield f"role {role!r} is named {times} times"
        if role == HARNESS or not NAME.match(role):
            yield f"{role!r} cannot be the name of a role"
    for zone, times in Counter(facts.zones).items():
        if times > 1:
            yield f"zone {zone!r} is named {times} times"
        if zone in _RESERVED:
            yield f"zone {zone!r} has a name that a box needs for itself"
        elif not NAME.match(zone):
            yield f"{zone!r} cannot be the name of a zone"
    for zone in sorted(facts.private - set(facts.zones)):
        yield f"private zone {zone!r} is not among the zones"


def _owners(facts: Facts) -> Iterator[str]:
    for zone in facts.shared:
        owners = tuple(dict.fromkeys(facts.owners.get(zone, ())))
        if not owners:
            yield f"zone {zone!r} has no owner"
        elif len(owners) > 1:
            yield f"zone {zone!r} has {len(owners)} owners: {', '.join(owners)}"
    for zone, owners in facts.owners.items():
        if zone not in facts.zones:
            yield f"owner of an unknown zone {zone!r}"
        for owner in dict.fromkeys(owners):
            if owner != HARNESS and owner not in facts.roles:
                yield f"zone {zone!r} is owned by an unknown role {owner!r}"


def _pairs(facts: Facts) -> Iterator[str]:
    for role in dict.fromkeys(facts.roles):
        for zone in dict.fromkeys(facts.zones):
            access = facts.allows(role, zone)
            if access is None:
                yield f"nothing says what role {role!r} may do with zone {zone!r}"
            elif not isinstance(access, Access):
                words = ", ".join(Access)
                yield f"unknown access {access!r} of {role!r} to {zone!r}, not one of {words}"
    for role, column in facts.access.items():
        if role not in facts.roles:
            yield f"access of an unknown role {role!r}"
        for zone in column:
            if zone not in facts.zones:
                yield f"access of {role!r} to an unknown zone {zone!r}"


def _private(facts: Facts) -> Iterator[str]:
    for zone in sorted(facts.private & set(facts.zones)):
        owners = set(facts.owners.get(zone, ())) - {HARNESS}
        named = ", ".join(sorted(owners))
        for role in facts.roles:
            access = facts.allows(role, zone)
            if access is Access.READ:
                yield f"private zone {zone!r} is made empty for {role!r} and cannot be read only"
            if owners and role not in owners and access is Access.WRITE:
                yield f"private zone {zone!r} of {named} is shared with {role!r}"


def _grader(facts: Facts) -> Iterator[str]:
    if "grader" not in facts.zones:
        return
    for owner in facts.owners.get("grader", ()):
        if owner != HARNESS:
            yield f"the grader zone is owned by {owner!r}, not by {HARNESS}"
    for role in facts.roles:
        if facts.allows(role, "grader") is not Access.HIDDEN:
            yield f"the grader zone is not hidden from {role!r}"


def _owner_writes(facts: Facts) -> Iterator[str]:
    for zone in facts.shared:
        for owner in dict.fromkeys(facts.owners.get(zone, ())):
            if owner in facts.roles and facts.allows(owner, zone) is not Access.WRITE:
                yield f"{owner!r} owns zone {zone!r} and cannot write to it"


def _writers(facts: Facts) -> Iterator[str]:
    for zone in facts.shared:
        writers = [r for r in facts.roles if facts.allows(r, zone) is Access.WRITE]
        if HARNESS in facts.owners.get(zone, ()):
            writers.insert(0, HARNESS)
        if len(writers) > 1:
            yield f"zone {zone!r} has {len(writers)} writers: {', '.join(writers)}"


def _network(facts: Facts) -> Iterator[str]:
    for role in facts.network:
        if role not in facts.roles:
            yield f"network of an unknown role {role!r}"
