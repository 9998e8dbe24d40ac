"""The tools that a model is offered, and the shapes of their arguments.

They are the same in every condition: what a role may not do, the wall refuses, and the
model is told in the kernel's own words.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from rolewall._validate import Strict, validate
from rolewall.errors import InputError
from rolewall.roles.verdict import Check

__all__ = [
    "Edit",
    "Message",
    "Read",
    "Run",
    "Tool",
    "Use",
    "Verdict",
    "Write",
    "offered",
    "parse_tool",
    "spoken",
]

MOST_TEXT = 4_000_000  # characters of a file that a model writes
Path = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00]*$")]
Contents = Annotated[str, Field(max_length=MOST_TEXT)]


class Run(Strict):
    """A shell command."""

    # One argument of a program may have 128 KiB on Linux.
    command: Annotated[str, Field(min_length=1, max_length=100_000, pattern=r"^[^\x00]*$")]


class Read(Strict):
    """A file, or its lines ``first`` to ``last``, counted from 1."""

    path: Path
    first: Annotated[int, Field(ge=1, le=10**9)] | None = None
    last: Annotated[int, Field(ge=1, le=10**9)] | None = None


class Write(Strict):
    """A whole file."""

    path: Path
    text: Contents


class Edit(Strict):
    """One place of a file: ``old``, which must be there once, becomes ``new``."""

    path: Path
    old: Annotated[str, Field(min_length=1, max_length=MOST_TEXT)]
    new: Contents


class Message(Strict):
    """What the role leaves for the next one."""

    text: Annotated[str, Field(max_length=200_000)]
    status: Literal["done", "blocked"] = "done"


class Verdict(Strict):
    """What the verifier says."""

    verdict: Literal["approve", "reject"]
    summary: Annotated[str, Field(max_length=20_000)]
    checks: Annotated[list[Check], Field(max_length=500)] = Field(default_factory=list)


class Use(Strict):
    """One of the team's own tools, with the arguments that it takes."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    arguments: dict[str, Any]


Tool = Run | Read | Write | Edit | Message | Verdict | Use
_SHAPES: Mapping[str, type[Strict]] = {
    "run": Run,
    "read": Read,
    "write": Write,
    "edit": Edit,
    "message": Message,
    "verdict": Verdict,
}
USE = "tool"  # as text, and in what is recorded; natively each tool goes by its own name
_TEXT = {"type": "string"}
_LINE = {"type": "integer", "minimum": 1}
_CHECK = {
    "type": "object",
    "properties": {"name": _TEXT, "ok": {"type": "boolean"}, "evidence": _TEXT},
    "required": ["name", "ok", "evidence"],
    "additionalProperties": False,
}
_PROPERTIES: Mapping[str, Mapping[str, object]] = {
    "run": {"command": _TEXT},
    "read": {"path": _TEXT, "first": _LINE, "last": _LINE},
    "write": {"path": _TEXT, "text": _TEXT},
    "edit": {"path": _TEXT, "old": _TEXT, "new": _TEXT},
    "message": {"text": _TEXT, "status": {"type": "string", "enum": ["done", "blocked"]}},
    "verdict": {
        "verdict": {"type": "string", "enum": ["approve", "reject"]},
        "summary": _TEXT,
        "checks": {"type": "array", "items": _CHECK},
    },
}
_REQUIRED: Mapping[str, list[str]] = {
    "run": ["command"],
    "read": ["path"],
    "write": ["path", "text"],
    "edit": ["path", "old", "new"],
    "message": ["text"],
    "verdict": ["verdict", "summary"],
}
_SAID: Mapping[str, str] = {
    "run": "Run a shell command (/bin/sh) in /workspace. You are given its exit code and output.",
    "read": "Read a text file, or its lines first to last. A path that does not begin with / "
    "is below /workspace.",
    "write": "Write a whole file; it replaces what was there.",
    "edit": "Replace one place of a file: old must be there exactly once.",
    "message": "Leave text for the role that comes next, as your handoff. Say blocked if you "
    "cannot go on.",
    "verdict": "Give your verdict, with its reasons. Where it is reject, the summary is also what "
    "the executor is told, if you leave no message.",
}
_ENDS = " This ends your turn."


def offered(role: str) -> list[dict[str, Any]]:
    """The tools of ``role`` as OpenAI's chat protocol describes them."""
    return [_described(name, role) for name in names(role)]


def names(role: str) -> tuple[str, ...]:
    return tuple(name for name in _SHAPES if name != "verdict" or role == "verifier")


def _described(name: str, role: str) -> dict[str, Any]:
    ends = name == ("verdict" if role == "verifier" else "message")
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": _SAID[name] + (_ENDS if ends else ""),
            "parameters": {
                "type": "object",
                "properties": dict(_PROPERTIES[name]),
                "required": _REQUIRED[name],
                "additionalProperties": False,
            },
        },
    }


def parse_tool(
    name: str, arguments: Mapping[str, Any], role: str, further: Collection[str] = ()
) -> Tool:
    """The call that a model made.

    Args:
        further: names of the team's own tools that were offered.

    Raises:
        InputError: there is no such tool, or it is asked for in another way; the words
            are for the model.
    """
    known = (*names(role), *further)
    if name == USE:
        return validate(Use, arguments, name)
    if name not in known:
        raise InputError("no such tool", got=name, expected=f"one of {', '.join(known)}")
    # null is what many a model writes for what it leaves out.
    given = {key: value for key, value in arguments.items() if value is not None}
    if name in further:
        return Use(name=name, arguments=given)
    return cast(Tool, validate(_SHAPES[name], given, name))


def spoken(tool: Tool) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of a call, as ``parse_tool`` takes them."""
    name = next((name for name, shape in _SHAPES.items() if isinstance(tool, shape)), USE)
    return name, tool.model_dump(mode="json", exclude_none=True)
