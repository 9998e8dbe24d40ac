"""The built-in conditions, and how to find one by name.

===========================  =======================================================
``enforced``                 each zone has one writer, its owner
``prompt-only``              reading as enforced; every shared zone that a role may
                             read is also writable by it
``prompt-only-open``         as prompt-only, with specification and history open to
                             all: TeamBench's condition of that name
``enforced-shared-history``  as enforced, and every role reads what earlier ones ran
                             and what came of it
``solo``                     the executor alone, with the whole specification
``restricted``               the executor alone, with brief and workspace
``no-plan``                  as enforced, without the planner
``no-verify``                as enforced, without the verifier
===========================  =======================================================

``prompt-only`` takes away the wall and nothing else. So what is hidden stays
hidden, and the harness's own ``spec`` and ``brief`` become writable like the
rest: what a role does to them is recorded as an edit, and no grade depends on
it, since the grade box gets its copies from the task. ``grader`` is hidden from
every role in every condition.

A team may have a fourth role, the ``generator``, with a zone ``output`` of its own. It sees
work that was approved, and the brief, and takes part wherever there is a verifier; neither
specification nor history is ever opened to it. A team's further zones are written by their
owner and read by the others, a generator's of them the executor's alone.

Whoever has no part in a condition owns nothing in it: without a planner there is
no ``plan``, without a verifier neither ``feedback`` nor ``verdict``. ``report``
is the executor's in all of them, for the grade box if for nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from rolewall.errors import PolicyError
from rolewall.policies.lint import lint
from rolewall.policies.model import HARNESS, Access, HostPort, Limits, Policy, Zone

__all__ = [
    "CONDITIONS",
    "HAS_VERIFIER",
    "HAS_WALL",
    "ROLES",
    "TEAM_ROLES",
    "condition",
    "enforced",
    "prompt_only",
]

ROLES = ("planner", "executor", "verifier")
TEAM_ROLES = (*ROLES, "generator")
"""Every role that a team may have, in the order of phases."""

_H, _R, _W = Access.HIDDEN, Access.READ, Access.WRITE

_Row = tuple[str, str, tuple[Access, ...]]
# zone, owner, and the access of planner, executor, verifier and generator when enforced
_TABLE: tuple[_Row, ...] = (
    ("spec", HARNESS, (_R, _H, _R, _H)),
    ("brief", HARNESS, (_R, _R, _R, _R)),
    ("workspace", "executor", (_R, _W, _R, _R)),
    ("plan", "planner", (_W, _R, _R, _H)),
    ("report", "executor", (_H, _W, _R, _H)),
    ("feedback", "verifier", (_R, _R, _W, _H)),
    ("verdict", "verifier", (_H, _H, _W, _H)),
    ("output", "generator", (_R, _R, _R, _W)),
    ("history", HARNESS, (_H, _H, _H, _H)),
    ("grader", HARNESS, (_H, _H, _H, _H)),
)
_PRIVATE = ("tmp", "home")


@dataclass(frozen=True, slots=True)
class _Shape:
    """How a condition differs from ``enforced``: who takes part, which zones are open to
    all that plan, work and judge, and whether there is a wall."""

    roles: tuple[str, ...] = TEAM_ROLES
    opened: frozenset[str] = frozenset()
    wall: bool = True

    def access(self, role: str, zone: str, enforced: Access) -> Access:
        opened = zone in self.opened and role in ROLES
        open_to_all = _R if opened and enforced is _H else enforced
        return open_to_all if self.wall or open_to_all is not _R else _W


_SHAPES: Mapping[str, _Shape] = {
    "enforced": _Shape(),
    "prompt-only": _Shape(wall=False),
    "prompt-only-open": _Shape(opened=frozenset({"spec", "history"}), wall=False),
    "enforced-shared-history": _Shape(opened=frozenset({"history"})),
    "solo": _Shape(roles=("executor",), opened=frozenset({"spec"})),
    "restricted": _Shape(roles=("executor",)),
    "no-plan": _Shape(roles=("executor", "verifier", "generator")),
    "no-verify": _Shape(roles=("planner", "executor")),
}
_LESS = {"no-plan": "planner", "no-verify": "verifier"}

HAS_VERIFIER: Mapping[str, bool] = {
    name: "verifier" in shape.roles for name, shape in _SHAPES.items()
}
"""Which conditions have one; the others give no verdict."""
HAS_WALL: Mapping[str, bool] = {name: shape.wall for name, shape in _SHAPES.items()}
"""Which conditions have one; in the others roles are told only."""


def enforced(
    roles: tuple[str, ...] = ROLES,
    *,
    limits: Limits | None = None,
    network: Mapping[str, tuple[HostPort, ...]] | None = None,
    zones: Mapping[str, str] | None = None,
) -> Policy:
    """Each shared zone is written by its owner alone.

    A zone whose owner is not in ``roles`` does not exist: a team without a
    planner has no ``plan``. ``zones`` are further ones, with their owners.

    Raises:
        PolicyError: ``roles`` is empty or names a role that has no duties here.
    """
    return _build("enforced", roles, limits=limits, network=network, zones=zones)


def prompt_only(
    roles: tuple[str, ...] = ROLES,
    *,
    limits: Limits | None = None,
    network: Mapping[str, tuple[HostPort, ...]] | None = None,
    zones: Mapping[str, str] | None = None,
) -> Policy:
    """What a role may read in ``enforced`` it may here also write; hidden stays hidden.

    Raises:
        PolicyError: ``roles`` is empty or names a role that has no duties here.
    """
    return _build("prompt-only", roles, limits=limits, network=network, zones=zones)


def condition(name: str) -> Callable[..., Policy]:
    """The builder of the condition called ``name``, which takes what ``enforced`` takes.

    ``roles`` and ``network`` are the team's: who has no part in the condition is left out.
    The builder refuses a team that lacks whom the condition would take away, since that
    is no other condition than ``enforced``.

    Raises:
        PolicyError: the name is unknown.
    """
    if name not in CONDITIONS:
        known = ", ".join(CONDITIONS)
        raise PolicyError("unknown condition", got=name, expected=f"one of {known}")
    return CONDITIONS[name]


def _build(
    name: str,
    roles: tuple[str, ...] = ROLES,
    *,
    limits: Limits | None = None,
    network: Mapping[str, tuple[HostPort, ...]] | None = None,
    zones: Mapping[str, str] | None = None,
) -> Policy:
    shape = _SHAPES[name]
    _known(roles)
    acting = _acting(name, roles)
    absent = set(roles) - set(acting)
    further = [_further(zone, owner) for zone, owner in (zones or {}).items()]
    rows = [row for row in (*_TABLE, *further) if row[1] == HARNESS or row[1] in acting]
    shared = tuple(Zone(zone, owner) for zone, owner, _ in rows)
    policy = Policy(
        name=name,
        roles=acting,
        zones=shared + tuple(Zone(zone, HARNESS, private=True) for zone in _PRIVATE),
        access={role: _column(role, rows, shape) for role in acting},
        network={role: to for role, to in (network or {}).items() if role not in absent},
        limits=limits or Limits(),
        single_writer=shape.wall,
    )
    lint(policy)
    return policy


def _further(zone: str, owner: str) -> _Row:
    """A team's own zone: its owner writes, the others read. A generator is given what a
    verdict can cover, so that of others' zones it has the executor's alone."""
    rest = dict.fromkeys(ROLES, _R) | {"generator": _R if owner == "executor" else _H}
    return zone, owner, tuple(_W if role == owner else rest[role] for role in TEAM_ROLES)


def _column(role: str, rows: list[_Row], shape: _Shape) -> dict[str, Access]:
    index = TEAM_ROLES.index(role)
    column = {zone: shape.access(role, zone, accesses[index]) for zone, _, accesses in rows}
    return column | dict.fromkeys(_PRIVATE, _W)


def _known(roles: tuple[str, ...]) -> None:
    for role in roles:
        if role not in TEAM_ROLES:
            raise PolicyError("unknown role", got=role, expected=f"one of {', '.join(TEAM_ROLES)}")
    if not roles:
        raise PolicyError("a policy without roles", expected=f"some of {', '.join(ROLES)}")


def _acting(name: str, roles: tuple[str, ...]) -> tuple[str, ...]:
    """Who of a team takes part, in the order of phases."""
    less = _LESS.get(name)
    if less is not None and less not in roles:
        raise PolicyError(
            f"condition {name} takes away the {less}, and the team has none",
            expected=f"a team with a {less}",
            hint="enforced is the same for this team",
        )
    acting = tuple(role for role in _SHAPES[name].roles if role in roles)
    if not acting:
        raise PolicyError(f"nobody of the team takes part in condition {name}",
                          got=", ".join(roles), expected="an executor")  # fmt: skip
    return acting


CONDITIONS: Mapping[str, Callable[..., Policy]] = {name: partial(_build, name) for name in _SHAPES}
