"""The shape of ``tools:`` in a team file.

::

    tools:
      page:
        http: {allow: ["docs.example:443"]}       # GET of what lies there, and nothing else
        ttl: 600                                  # seconds for which a result is shared
      search:
        command: [python3, "{agents}/search.py"]  # the arguments are its standard input
        network: {allow: ["search.example:443"]}
        roles: [planner]
      issue:
        mcp: {command: [issue-server, --stdio], tool: get_issue}  # not shared unless told to be
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from rolewall._validate import Strict
from rolewall.errors import TeamError
from rolewall.policies import HostPort, parse_host_port
from rolewall.roles.broker.tool import BUILT_IN, Command, Http, Mcp, Tool

__all__ = ["ToolFile", "ToolsFile", "make_tools"]

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,47}\Z")
_BRACES = re.compile(r"\{([A-Za-z_]\w*)\}", re.ASCII)
_PLACEHOLDERS = ("agents", "task")
MAX_PARAMETERS = 20_000


def _word(text: str) -> str:
    if "\0" in text:
        raise ValueError("a NUL character")
    for name in _BRACES.findall(text.replace("{{", "").replace("}}", "")):
        if name not in _PLACEHOLDERS:
            raise ValueError(f"{{{name}}} means nothing to a tool; {{agents}} and {{task}} do")
    return text


def _parameters(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("type") != "object":
        raise ValueError("no JSON schema of an object; it begins with type: object")
    try:
        size = len(json.dumps(schema, allow_nan=False))
    except (TypeError, ValueError) as problem:
        raise ValueError("holds what JSON does not know") from problem
    if size > MAX_PARAMETERS:
        raise ValueError(f"a schema of {size} characters, {MAX_PARAMETERS} at most")
    return schema


Word = Annotated[str, AfterValidator(_word)]
Words = Annotated[list[Word], Field(min_length=1, max_length=1000)]
Destinations = Annotated[list[str], Field(min_length=1, max_length=100)]


class HttpFile(Strict):
    """``allow``: ``host:port`` of what may be fetched; no wildcards."""

    allow: Destinations


class McpFile(Strict):
    """A server that speaks MCP over its standard input and output; ``tool`` is the name of one
    of its tools, by default the name that the tool has here."""

    command: Words
    tool: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\s\x00]+$")] | None = None


class NetworkFile(Strict):
    allow: Destinations


class ToolFile(Strict):
    """One tool: exactly one of ``command``, ``http``, ``mcp``, and what goes with it. ``share``
    is by default true, of ``mcp`` false."""

    command: Words | None = None
    http: HttpFile | None = None
    mcp: McpFile | None = None
    network: NetworkFile | None = None
    ttl: Annotated[float, Field(ge=0, le=86_400 * 30)] = 300.0
    share: bool | None = None
    roles: Annotated[list[str], Field(min_length=1, max_length=20)] | None = None
    seconds: Annotated[float, Field(gt=0, le=3600)] = 60.0
    about: Annotated[str, Field(max_length=2000)] = ""
    parameters: Annotated[dict[str, Any], AfterValidator(_parameters)] | None = None

    @model_validator(mode="after")
    def _one(self) -> ToolFile:
        kinds = [name for name in ("command", "http", "mcp") if getattr(self, name) is not None]
        if len(kinds) != 1:
            raise ValueError(f"a tool is one of command, http, mcp; got {len(kinds)} of them")
        if self.http is not None and self.network is not None:
            raise ValueError("http has its own allow; network belongs to command and mcp")
        if self.parameters is not None and self.command is None:
            raise ValueError(f"{kinds[0]} says itself what it takes; parameters belong to command")
        first = self.command or (self.mcp.command if self.mcp else None)
        if first is not None and not first[0]:
            raise ValueError("the command's first word is empty")
        return self


def _names(tools: dict[str, ToolFile]) -> dict[str, ToolFile]:
    for name in tools:
        if not _NAME.match(name):
            raise ValueError(f"{name!r} is no name of a tool; letters a to z, digits, - and _")
        if name in BUILT_IN:
            raise ValueError(f"{name!r} is what every agent has of itself; choose another name")
    return tools


ToolsFile = Annotated[dict[str, ToolFile], AfterValidator(_names)]


def make_tools(
    tools: Mapping[str, ToolFile], roles: Collection[str], place: str
) -> dict[str, Tool]:
    """The tools of a team of ``roles`` whose file is at ``place``.

    Raises:
        TeamError: one names a role that the team has not, or no destination.
    """
    return {
        name: _made(name, file, roles, f"{place}: tools.{name}") for name, file in tools.items()
    }


def _made(name: str, file: ToolFile, roles: Collection[str], place: str) -> Tool:
    for role in file.roles or ():
        if role not in roles:
            known = ", ".join(roles)
            raise TeamError("the team has no such role", place=f"{place}.roles", got=role,
                            expected=f"one of {known}")  # fmt: skip
    return Tool(
        name=name,
        means=_means(name, file, place),
        ttl=file.ttl,
        # A server remembers what it was told, and what it answers may follow from that.
        share=file.mcp is None if file.share is None else file.share,
        roles=tuple(dict.fromkeys(file.roles or roles)),
        seconds=file.seconds,
        about=file.about,
    )


def _means(name: str, file: ToolFile, place: str) -> Command | Http | Mcp:
    if file.http is not None:
        return Http(_destinations(file.http.allow, f"{place}.http.allow"))
    network = _destinations(file.network.allow, f"{place}.network.allow") if file.network else ()
    if file.mcp is not None:
        return Mcp(tuple(file.mcp.command), file.mcp.tool or name, network)
    assert file.command is not None
    return Command(tuple(file.command), network, file.parameters)


def _destinations(allow: list[str], place: str) -> tuple[HostPort, ...]:
    found = [parse_host_port(text, f"{place}[{i}]", TeamError) for i, text in enumerate(allow)]
    return tuple(dict.fromkeys(found))
