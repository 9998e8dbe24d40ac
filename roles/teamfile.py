"""The shape of ``team.yaml``: keys, types and what goes together."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from rolewall._validate import Strict
from rolewall.policies import ROLES, LimitsFile, Observe
from rolewall.roles.agentfile import AgentFile
from rolewall.roles.modelsfile import ModelsFile

__all__ = ["TeamFile"]

_REQUIRED = ("executor", "verifier")


class SandboxFile(Strict):
    """``image`` ``host`` is the machine's own ``/usr``; another one exists on docker only."""

    backend: Literal["auto", "docker", "bubblewrap"] = "auto"
    image: Annotated[str, Field(min_length=1, max_length=512, pattern=r"^[^\s\x00]+$")] = "host"

    @model_validator(mode="after")
    def _image(self) -> SandboxFile:
        if self.backend == "bubblewrap" and self.image != "host":
            raise ValueError("backend bubblewrap has the image host only; use docker for another")
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
    ``observe`` says what is recorded of every role, ``reads`` beside ``changes``; ``models``
    are the endpoints that agents may name."""

    team: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    sandbox: SandboxFile = SandboxFile()
    limits: LimitsFile = LimitsFile()
    rounds: Annotated[int, Field(ge=1, le=100)] = 1
    replan: bool = False
    observe: Observe = "changes"
    models: Annotated[ModelsFile, Field(max_length=20)] = Field(default_factory=dict)
    roles: Annotated[dict[str, RoleFile], AfterValidator(_roles)]

    @model_validator(mode="after")
    def _replan(self) -> TeamFile:
        if self.replan and "planner" not in self.roles:
            raise ValueError("replan needs a planner")
        return self

    def in_order(self) -> tuple[str, ...]:
        return tuple(role for role in ROLES if role in self.roles)
