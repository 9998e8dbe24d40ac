"""Whom a binding condition binds.

============== ============================= ===================================
opened by      binds                         without an authority that has a part
============== ============================= ===================================
the task       every role                    every role
planner        planner, executor, generator  planner
executor       executor, generator           executor
verifier       planner, executor, generator; itself in what it writes, and
               itself in what it writes      nobody else
generator      generator                     generator
============== ============================= ===================================

What a verifier may read, or use, is held by the task alone: else whoever is judged could
keep from it what it judges by.
"""

from __future__ import annotations

from collections.abc import Mapping

from rolewall.policies import HARNESS

__all__ = ["binds"]

_VERIFIER = "verifier"
_UNDER: Mapping[str, frozenset[str]] = {
    "planner": frozenset({"planner", "executor", "generator"}),
    "executor": frozenset({"executor", "generator"}),
    _VERIFIER: frozenset({"planner", "executor", "generator"}),
    "generator": frozenset({"generator"}),
}


def binds(opener: str, role: str, action: str, *, valid: bool) -> bool:
    """Whether a condition that ``opener`` opened forbids ``role`` an action.

    Args:
        opener: a role, or ``harness`` for the task's.
        action: ``write ZONE``, ``read ZONE`` or ``use TOOL``.
        valid: whether the authority that it names has a part, so that it can be discharged.
    """
    if opener == HARNESS:
        return True
    if role == _VERIFIER:
        return opener == role and action.startswith("write ")
    return role in _UNDER[opener] if valid else role == opener
