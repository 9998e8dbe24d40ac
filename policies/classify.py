"""Which attempts cross a role's wall, and what the wall made of them.

Pure functions over canonical box paths. The tap measures (does the target
exist, is its mount read-only, do mode bits permit); here it is judged.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .attempt import Effect, Kind, Outcome
from .model import Access, Policy, Zone

__all__ = [
    "DELETED",
    "Call",
    "Judgement",
    "Target",
    "View",
    "ViewZone",
    "is_cache",
    "is_own",
    "judge",
    "judge_peek",
]


@dataclass(frozen=True, slots=True)
class ViewZone:
    """One zone as one role meets it; hidden zones are listed too.

    ``held`` are the open conditions that forbid to write there, ``unread`` those that forbid
    to read there what the role could else read: their ids, and a word on how many more.
    """

    name: str
    owner: str
    access: Access
    private: bool = False
    held: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """All zones of a policy as one role meets them.

    ``also`` are further places of zones, as (path in the box, path of the zone): what is
    there is spoken of by its path in the zone, so that one file has one name.
    """

    role: str
    zones: tuple[ViewZone, ...]
    also: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, policy: Policy, role: str) -> View:
        """What ``policy`` gives to ``role``."""
        return cls(role, tuple(_view_zone(policy, role, zone) for zone in policy.zones))

    def in_zone(self, path: bytes) -> bytes:
        """A canonical box path, by the name that it has in its zone."""
        for place, zone in self.also:
            here = os.fsencode(place)
            if path == here or path.startswith(here + b"/"):
                return os.fsencode(zone) + path[len(here) :]
        return path

    def zone_at(self, path: str) -> ViewZone | None:
        """The zone that a canonical box path lies in, or None."""
        name = path[1:].partition("/")[0]
        for zone in self.zones:
            if zone.name == name:
                return zone
        return None

    def closed_at(self, path: str) -> ViewZone | None:
        """The zone that a canonical box path lies in, if the role should not look there: it is
        hidden, or a condition forbids to read it. Else None."""
        zone = self.zone_at(path)
        closed = zone is not None and (zone.access is Access.HIDDEN or zone.unread)
        return zone if closed else None

    def owns(self, zone: ViewZone) -> bool:
        return zone.private or zone.owner == self.role

    def to_json(self) -> dict[str, Any]:
        zones = [
            [z.name, z.owner, z.access.value, z.private, list(z.held), list(z.unread)]
            for z in self.zones
        ]
        return {"role": self.role, "zones": zones, "also": [list(pair) for pair in self.also]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> View:
        zones = tuple(
            ViewZone(name, owner, Access(access), private, tuple(held), tuple(unread))
            for name, owner, access, private, held, unread in data["zones"]
        )
        return cls(data["role"], zones, tuple((place, zone) for place, zone in data["also"]))


def _view_zone(policy: Policy, role: str, zone: Zone) -> ViewZone:
    seen = policy.access[role][zone.name] is not Access.HIDDEN
    return ViewZone(
        zone.name,
        zone.owner,
        policy.allows(role, zone.name),
        zone.private,
        held=policy.held(role, zone.name),
        unread=policy.held(role, zone.name, reading=True) if seen else (),
    )


@dataclass(frozen=True, slots=True)
class Target:
    """One path of a call, with what was measured; None is not known.

    ``read_only`` speaks of the mount that the change would land on,
    ``permits`` of mode bits and ownership for the role's user.
    """

    path: str
    exists: bool | None = None
    read_only: bool | None = None
    permits: bool | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A system call to be judged. ``targets`` is None where a path could not be read;
    ``denied`` says that the tap answered it with an error whatever its paths."""

    syscall: str
    effect: Effect
    targets: tuple[Target, ...] | None
    denied: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    kind: Kind
    outcome: Outcome
    zone: str
    owner: str
    why: str


DELETED = " (deleted)"
"""What the kernel puts behind the path of an open file whose name was removed."""

# Everything a process may write to that no other role can ever see: devices
# without memory, and the box's own terminals and shared memory.
_SCRATCH = re.compile(
    r"/dev/(?:null|zero|full|random|urandom|tty|ptmx|console|(?:pts|shm|mqueue)(?:/.*)?)\Z", re.S
)
# The role's own processes: every process of the box but its first one.
_OWN_PROC = re.compile(r"/proc/(?!1/)\d+/", re.S)

# Cache noise, relative to any directory of a zone. Each pattern names what one
# program tries to write without being asked. Git's index is not among it: boxes
# set GIT_OPTIONAL_LOCKS=0, so git takes its lock only to change something, and
# a refused lock is the one trace that a refused commit leaves.
_NOISE = re.compile(
    r"""(?:.*/)?(?:
        __pycache__                                        # Python's bytecode cache
      | __pycache__/[^/]+\.pyc(?:\.\d+)?                   #   .pyc.NNN is its temporary name
      | \.pytest_cache | pytest-cache-files-[^/]+          # pytest's cache, and its temporary name
      | (?:\.pytest_cache|pytest-cache-files-[^/]+)/
        (?:README\.md|\.gitignore|CACHEDIR\.TAG|v(?:/.*)?)
    )\Z""",
    re.S | re.X,
)
_NOISE_EFFECTS = frozenset({Effect.CREATE, Effect.WRITE, Effect.CREATE_WRITE, Effect.RENAME})
_TEMPORARY = re.compile(r"(?:.*/)?__pycache__/[^/]+\.pyc\.\d+\Z", re.S)
# A link is not among them: an open file without a name (O_TMPFILE) gets one so.
_NEEDS_TARGET = frozenset(Effect) - {
    Effect.CREATE,
    Effect.CREATE_WRITE,
    Effect.LINK,
    Effect.EXEC,
    Effect.READ,
    Effect.PRIVILEGED,
}
_WORST_FIRST = (Kind.EDIT, Kind.FORBIDDEN, Kind.OUTSIDE, Kind.INCIDENTAL, Kind.OWN)


