"""The team file: which agent plays each role, with which limits."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from rolewall._beneath import Root
from rolewall._files import MAX_TEXT, load_yaml
from rolewall._validate import validate
from rolewall.errors import TeamError
from rolewall.policies import TEAM_ROLES, HostPort, Limits, Observe
from rolewall.roles.agents import Agent, ScriptAgent
from rolewall.roles.broker import Tool
from rolewall.roles.making import make_agent
from rolewall.roles.models import Endpoint
from rolewall.roles.teamfile import TeamFile
from rolewall.roles.toolsfile import make_tools

__all__ = ["Team", "load_team"]

_MAX_FILES = 2_000
_MAX_BYTES = 64 << 20
_LEFT_OUT = frozenset({".git", "__pycache__"})  # they change without the team changing


@dataclass(frozen=True)
class Team:
    """A team as it was when it was loaded.

    ``agents`` is in the order planner, executor, verifier, generator; a team may have no planner
    and no generator. ``zones`` are its further zones, with their owners.
    ``digest`` is a SHA-256 over the team file and every file beside it.
    """

    name: str
    path: Path
    directory: Path
    digest: str
    backend: Literal["auto", "docker", "bubblewrap"]
    image: str
    limits: Limits
    rounds: int
    replan: bool
    observe: Observe
    agents: Mapping[str, Agent]
    executables: frozenset[str]
    contents: Mapping[str, bytes]
    zones: Mapping[str, str] = field(default_factory=dict)
    verify: Literal["end", "each-step"] = "end"
    tools: Mapping[str, Tool] = field(default_factory=dict)

    @property
    def roles(self) -> tuple[str, ...]:
        return tuple(self.agents)

    @property
    def network(self) -> dict[str, tuple[HostPort, ...]]:
        """Destinations by role, for the policy."""
        return {role: agent.network for role, agent in self.agents.items() if agent.network}

    def tools_of(self, role: str) -> tuple[Tool, ...]:
        """The tools that ``role`` may use."""
        return tuple(tool for tool in self.tools.values() if role in tool.roles)

    @property
    def file_digests(self) -> dict[str, str]:
        """What the digest is over, by relative path: SHA-256, marked where it may be run."""
        return {
            path: hashlib.sha256(data).hexdigest() + (" x" if path in self.executables else "")
            for path, data in sorted(self.contents.items())
        }

    @property
    def endpoints(self) -> dict[str, Endpoint]:
        """The model endpoints that any role may call, by name."""
        asked = (agent.access.endpoint for agent in self.agents.values() if agent.access)
        return {endpoint.name: endpoint for endpoint in asked}

    def files_of(self, role: str) -> dict[str, bytes]:
        """The files that ``role`` may see: all but other roles' scripts, and directories
        beside the team file that bear another role's name."""
        hidden = {
            agent.path
            for other, agent in self.agents.items()
            if other != role and isinstance(agent, ScriptAgent)
        } - {a.path for r, a in self.agents.items() if r == role and isinstance(a, ScriptAgent)}
        return {
            name: data
            for name, data in self.contents.items()
            if name not in hidden and name.partition("/")[0] not in set(TEAM_ROLES) - {role}
        }

    def files(self) -> Mapping[str, bytes]:
        """Every regular file beneath the team's directory by relative path, as it was when
        the team was loaded and digested. ``.git`` and ``__pycache__`` are left out."""
        return self.contents


def load_team(path: Path) -> Team:
    """Read and check a team file and everything it names.

    Raises:
        TeamError: anything about it is not acceptable; scripts are read here too, so that
            nothing starts with a team that cannot be run to its end.
    """
    path = Path(path)
    if not os.path.isdir(path.parent):  # of a name that is too long, too
        raise TeamError("does not exist", place=str(path), expected="a team file")
    with Root(path.parent, TeamError) as root:
        place = root.place(path.name)
        data = root.read(path.name, MAX_TEXT)
        file = validate(TeamFile, load_yaml(data, place, error=TeamError), place, TeamError)
        contents, executables = _collect(root)
    contents[path.name] = data
    endpoints = {name: model.endpoint_named(name) for name, model in file.models.items()}
    agents = {
        role: make_agent(role, file.roles[role].agent, endpoints, contents, place)
        for role in file.in_order()
    }
    return Team(
        name=file.team,
        path=path,
        directory=path.parent,
        digest=_digest(path.name, contents, executables),
        backend=file.sandbox.backend,
        image=file.sandbox.image,
        limits=file.limits.limits(),
        rounds=file.rounds,
        replan=file.replan,
        observe=file.observe,
        agents=MappingProxyType(agents),
        executables=executables,
        contents=MappingProxyType(contents),
        zones=MappingProxyType(file.zone_owners()),
        verify=file.verify,
        tools=MappingProxyType(make_tools(file.tools, file.in_order(), place)),
    )


def _collect(root: Root) -> tuple[dict[str, bytes], frozenset[str]]:
    contents: dict[str, bytes] = {}
    executables: set[str] = set()
    left = _MAX_BYTES
    for number, entry in enumerate(root.walk(skip=_LEFT_OUT)):
        if number == _MAX_FILES:
            raise TeamError(
                "too many files beside the team file, which roles are all shown",
                place=root.place(""),
                expected=f"at most {_MAX_FILES}",
                hint="give the team a directory of its own",
            )
        if entry.kind == "directory":
            continue
        _check_entry(root, entry.path, entry.kind)
        if entry.stat.st_size > left:
            raise TeamError(
                "the files beside the team file are too large",
                place=root.place(""),
                expected=f"at most {_MAX_BYTES >> 20} MiB together",
                hint="give the team a directory of its own",
            )
        contents[entry.path] = root.read(entry.path, left)
        left -= len(contents[entry.path])
        if entry.executable:
            executables.add(entry.path)
    return contents, frozenset(executables)


def _check_entry(root: Root, path: str, kind: str) -> None:
    if kind != "file":
        raise TeamError(
            f"a {kind} beside the team file is not copied",
            place=root.place(path),
            expected="regular files and directories",
            hint="give the team a directory of its own",
        )
    try:
        path.encode()
    except UnicodeEncodeError:
        raise TeamError("a file name that is not UTF-8", place=root.place(path)) from None


def _digest(name: str, contents: Mapping[str, bytes], executables: frozenset[str]) -> str:
    total = hashlib.sha256(f"team {name}\n".encode())
    for path in sorted(contents):
        mark = "x" if path in executables else "-"
        digest = hashlib.sha256(contents[path]).hexdigest()
        total.update(f"{mark} {digest} {len(path)} {path}\n".encode())
    return total.hexdigest()
