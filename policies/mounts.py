"""From a policy to what one role's box has: the only such description.

The backends mount it, the probe checks it from inside, and the classifier's
view of who owns what is built from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rolewall.errors import PolicyError
from rolewall.policies.classify import View, ViewZone
from rolewall.policies.lint import lint
from rolewall.policies.model import Access, HostPort, Limits, Policy

__all__ = ["Compiled", "Hidden", "Mount", "compile_mounts"]


@dataclass(frozen=True, slots=True)
class Mount:
    """One shared zone in the box: at ``target``, writable or read-only. ``held`` and
    ``unread`` are those of ``ViewZone``."""

    zone: str
    target: str
    writable: bool
    owner: str
    held: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hidden:
    """A zone that must not exist in the box."""

    zone: str
    owner: str
    held: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class Compiled:
    """What the box of ``role`` has, under the policy called ``policy``.

    ``mounts`` and ``hidden`` together are every shared zone; ``private`` are the
    names of private zones, each an empty file system at ``/name``. ``network``
    empty means a loopback device and nothing else.
    """

    policy: str
    role: str
    mounts: tuple[Mount, ...]
    hidden: tuple[Hidden, ...]
    private: tuple[str, ...]
    network: tuple[HostPort, ...]
    limits: Limits

    def view(self) -> View:
        """What the classifier judges by."""
        return View(self.role, self.zones())

    def zones(self) -> tuple[ViewZone, ...]:
        """Every zone, hidden ones too, with its owner and this role's access; private ones are
        this role's own."""
        return tuple(self._zones())

    def _zones(self) -> Iterator[ViewZone]:
        for mount in self.mounts:
            access = Access.WRITE if mount.writable else Access.READ
            yield ViewZone(mount.zone, mount.owner, access, False, mount.held, mount.unread)
        for hidden in self.hidden:
            yield ViewZone(
                hidden.zone, hidden.owner, Access.HIDDEN, False, hidden.held, hidden.unread
            )
        for name in self.private:
            yield ViewZone(name, self.role, Access.WRITE, private=True)


def compile_mounts(policy: Policy, role: str) -> Compiled:
    """What the box of ``role`` has.

    Raises:
        PolicyError: the role is unknown, or the policy does not pass the lint.
    """
    lint(policy)
    if role not in policy.roles:
        known = ", ".join(policy.roles)
        place = f"policy {policy.name}"
        raise PolicyError("unknown role", place=place, got=role, expected=f"one of {known}")
    zones = View.of(policy, role).zones
    shared = [zone for zone in zones if not zone.private]
    return Compiled(
        policy=policy.name,
        role=role,
        mounts=tuple(_mount(zone) for zone in shared if zone.access is not Access.HIDDEN),
        hidden=tuple(
            Hidden(zone.name, zone.owner, zone.held, zone.unread)
            for zone in shared
            if zone.access is Access.HIDDEN
        ),
        private=tuple(z.name for z in zones if z.private and z.access is Access.WRITE),
        network=tuple(policy.network.get(role, ())),
        limits=policy.limits,
    )


def _mount(zone: ViewZone) -> Mount:
    writable = zone.access is Access.WRITE
    return Mount(zone.name, f"/{zone.name}", writable, zone.owner, zone.held, zone.unread)
