"""What a TeamBench task asks for and does not get here, a line each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rolewall._beneath import Root
from rolewall.policies import escape, shorten
from rolewall.tasks.model import Recipe
from rolewall.tasks.teambench_recipe import lfs_pointers
from rolewall.terminal import listed

__all__ = ["notes_of"]

_ROLES = {"planner", "executor", "verifier"}


def notes_of(root: Root, said: Mapping[str, Any], recipe: Recipe | None) -> Iterator[str]:
    """
    Args:
        said: the keys of ``task.yaml``, of which those known are of the right type.
    """
    if root.kind("task.yaml") is None:
        yield "no task.yaml: its directory's name is its id, and 900 seconds are its limit"
    if said["network"]:
        yield "network: true is not granted; name destinations in the team"
    if said["parameterized"] and recipe is None:
        yield "no seed is applied: the task has no generator, and its static files are used"
    if said["roles"] and set(said["roles"]) != _ROLES:
        yield f"roles {_words(said['roles'])}: who plays is said by team and condition"
    for key, why in (
        ("expertise_tools", "must be in the image"),
        ("budget", "no such limit is kept; the team's limits are"),
        ("status", "as the task says of itself"),
    ):
        if said.get(key) is not None:
            yield f"{key} {_words(said[key])}: {why}"
    if recipe and (pointers := lfs_pointers(recipe)):
        yield f"Git LFS pointers stand where data should: {listed(pointers, 3)}"
    if root.kind("analysis_guidance.md") is not None:
        yield "analysis_guidance.md is shown to no role; TeamBench has a planner that reads it"
    if root.kind("corpus") is not None and not (recipe and recipe.kind == "generator"):
        yield "corpus is shown to no role; TeamBench shows it to the planner"


def _words(value: object) -> str:
    named = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return shorten(escape(named.encode("utf-8", "backslashreplace")))
