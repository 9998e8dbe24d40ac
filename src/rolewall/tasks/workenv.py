"""The environment that a task's image expects, in boxes that run the work and in others."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from posixpath import normpath

from rolewall.policies import TEAM_ROLES, condition
from rolewall.sandbox import WORKSPACE
from rolewall.tasks.model import Task

__all__ = ["role_environment", "work_environment"]

PACKAGES = "/rolewall/python"


def work_environment(task: Task) -> dict[str, str]:
    """For a box that runs the work: the image's own, with the box's packages. Its search
    path is the image's part of one: the box puts its own programs before.

    Native tasks bring none, and what a box sets by itself then holds.
    """
    env = dict(task.env)
    if "PYTHONPATH" in env:
        env["PYTHONPATH"] = f"{PACKAGES}:{env['PYTHONPATH']}"
    return env


def role_environment(task: Task, *, works: bool, zones: Iterable[str] = ()) -> dict[str, str]:
    """For a role's box. Only for the role that ``works``, the workspace's owner, it is that
    of the work: an image may tell programs to load files from the work itself, which would
    run the executor's code in a verifier's box. All others get its search path alone, and
    of that what does not lie in the work or in another zone, the team's own ``zones`` among
    them; the same in every condition.
    """
    if works:
        return work_environment(task)
    path = dict(task.env).get("PATH")
    if path is None:
        return {}
    known = (zone.name for zone in condition("enforced")(TEAM_ROLES).zones)
    work = {WORKSPACE, task.workdir or WORKSPACE, *(f"/{name}" for name in (*known, *zones))}
    plain = [PurePosixPath(normpath(part)) for part in path.split(":") if part.startswith("/")]
    kept = [str(part) for part in plain if not any(map(part.is_relative_to, work))]
    return {"PATH": ":".join(kept)}
