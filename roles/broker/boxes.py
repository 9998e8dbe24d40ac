"""The boxes that tools run in: the team's files, the allowed destinations, and no zone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rolewall.policies import Limits
from rolewall.roles.broker.tool import Http, Tool
from rolewall.roles.placeholders import expand
from rolewall.sandbox import Backend, Box, BoxSpec, open_box

__all__ = ["FETCH", "ToolBoxes"]

AGENTS = "/rolewall/agents"
FETCH = "tool/fetch.py"
PROGRAM = Path(__file__).with_name("fetching.py")


@dataclass(frozen=True)
class ToolBoxes:
    """What all tool boxes of an episode share.

    Attributes:
        files, programs: what lies at ``/rolewall``; see ``BoxSpec``.
        absent: the zones of the episode's policy, none of which is there.
        task: the task's id.
    """

    backend: Backend
    image: str
    limits: Limits
    files: Mapping[str, bytes]
    programs: Mapping[str, bytes]
    absent: tuple[str, ...]
    shown: tuple[Path, ...]
    task: str

    def open(self, tool: Tool) -> Box:
        """A box of this tool's own. Raises what ``open_box`` does."""
        return open_box(self.backend, self._spec(tool))

    def argv(self, tool: Tool) -> tuple[str, ...]:
        """The tool's command, with its placeholders filled in."""
        values = {"agents": AGENTS, "task": self.task}
        return tuple(expand(word, values) for word in tool.argv)

    def _spec(self, tool: Tool) -> BoxSpec:
        ours = isinstance(tool.means, Http)
        return BoxSpec(
            label=f"tool {tool.name}",
            mounts=(),
            absent=self.absent,
            files={FETCH: PROGRAM.read_bytes()} if ours else self.files,
            programs={} if ours else self.programs,
            # Our own program needs a Python, which not every image has.
            image="host" if ours else self.image,
            limits=self.limits,
            tap=False,  # nothing here is a role's
            allow=tool.network,
            env={"ROLEWALL_TASK": self.task, "ROLEWALL_TOOL": tool.name},
            shown=() if ours else self.shown,
        )
