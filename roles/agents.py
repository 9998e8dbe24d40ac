"""The kinds of agents that can play a role, as a team states them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from rolewall.policies import HostPort
from rolewall.roles.chatfile import ChatFile
from rolewall.roles.models import ModelAccess
from rolewall.roles.placeholders import expand
from rolewall.roles.presetfile import PresetFile
from rolewall.roles.script import Script

__all__ = [
    "AGENTS_PATH",
    "PROMPT_PATH",
    "Agent",
    "ChatAgent",
    "CommandAgent",
    "HumanAgent",
    "PresetAgent",
    "PresetName",
    "ReplayAgent",
    "ScriptAgent",
]

AGENTS_PATH = "/rolewall/agents"
PROMPT_PATH = "/rolewall/prompt.md"

PresetName = Literal["claude-code", "codex", "opencode", "mini-swe-agent"]


@dataclass(frozen=True, kw_only=True)
class _Agent:
    """What all kinds share: ``env`` is of every command of the agent, ``network`` its
    destinations, ``access`` its way to a model, None for none."""

    kind: ClassVar[str]
    env: Mapping[str, str]
    network: tuple[HostPort, ...]
    access: ModelAccess | None = None

    def environment(self, *, role: str, task: str) -> dict[str, str]:
        values = placeholder_values(role, task)
        return {name: expand(value, values) for name, value in self.env.items()}


@dataclass(frozen=True, kw_only=True)
class CommandAgent(_Agent):
    """Any program, run in its role's box.

    ``prompt`` says how it is told what to do: ``file`` (it reads ``{prompt}``), ``argument``
    (the text is its last argument) or ``stdin``.
    """

    kind = "command"
    command: tuple[str, ...]
    prompt: Literal["file", "argument", "stdin"]

    def argv(self, *, role: str, task: str) -> tuple[str, ...]:
        """The command with its placeholders filled in; the prompt argument is not added."""
        values = placeholder_values(role, task)
        return tuple(expand(word, values) for word in self.command)


@dataclass(frozen=True, kw_only=True)
class ScriptAgent(_Agent):
    """A list of shell steps; ``path`` is its file, relative to the team file."""

    kind = "script"
    path: str
    script: Script


@dataclass(frozen=True, kw_only=True)
class ChatAgent(_Agent):
    """The tool loop of ``rolewall.roles.chat``, over a model that speaks OpenAI's chat."""

    kind = "chat"
    access: ModelAccess
    chat: ChatFile


@dataclass(frozen=True, kw_only=True)
class PresetAgent(_Agent):
    """A coding agent that the user has installed, run in its role's box through the gateway;
    see ``rolewall.roles.presets``."""

    access: ModelAccess
    preset: PresetName
    settings: PresetFile

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.preset

    def program(self, *, role: str, task: str) -> str:
        """What the team has in place of the preset's own program; empty for nothing."""
        return expand(self.settings.program or "", placeholder_values(role, task))


@dataclass(frozen=True, kw_only=True)
class ReplayAgent(_Agent):
    """What a recorded episode's role did, done again; the recording is the caller's."""

    kind = "replay"


@dataclass(frozen=True, kw_only=True)
class HumanAgent(_Agent):
    """A person, in a shell inside the role's box. ``shell`` is the program's path in it."""

    kind = "human"
    shell: str


Agent = CommandAgent | ScriptAgent | ChatAgent | PresetAgent | ReplayAgent | HumanAgent


def placeholder_values(role: str, task: str) -> dict[str, str]:
    return {"agents": AGENTS_PATH, "prompt": PROMPT_PATH, "role": role, "task": task}
