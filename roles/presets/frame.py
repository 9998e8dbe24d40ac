"""What a preset is: how one coding agent is started in a box, and how its output is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rolewall.roles.agents import PresetName
from rolewall.roles.steps import Trajectory

__all__ = ["Preset", "Printed", "Start", "Told"]


@dataclass(frozen=True)
class Told:
    """What one turn gives a preset.

    Attributes:
        program: the agent's program: a path in the box, or a name on its search path.
        model: the name that the endpoint knows.
        prompt: the role's prompt; it lies at ``/rolewall/prompt.md`` as well.
        args: words that the team adds to the command line.
        url: the gateway in the box, without a path: ``http://127.0.0.1:8378``.
        key: the placeholder that stands for a key.
    """

    program: str
    model: str
    prompt: str
    args: tuple[str, ...]
    url: str
    key: str


@dataclass(frozen=True)
class Start:
    """How the program is started.

    Attributes:
        argv: the command.
        stdin: its whole input.
        env: variables besides those of the box and of the gateway; the team's come after
            these and win.
        files: what is written before, by a command in the box and as the role: absolute
            path in a private zone (``/home/…``) → content.
        then: a command that prints what the program wrote into a file, run when it has
            ended, in time or not; empty for none.
        cwd: where the program starts, a directory of one of ``files``; None: in the
            workspace.
    """

    argv: tuple[str, ...]
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    then: tuple[str, ...] = ()
    cwd: str | None = None


@dataclass(frozen=True)
class Printed:
    """What the program printed, as far as it was kept; ``then`` is the output of
    ``Start.then``."""

    stdout: bytes
    stderr: bytes
    then: bytes = b""


class Preset(Protocol):
    """One coding agent.

    ``program`` is looked for on the box's PATH where the team names none; ``install`` says
    in one line how a user gets it.
    """

    @property
    def name(self) -> PresetName: ...

    @property
    def program(self) -> str: ...

    @property
    def install(self) -> str: ...

    def start(self, told: Told) -> Start:
        """How to play one turn. Pure: nothing is run, read or written."""
        ...

    def parse(self, printed: Printed) -> Trajectory:
        """What the agent said and did. Never raises for what a program printed: what cannot
        be read is named in ``problems``."""
        ...
