"""The shape of ``team.yaml``: keys, types and what goes together."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from rolewall._validate import Strict
from rolewall.policies import ROLES, LimitsFile, Observe
from rolewall.roles.handoff import relative_path
from rolewall.roles.placeholders import PLACEHOLDERS, unknown_placeholders

__all__ = ["AgentFile", "TeamFile"]

_REQUIRED = ("executor", "verifier")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def _word(text: str) -> str:
    if "\0" in text:
        raise ValueError("a NUL character")
    unknown = unknown_placeholders(text)
    if unknown:
        known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        raise ValueError(
            f"unknown placeholder {{{unknown[0]}}}, not one of {known}; "
            f"for the text itself write {{{{{unknown[0]}}}}}"
        )
    return text


def _environment(values: dict[str, str]) -> dict[str, str]:
    for name in values:
        if not _ENV_NAME.match(name):
            raise ValueError(f"{name!r} is no name of a variable")
        if name.startswith("ROLEWALL_"):
            raise ValueError(f"{name!r} is set by the harness")
    return values


Word = Annotated[str, AfterValidator(_word)]


class SandboxFile(Strict):
    """``image`` ``host`` is the machine's own ``/usr``; another one exists on docker only."""

    backend: Literal["auto", "docker", "bubblewrap"] = "auto"
    image: Annotated[str, Field(min_length=1, max_length=512, pattern=r"^[^\s\x00]+$")] = "host"

    @model_validator(mode="after")
    def _image(self) -> SandboxFile:
        if self.backend == "bubblewrap" and self.image != "host":
            raise ValueError("backend bubblewrap has the image host only; use docker for another")
        return self


class NetworkFile(Strict):
    """``allow`` empty, or no ``network`` at all: none."""

    allow: list[str] = Field(default_factory=list, max_length=100)


class AgentFile(Strict):
    """Either ``command`` or ``script``."""

    command: Annotated[list[Word], Field(min_length=1, max_length=1000)] | None = None
    script: Annotated[str, Field(min_length=1), AfterValidator(relative_path)] | None = None
    prompt: Literal["file", "argument", "stdin"] | None = None
    env: Annotated[dict[str, Word], AfterValidator(_environment)] = Field(default_factory=dict)
    network: NetworkFile = NetworkFile()

    @model_validator(mode="after")
    def _one(self) -> AgentFile:
        if (self.command is None) == (self.script is None):
            raise ValueError("an agent has either command or script")
        if self.command is not None and not self.command[0]:
            raise ValueError("the command's first word is empty")
        if self.script is not None and self.prompt is not None:
            raise ValueError("a script is given no prompt; prompt belongs to command")
        return self


class RoleFile(Strict):
    agent: AgentFile


def _roles(roles: dict[str, RoleFile]) -> dict[str, RoleFile]:
    for name in roles:
        if name not in ROLES:
            raise ValueError(f"unknown role {name!r}, not one of {', '.join(ROLES)}")
    for name in _REQUIRED:
        if name not in roles:
            raise ValueError(f"no {name}; a team has an executor and a verifier")
    return roles


class TeamFile(Strict):
    """``rounds`` counts executor phases; ``replan`` sends a reject to the planner;
    ``observe`` says what is recorded of every role, ``reads`` beside ``changes``."""

    team: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    sandbox: SandboxFile = SandboxFile()
    limits: LimitsFile = LimitsFile()
    rounds: Annotated[int, Field(ge=1, le=100)] = 1
    replan: bool = False
    observe: Observe = "changes"
    roles: Annotated[dict[str, RoleFile], AfterValidator(_roles)]

    @model_validator(mode="after")
    def _replan(self) -> TeamFile:
        if self.replan and "planner" not in self.roles:
            raise ValueError("replan needs a planner")
        return self

    def in_order(self) -> tuple[str, ...]:
        return tuple(role for role in ROLES if role in self.roles)
