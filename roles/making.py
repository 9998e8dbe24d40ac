"""From an agent's words in a team file to the agent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypedDict, cast

from rolewall.errors import TeamError
from rolewall.policies import HostPort, parse_host_port
from rolewall.roles.agentfile import AgentFile
from rolewall.roles.agents import (
    Agent,
    ChatAgent,
    CommandAgent,
    HumanAgent,
    PresetAgent,
    PresetName,
    ReplayAgent,
    ScriptAgent,
)
from rolewall.roles.chat import require_llm
from rolewall.roles.door import GATEWAY
from rolewall.roles.models import Budget, Endpoint, ModelAccess
from rolewall.roles.script import parse_script

__all__ = ["make_agent"]


class _Shared(TypedDict):
    env: Mapping[str, str]
    network: tuple[HostPort, ...]


def make_agent(
    role: str,
    agent: AgentFile,
    endpoints: Mapping[str, Endpoint],
    contents: Mapping[str, bytes],
    place: str,
) -> Agent:
    """The agent that plays ``role``.

    Args:
        contents: the files beside the team file, which is at ``place``.

    Raises:
        TeamError: it names a file, an endpoint or a model that is not there, or a budget
            that cannot be counted.
    """
    where = f"{place}: roles.{role}.agent"
    shared = _Shared(env=MappingProxyType(dict(agent.env)), network=_network(agent, where))
    access = _access(agent, endpoints, where)
    if access is not None:
        _keep_port_free(shared["network"], where)
    if agent.command is not None:
        command, prompt = tuple(agent.command), agent.prompt or "file"
        return CommandAgent(command=command, prompt=prompt, access=access, **shared)
    if agent.human is not None:
        return HumanAgent(shell=agent.human.shell, **shared)
    if agent.replay is not None:
        return ReplayAgent(**shared)
    if agent.script is not None:
        script = _script_file(agent.script, contents, where)
        parsed = parse_script(script, str(Path(place).parent / agent.script), role)
        return ScriptAgent(path=agent.script, script=parsed, **shared)
    return _with_model(agent, cast(ModelAccess, access), shared, where)


def _with_model(agent: AgentFile, access: ModelAccess, shared: _Shared, where: str) -> Agent:
    settings = agent.chat or agent.preset
    assert settings is not None
    if settings.model not in access.endpoint.allow:
        raise TeamError(
            f"the endpoint {access.endpoint.name} does not allow this model",
            place=f"{where}.{agent.kind}.model",
            got=settings.model,
            expected=f"one of {', '.join(access.endpoint.allow)}",
        )
    if agent.chat is not None:
        require_llm(f"{where}.chat")
        return ChatAgent(access=access, chat=agent.chat, **shared)
    assert agent.preset is not None
    name = cast(PresetName, agent.kind)
    return PresetAgent(access=access, preset=name, settings=agent.preset, **shared)


def _access(agent: AgentFile, endpoints: Mapping[str, Endpoint], where: str) -> ModelAccess | None:
    if agent.endpoint is None and not agent.needs_model:
        return None
    budget = agent.budget.budget() if agent.budget else Budget()
    endpoint = _endpoint(agent, endpoints, where)
    unpriced = [name for name in endpoint.allow if name not in endpoint.prices]
    if budget.usd is not None and unpriced:
        raise TeamError(
            "a budget in dollars needs the price of every model that may be asked for",
            place=f"{where}.budget.usd",
            got=f"no price of {', '.join(unpriced)}",
            expected=f"models.{endpoint.name}.prices",
        )
    return ModelAccess(endpoint, budget)


def _keep_port_free(network: tuple[HostPort, ...], where: str) -> None:
    """A destination of loopback's own is relayed from its own port, and one is the gateway's."""
    for index, place in enumerate(network):
        if place.port == GATEWAY.port and place.host in ("localhost", GATEWAY.address):
            raise TeamError(
                "the agent finds its model at this port",
                place=f"{where}.network.allow[{index}]",
                got=str(place),
                expected="another port",
            )


def _endpoint(agent: AgentFile, endpoints: Mapping[str, Endpoint], where: str) -> Endpoint:
    if agent.endpoint is None and len(endpoints) == 1:
        return next(iter(endpoints.values()))
    if not endpoints:
        raise TeamError(
            f"{agent.kind} needs a model's endpoint, and the team file names none",
            place=f"{where}.endpoint" if agent.endpoint else where,
            got=agent.endpoint,
            hint="add models: to the team file; docs/models.md shows it",
        )
    known = ", ".join(endpoints)
    if agent.endpoint is None:
        raise TeamError(
            f"{agent.kind} needs a model's endpoint, and the team file names several",
            place=f"{where}.endpoint",
            expected=f"one of {known}",
        )
    if agent.endpoint not in endpoints:
        raise TeamError(
            "no such endpoint in models",
            place=f"{where}.endpoint",
            got=agent.endpoint,
            expected=f"one of {known}",
        )
    return endpoints[agent.endpoint]


def _script_file(name: str, contents: Mapping[str, bytes], where: str) -> bytes:
    if name not in contents:
        scripts = [found for found in contents if found.endswith((".yaml", ".yml"))]
        raise TeamError(
            "no such file beside the team file",
            place=f"{where}.script",
            got=name,
            expected=f"one of {', '.join(sorted(scripts)[:20])}",
        )
    return contents[name]


def _network(agent: AgentFile, where: str) -> tuple[HostPort, ...]:
    return tuple(
        parse_host_port(text, f"{where}.network.allow[{index}]", TeamError)
        for index, text in enumerate(agent.network.allow)
    )
