"""The built-in conditions, and how to find one by name.

======================  ============================================================
``enforced``            each zone has one writer, its owner
``prompt-only``         reading as enforced; every shared zone that a role may read
                        is also writable by it
======================  ============================================================

``prompt-only`` takes away the wall and nothing else. So what is hidden stays
hidden, and the harness's own ``spec`` and ``brief`` become writable like the
rest: what a role does to them is recorded as an edit, and no grade depends on
it, since the grade box gets its copies from the task. ``grader`` is hidden from
every role in every condition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rolewall.errors import PolicyError
from rolewall.policies.lint import lint
from rolewall.policies.model import HARNESS, Access, HostPort, Limits, Policy, Zone

__all__ = ["CONDITIONS", "ROLES", "condition", "enforced", "prompt_only"]

ROLES = ("planner", "executor", "verifier")

_H, _R, _W = Access.HIDDEN, Access.READ, Access.WRITE

# zone, owner, and the access of planner, executor and verifier when enforced
_TABLE: tuple[tuple[str, str, tuple[Access, Access, Access]], ...] = (
    ("spec", HARNESS, (_R, _H, _R)),
    ("brief", HARNESS, (_R, _R, _R)),
    ("workspace", "executor", (_R, _W, _R)),
    ("plan", "planner", (_W, _R, _R)),
    ("report", "executor", (_H, _W, _R)),
    ("feedback", "verifier", (_R, _R, _W)),
    ("verdict", "verifier", (_H, _H, _W)),
    ("history", HARNESS, (_H, _H, _H)),
    ("grader", HARNESS, (_H, _H, _H)),
)
_PRIVATE = ("tmp", "home")


def enforced(
    roles: tuple[str, ...] = ROLES,
    *,
    limits: Limits | None = None,
    network: Mapping[str, tuple[HostPort, ...]] | None = None,
) -> Policy:
    """Each shared zone is written by its owner alone.

    A zone whose owner is not in ``roles`` does not exist: a team without a
    planner has no ``plan``.

    Raises:
        PolicyError: ``roles`` is empty or names a role that has no duties here.
    """
    return _build("enforced", roles, limits, network, wall=True)


def prompt_only(
    roles: tuple[str, ...] = ROLES,
    *,
    limits: Limits | None = None,
    network: Mapping[str, tuple[HostPort, ...]] | None = None,
) -> Policy:
    """What a role may read in ``enforced`` it may here also write; hidden stays hidden.

    Raises:
        PolicyError: ``roles`` is empty or names a role that has no duties here.
    """
    return _build("prompt-only", roles, limits, network, wall=False)


CONDITIONS: Mapping[str, Callable[..., Policy]] = {
    "enforced": enforced,
    "prompt-only": prompt_only,
}


def condition(name: str) -> Callable[..., Policy]:
    """The builder of the condition called ``name``; an unknown name is a ``PolicyError``."""
    if name not in CONDITIONS:
        known = ", ".join(CONDITIONS)
        raise PolicyError("unknown condition", got=name, expected=f"one of {known}")
    return CONDITIONS[name]


def _build(
    name: str,
    roles: tuple[str, ...],
    limits: Limits | None,
    network: Mapping[str, tuple[HostPort, ...]] | None,
    *,
    wall: bool,
) -> Policy:
    _known(roles)
    rows = [row for row in _TABLE if row[1] == HARNESS or row[1] in roles]
    shared = tuple(Zone(zone, owner) for zone, owner, _ in rows)
    policy = Policy(
        name=name,
        roles=tuple(role for role in ROLES if role in roles),
        zones=shared + tuple(Zone(zone, HARNESS, private=True) for zone in _PRIVATE),
        access={role: _column(role, rows, wall) for role in ROLES if role in roles},
        network=dict(network or {}),
        limits=limits or Limits(),
        single_writer=wall,
    )
    lint(policy)
    return policy


def _column(
    role: str, rows: list[tuple[str, str, tuple[Access, Access, Access]]], wall: bool
) -> dict[str, Access]:
    index = ROLES.index(role)
    column = {zone: accesses[index] for zone, _, accesses in rows}
    if not wall:
        column = {zone: _W if access is _R else access for zone, access in column.items()}
    return column | dict.fromkeys(_PRIVATE, _W)


def _known(roles: tuple[str, ...]) -> None:
    for role in roles:
        if role not in ROLES:
            raise PolicyError("unknown role", got=role, expected=f"one of {', '.join(ROLES)}")
    if not roles:
        raise PolicyError("a policy without roles", expected=f"some of {', '.join(ROLES)}")
