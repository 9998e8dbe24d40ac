"""What an agent did in a recorded phase, as it can be done again.

Each kind of agent writes down what it asks for before that is done, one JSON object a line, in
``NAME.calls.jsonl`` beside the other files of its transcript: first ``{"agent": KIND}``, then
``{"tool": …, "arguments": {…}, "seconds": …}``. The calls here are the typed form of those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from rolewall._validate import Strict

if TYPE_CHECKING:
    from rolewall.roles.chat.tools import Tool

__all__ = [
    "ACTS",
    "Call",
    "ChatCall",
    "CommandCall",
    "Did",
    "Expected",
    "Hidden",
    "KeysTyped",
    "Leave",
    "PatchAct",
    "RecordedTurn",
    "ReplaceAct",
    "Resized",
    "RunAct",
    "Session",
    "ShellCall",
    "StepCall",
]

ACTS = "acts"  # the kind of a replay of what an agent of somebody else's did
MOST_TEXT = 8 << 20
Side = Annotated[int, Field(ge=1, le=0xFFFF)]
At = Annotated[float, Field(ge=0, le=1e9)]
Shown = Annotated[int, Field(ge=0, lt=1 << 62)]
Path = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00]*$")]
Words = Annotated[str, Field(max_length=MOST_TEXT, pattern=r"^[^\x00]*$")]


class CommandCall(Strict):
    """A program that is told once what to do; ``prompt``: by its standard input."""

    argv: Annotated[tuple[Words, ...], Field(min_length=1, max_length=10_000, strict=False)]
    prompt: bool


class StepCall(Strict):
    """A shell command of a script."""

    tool: Literal["run", "check"]
    command: Words


class Leave(Strict):
    """A JSON file that the agent left for others."""

    path: Path
    body: dict[str, Any]


@dataclass(frozen=True)
class ChatCall:
    """A tool that a model called, in the loop of ``rolewall.roles.chat``."""

    tool: Tool


class RunAct(Strict):
    """A shell command of a coding agent's; ``cwd`` None: where commands start."""

    command: Words
    shell: Path = "/bin/sh"
    cwd: Path | None = None


class ReplaceAct(Strict):
    """In a file ``old``, which must be there, becomes ``new`` wherever it stands."""

    path: Path
    old: Annotated[str, Field(min_length=1, max_length=MOST_TEXT)]
    new: Annotated[str, Field(max_length=MOST_TEXT)]


class PatchAct(Strict):
    """A patch of several files, named as seen from ``cwd``; see ``rolewall.roles.patches``."""

    text: Annotated[str, Field(max_length=MOST_TEXT)]
    cwd: Path | None = None


class ShellCall(Strict):
    """A session at a terminal that begins: ``term`` is what the terminal calls itself."""

    shell: Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^/[^\x00]*$")]
    rows: Side
    columns: Side
    term: Annotated[str, Field(max_length=64, pattern=r"^[A-Za-z0-9.+_-]*$")]


class KeysTyped(Strict):
    """What was typed, ``at`` seconds after the session began and after ``shown`` bytes of
    output: UTF-8 ``text``, or ``hex``."""

    at: At
    shown: Shown = 0
    text: str | None = None
    hex: Annotated[str, Field(pattern=r"^([0-9a-f]{2})+$")] | None = None

    @property
    def keys(self) -> bytes:
        return bytes.fromhex(self.hex) if self.hex else (self.text or "").encode()


class Hidden(Strict):
    """Something was typed that the terminal did not show; it is not recorded."""

    at: At
    shown: Shown = 0


class Resized(Strict):
    """The window has another size."""

    at: At
    shown: Shown = 0
    rows: Side
    columns: Side


@dataclass(frozen=True)
class Session:
    """A person's whole session."""

    shell: ShellCall
    typed: tuple[KeysTyped | Resized, ...]


Did = CommandCall | StepCall | Leave | ChatCall | RunAct | ReplaceAct | PatchAct | Session


@dataclass(frozen=True)
class Expected:
    """What is known of how a call went: ``text`` holds what it wrote, ``failed`` is None where
    nobody said."""

    text: str
    failed: bool | None = None


@dataclass(frozen=True)
class Call:
    """One call, and how long it might take; ``expected`` where no line of the transcript
    tells of it."""

    did: Did
    seconds: float | None = None
    expected: Expected | None = None


@dataclass(frozen=True)
class RecordedTurn:
    """What is to be done again.

    Attributes:
        agent: the kind of the agent, or for one of somebody else's ``ACTS``.
        results: a digest of each command's line in the transcript, in order; empty where
            calls have an ``expected``.
        outcome: how the phase ended.
        left_out: calls by name that do nothing in a box, how often each.
    """

    agent: str
    calls: tuple[Call, ...]
    results: tuple[str, ...]
    outcome: str
    left_out: Mapping[str, int]
