"""Whether the programs of a team's tools are there, as far as that is told without a box."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rolewall.errors import TeamError
from rolewall.plan import Episode, Plan
from rolewall.roles import AGENTS_PATH, Tool
from rolewall.sandbox import BoxSpec, looked_in, programs_found

__all__ = ["check_tool_programs"]

AGENTS = "{agents}/"


def check_tool_programs(plan: Plan, episodes: Sequence[Episode]) -> None:
    """Hold that no tool's program is missing on this machine; what only a box of an image can
    tell is found when it is called.

    Raises:
        TeamError: one is not there.
    """
    for image in dict.fromkeys(episode.image for episode in episodes):
        for tool in plan.team.tools.values():
            if tool.argv:
                _check(plan, tool, image)


def _check(plan: Plan, tool: Tool, image: str) -> None:
    name, shown = tool.argv[0], tuple(map(Path, plan.info.shown))
    spec = BoxSpec(label="look", mounts=(), image=image, tap=False, shown=shown)
    if name.startswith(AGENTS):
        found, where = name.removeprefix(AGENTS) in plan.team.files_of(""), AGENTS_PATH
    else:
        found, where = programs_found(spec, name) != (), looked_in(spec)
    if not found:
        raise TeamError(
            f"a tool's program is not there; looked in {where}",
            place=f"{plan.team.path}: tools.{tool.name}",
            got=name,
            expected="a program of the image, of a directory of --show, or beside the team file",
        )
