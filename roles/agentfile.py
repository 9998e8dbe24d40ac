"""The shape of ``agent:`` in a team file: one kind of agent, and what all kinds share."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from rolewall._validate import Strict
from rolewall.roles.chatfile import ChatFile
from rolewall.roles.handoff import relative_path
from rolewall.roles.modelsfile import BudgetFile
from rolewall.roles.placeholders import checked_word
from rolewall.roles.presetfile import PresetFile

__all__ = ["AgentFile", "HumanFile", "ReplayFile"]

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_KINDS = ("command", "script", "chat", "claude-code", "codex", "opencode", "mini-swe-agent",
          "replay", "human")  # fmt: skip
_MODELLED = ("chat", "claude-code", "codex", "opencode", "mini-swe-agent")  # need an endpoint
_OFFERED = ("command", *_MODELLED)  # may have one
_BESIDE = ("prompt", "env", "network", "endpoint", "budget")


def _kind_is_known(data: object) -> object:
    """What is meant is often plain from what was written; pydantic's words would not tell it."""
    if isinstance(data, str):
        raise ValueError(f"not a mapping; write {_written(data)}")
    if not isinstance(data, Mapping):
        return data
    for name, value in data.items():
        if name in _MODELLED and not isinstance(value, Mapping):
            model = value if isinstance(value, str) and value else "NAME"
            raise ValueError(f"{name} is not a mapping; write {{{name}: {{model: {model}}}}}")
        if name in _MODELLED and isinstance(value, Mapping):
            _hold_beside(name, value)
    if not any(kind in data for kind in _KINDS):
        unknown = [str(name) for name in data if name not in _BESIDE]
        if unknown and (close := _close(unknown[0])):
            raise ValueError(f"{unknown[0]!r} is no kind of agent; {close} is one")
    return data


def _hold_beside(kind: str, settings: Mapping[Any, Any]) -> None:
    own = (ChatFile if kind == "chat" else PresetFile).model_fields
    for name in _BESIDE:
        if name in settings and name not in own:
            raise ValueError(
                f"{name} stands beside {kind}, not in it: {{{kind}: {{…}}, {name}: …}}"
            )


def _written(kind: str) -> str:
    """How an agent of ``kind``, or of what it may mean, is written."""
    known = kind if kind in _KINDS else _close(kind)
    if known in ("replay", "human"):
        return f"{{{known}: {{}}}}"
    return f"{{{known}: {{model: NAME}}}}" if known in _MODELLED else "such as {command: [PROGRAM]}"


def _close(name: str) -> str:
    """The kind that ``name`` may mean; empty for none."""
    begun = [kind for kind in _KINDS if kind.startswith(name[:4]) and len(name) >= 4]
    return next(iter(begun or difflib.get_close_matches(name, _KINDS, 1)), "")


def _environment(values: dict[str, str]) -> dict[str, str]:
    for name in values:
        if not _ENV_NAME.match(name):
            raise ValueError(f"{name!r} is no name of a variable")
        if name.startswith("ROLEWALL_"):
            raise ValueError(f"{name!r} is set by the harness")
    return values


Word = Annotated[str, AfterValidator(checked_word)]


class NetworkFile(Strict):
    """``allow`` empty, or no ``network`` at all: none."""

    allow: list[str] = Field(default_factory=list, max_length=100)


class ReplayFile(Strict):
    """Nothing is chosen here: which recording is the caller's to say."""


class HumanFile(Strict):
    """``shell`` is run in the role's box."""

    shell: Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^/[^\x00]*$")] = "/bin/sh"


class AgentFile(Strict):
    """Exactly one kind, and what goes with it. ``endpoint`` is the name of one of the team's
    ``models``; where the team has only one, an agent that needs a model needs no name."""

    command: Annotated[list[Word], Field(min_length=1, max_length=1000)] | None = None
    script: Annotated[str, Field(min_length=1), AfterValidator(relative_path)] | None = None
    chat: ChatFile | None = None
    claude_code: PresetFile | None = Field(default=None, alias="claude-code")
    codex: PresetFile | None = None
    opencode: PresetFile | None = None
    mini_swe_agent: PresetFile | None = Field(default=None, alias="mini-swe-agent")
    replay: ReplayFile | None = None
    human: HumanFile | None = None
    prompt: Literal["file", "argument", "stdin"] | None = None
    env: Annotated[dict[str, Word], AfterValidator(_environment)] = Field(default_factory=dict)
    network: NetworkFile = NetworkFile()
    endpoint: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    budget: BudgetFile | None = None

    @model_validator(mode="before")
    @classmethod
    def _told(cls, data: object) -> object:
        return _kind_is_known(data)

    @property
    def kind(self) -> str:
        return next(kind for kind in _KINDS if self._has(kind))

    @property
    def needs_model(self) -> bool:
        return self.kind in _MODELLED

    @property
    def preset(self) -> PresetFile | None:
        return self.claude_code or self.codex or self.opencode or self.mini_swe_agent

    def _has(self, kind: str) -> bool:
        return getattr(self, kind.replace("-", "_")) is not None

    @model_validator(mode="after")
    def _one(self) -> AgentFile:
        kinds = [kind for kind in _KINDS if self._has(kind)]
        if len(kinds) != 1:
            raise ValueError(f"an agent is one of {', '.join(_KINDS)}; got {len(kinds)} of them")
        if self.command is not None and not self.command[0]:
            raise ValueError("the command's first word is empty")
        if self.prompt is not None and self.command is None:
            raise ValueError(f"{kinds[0]} is given no prompt; prompt belongs to command")
        if kinds[0] not in _OFFERED and self.endpoint is not None:
            raise ValueError(f"{kinds[0]} calls no model; endpoint belongs to others")
        if self.budget is not None and self.endpoint is None and kinds[0] not in _MODELLED:
            raise ValueError("a budget without an endpoint")
        return self