def is_own(view: View, path: str) -> bool:
    """Whether ``path`` lies in a zone of the role itself that no condition holds, or where
    nobody else looks."""
    zone = view.zone_at(path)
    if zone is not None:
        return view.owns(zone) and not zone.held
    return bool(_SCRATCH.match(path) or _OWN_PROC.match(path))


def judge(view: View, call: Call) -> Judgement:
    """Kind and outcome of ``call`` by a role with ``view``.

    Of a call with two paths the one that crosses decides. A call over two zones
    is blocked by the kernel: zones are mounts of their own (EXDEV).
    """
    if call.denied:
        return Judgement(Kind.PRIVILEGED, Outcome.DENIED, "", "", f"{call.syscall} is denied")
    if call.targets is None:
        # An open for reading goes on: what is hidden is not there, whatever its path.
        answer = "" if call.effect is Effect.READ else "; answered EPERM"
        why = f"a path could not be read{answer}"
        return Judgement(Kind.OUTSIDE, Outcome.UNKNOWN, "", "", why)
    each = [_judge_target(view, call, target) for target in call.targets]
    worst = min(each, key=lambda found: _WORST_FIRST.index(found.kind))
    if worst.outcome is Outcome.ALLOWED and len({found.zone for found in each}) > 1:
        return _with_outcome(worst, Outcome.BLOCKED, "the two paths are on different mounts")
    blocked = [found for found in each if found.outcome is Outcome.BLOCKED]
    if worst.outcome is Outcome.ALLOWED and blocked:
        return _with_outcome(worst, Outcome.BLOCKED, blocked[0].why)
    return worst


def judge_peek(zone: ViewZone, there: bool | None) -> Judgement:
    """A look at ``zone``, which the role should not see; ``there`` says that something stood
    where it looked, which only a broken wall makes true, if there is one."""
    outcome, why = Outcome.BLOCKED, "zone is hidden"
    if zone.unread:
        if there or zone.access is not Access.HIDDEN:
            outcome, why = Outcome.ALLOWED, "zone can be read"
        why = _naming(why, zone.unread)
        return Judgement(Kind.FORBIDDEN, outcome, zone.name, zone.owner, why)
    if there:
        outcome, why = Outcome.ALLOWED, "zone is hidden, and it is there"
    return Judgement(Kind.PEEK, outcome, zone.name, zone.owner, why)


def _with_outcome(found: Judgement, outcome: Outcome, why: str) -> Judgement:
    return Judgement(found.kind, outcome, found.zone, found.owner, why)


def _judge_target(view: View, call: Call, target: Target) -> Judgement:
    zone = view.zone_at(target.path)
    if is_own(view, target.path):
        name, owner = (zone.name, view.role) if zone else ("", view.role)
        return Judgement(Kind.OWN, Outcome.ALLOWED, name, owner, "")
    outcome, why = _outcome(zone, target)
    if zone is None:
        return Judgement(Kind.OUTSIDE, outcome, "", "", why)
    if idle := _incidental(zone, call, target, outcome):
        return Judgement(Kind.INCIDENTAL, outcome, zone.name, zone.owner, idle)
    kind = Kind.FORBIDDEN if view.owns(zone) else Kind.EDIT
    return Judgement(kind, outcome, zone.name, zone.owner, _naming(why, zone.held))


def _naming(why: str, held: tuple[str, ...]) -> str:
    return f"{why}; forbidden by condition {', '.join(held)}" if held else why


def _outcome(zone: ViewZone | None, target: Target) -> tuple[Outcome, str]:
    if zone is not None and zone.access is Access.HIDDEN and not target.exists:
        return Outcome.BLOCKED, "zone is hidden"
    read_only = target.read_only
    if read_only is None and zone is not None:
        read_only = zone.access is not Access.WRITE
    if read_only is None:
        return Outcome.UNKNOWN, "the mount could not be examined"
    if read_only:
        return Outcome.BLOCKED, "mount is read-only"
    if target.permits is False:
        return Outcome.BLOCKED, "mode bits forbid it"
    return Outcome.ALLOWED, "mount is writable"


def _incidental(zone: ViewZone, call: Call, target: Target, outcome: Outcome) -> str:
    """Why this changes nothing of the owner's work, or an empty string."""
    if zone.access is Access.HIDDEN:
        return ""
    if call.effect is Effect.CREATE and target.exists:
        return "exists already"
    if call.effect in _NEEDS_TARGET and call.targets and _is_gone(call.targets[0]):
        return "nothing there to change"
    inside = target.path[len(zone.name) + 2 :]
    cache = call.effect in _NOISE_EFFECTS and is_cache(inside)
    cache = cache or (call.effect is Effect.UNLINK and bool(_TEMPORARY.match(inside)))
    # Bytecode that lands is run in place of its source: then it is content.
    return "cache" if cache and outcome is Outcome.BLOCKED else ""


def _is_gone(target: Target) -> bool:
    # A file may have other names than the one that was removed.
    return target.exists is False and not target.path.endswith(DELETED)


def is_cache(path: str) -> bool:
    """Whether a path, relative to a zone, is one that tools write caches to unasked."""
    return bool(_NOISE.match(path))
