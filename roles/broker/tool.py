"""A tool that a team declares: what it is made of, and who may use it for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rolewall.policies import HostPort

__all__ = ["BUILT_IN", "Command", "Http", "Mcp", "Tool"]

BUILT_IN = frozenset([
    "run", "check", "read", "write", "edit", "message", "verdict", "command", "leave", "cut",
    "replace", "patch", "shell", "keys", "size", "hidden", "tool",
])  # fmt: skip
"""Names that evidence and transcripts have for what an agent does in its own box."""


@dataclass(frozen=True)
class Command:
    """A program, started anew for each call: its standard input is the arguments as JSON, its
    standard output the result. ``parameters`` is a JSON schema of the arguments, for models."""

    argv: tuple[str, ...]
    network: tuple[HostPort, ...] = ()
    parameters: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Http:
    """What lies at a URL of one of these places, by GET."""

    allow: tuple[HostPort, ...]

    @property
    def network(self) -> tuple[HostPort, ...]:
        return self.allow


@dataclass(frozen=True)
class Mcp:
    """One tool of a server that speaks MCP over its standard input and output. The server lives
    for one phase: what it remembers is no way from one role to another."""

    argv: tuple[str, ...]
    tool: str
    network: tuple[HostPort, ...] = ()


@dataclass(frozen=True)
class Tool:
    """
    Attributes:
        ttl: seconds for which a result is fresh, counted from when it was got.
        share: whether a fresh result is given to whoever asks the same, in place of a new one.
        roles: who may use it.
        seconds: how long one call may take.
        about: for models: what it does.
    """

    name: str
    means: Command | Http | Mcp
    ttl: float
    share: bool
    roles: tuple[str, ...]
    seconds: float
    about: str = ""

    @property
    def network(self) -> tuple[HostPort, ...]:
        return self.means.network

    @property
    def argv(self) -> tuple[str, ...]:
        """Its program's command; of what the harness fetches itself, none."""
        return () if isinstance(self.means, Http) else self.means.argv
