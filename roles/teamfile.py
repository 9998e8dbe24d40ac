"""The shape of ``team.yaml``: keys, types and what goes together."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from rolewall._validate import Strict
from rolewall.errors import PolicyError
from rolewall.policies import TEAM_ROLES, LimitsFile, Observe, condition
from rolewall.roles.agentfile import AgentFile
from rolewall.roles.modelsfile import ModelsFile
from rolewall.roles.toolsfile import ToolsFile

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
        if name not in TEAM_ROLES:
            raise ValueError(f"unknown role {name!r}, not one of {', '.join(TEAM_ROLES)}")
    for name in _REQUIRED:
        if name not in roles:
            raise ValueError(f"no {name}; a team has an executor and a verifier")
    return roles


class ZoneFile(Strict):
    """A further zone; ``owner`` is the role that writes it, and all others read it."""

    owner: str


class TeamFile(Strict):
    """``rounds`` counts executor phases; ``replan`` sends a reject to the planner; ``verify`` says
    whether there is a verdict at the end alone or after each step of the plan;
    ``observe`` says what is recorded of every role, ``reads`` beside ``changes``; ``models``
    are the endpoints that agents may name; ``zones`` are further ones, by name."""

    team: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    sandbox: SandboxFile = SandboxFile()
    limits: LimitsFile = LimitsFile()
    rounds: Annotated[int, Field(ge=1, le=100)] = 1
    replan: bool = False
    verify: Literal["end", "each-step"] = "end"
    observe: Observe = "changes"
    models: Annotated[ModelsFile, Field(max_length=20)] = Field(default_factory=dict)
    zones: Annotated[dict[str, ZoneFile], Field(max_length=20)] = Field(default_factory=dict)
    tools: Annotated[ToolsFile, Field(max_length=50)] = Field(default_factory=dict)
    roles: Annotated[dict[str, RoleFile], AfterValidator(_roles)]

    @model_validator(mode="after")
    def _replan(self) -> TeamFile:
        if self.replan and "planner" not in self.roles:
            raise ValueError("replan needs a planner")
        return self

    @model_validator(mode="after")
    def _stepwise(self) -> TeamFile:
        if self.verify == "each-step" and "planner" not in self.roles:
            raise ValueError("verify: each-step needs a planner, whose plan has the steps")
        return self

    @model_validator(mode="after")
    def _zones(self) -> TeamFile:
        taken = {zone.name for zone in condition("enforced")(TEAM_ROLES).zones}
        for name, zone in self.zones.items():
            if name in taken:
                raise ValueError(f"zone {name!r} is rolewall's own; give another name")
            if zone.owner not in self.roles:
                known = ", ".join(self.roles)
                raise ValueError(f"zone {name!r} is owned by {zone.owner!r}, no role of {known}")
        # Names that a box needs, or that are none, are the policy's to refuse.
        try:
            condition("enforced")(self.in_order(), zones=self.zone_owners())
        except PolicyError as error:
            raise ValueError(error.message) from None
        return self

    def zone_owners(self) -> dict[str, str]:
        return {name: zone.owner for name, zone in self.zones.items()}

    def in_order(self) -> tuple[str, ...]:
        return tuple(role for role in TEAM_ROLES if role in self.roles)
