"""What an agent said and did, in one schema, whichever program wrote it down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Source", "TokenCounts", "ToolCall", "ToolResult", "Trajectory", "TrajectoryStep"]

Source = Literal["system", "user", "agent"]


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Tokens of one answer as its endpoint counted them; ``cached`` are part of ``input``.
    None: not said."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model asked for. ``arguments`` that are no JSON object stand whole
    under the key ``raw``."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model was given back for the call ``id``."""

    id: str
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class TrajectoryStep:
    """One message. ``results`` are of the same step's ``calls``; ``time`` is in seconds since
    the epoch, None where nobody wrote it down."""

    source: Source
    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    model: str | None = None
    tokens: TokenCounts | None = None
    time: float | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One phase. ``agent`` and ``version`` are the program's own words for itself;
    ``origin`` says what this was read from: the agent's own output, the gateway's record of
    exchanges, or the commands that the harness ran. ``problems`` says what could not be read."""

    agent: str
    version: str
    origin: Literal["agent", "exchanges", "commands"]
    steps: tuple[TrajectoryStep, ...]
    problems: tuple[str, ...] = ()
