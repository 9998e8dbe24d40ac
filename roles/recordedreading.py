"""Reading what an agent did in a recorded phase; what cannot be done again is refused by name.

A recording may come from a stranger. Nothing of it is done here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, cast, get_args

from pydantic import Field

from rolewall._files import load_json
from rolewall._validate import Strict, validate
from rolewall.errors import InputError, RecordError
from rolewall.roles.agents import PresetName
from rolewall.roles.chat.tools import parse_tool
from rolewall.roles.recorded import (
    ACTS,
    Call,
    ChatCall,
    CommandCall,
    Did,
    Hidden,
    KeysTyped,
    Leave,
    PatchAct,
    RecordedTurn,
    ReplaceAct,
    Resized,
    RunAct,
    Session,
    ShellCall,
    StepCall,
)
from rolewall.roles.recordedpresets import acts_of
from rolewall.roles.steps import Trajectory
from rolewall.roles.transcript import CALLS_LIMIT, CUT

__all__ = ["RecordedFiles", "read_turn", "result_digest"]

MAX_LINE, MAX_DEPTH, MOST_CALLS = 64 << 20, 64, 100_000
# What tells that a command went another way: when it ran and where its output stands do not.
TOLD = ("tool", "arguments", "returncode", "timed_out", "violation", "disk_full", "out_of_memory")


@dataclass(frozen=True)
class RecordedFiles:
    """The files of one phase's transcript that tell what its agent did.

    Attributes:
        place: what they are called in messages.
        calls: ``NAME.calls.jsonl``.
        lines: ``NAME.jsonl``.
        asked: gives what the model of a coding agent asked for, from the recorded exchanges.
    """

    place: str
    calls: bytes
    lines: bytes
    asked: Callable[[str], Trajectory]


_Shape = TypeVar("_Shape", bound=Strict)


class _Line(Strict):
    tool: Annotated[str, Field(min_length=1, max_length=100)]
    arguments: dict[str, Any]
    seconds: Annotated[float, Field(ge=0, le=1e9)] | None = None


class _Head(Strict):
    agent: Annotated[str, Field(min_length=1, max_length=100)]


def read_turn(files: RecordedFiles, role: str, outcome: str) -> RecordedTurn:
    """The turn of ``role`` that ended as ``outcome``.

    Raises:
        RecordError: the files are no such record.
        InputError: something in it cannot be done again.
    """
    found = _json_lines(files.calls, files.place)
    head = validate(_Head, next(found, None), files.place, RecordError)
    lines = [
        validate(_Line, line, f"{files.place}:{number}", RecordError)
        for number, line in enumerate(found, 2)
    ]
    if any(line.tool == CUT["tool"] for line in lines):
        raise _refused(files, f"its calls are more than the {CALLS_LIMIT >> 20} MiB kept of them")
    results = tuple(result_digest(line) for line in _commands(files))
    if head.agent in get_args(PresetName):
        acts = acts_of(cast(PresetName, head.agent), files.asked(head.agent), files.place)
        return RecordedTurn(ACTS, acts.calls, (), outcome, acts.left_out)
    read = _KINDS.get(head.agent)
    if read is None:
        raise _refused(files, f"an agent of the kind {head.agent}")
    return RecordedTurn(head.agent, tuple(read(lines, role, files)), results, outcome, {})


def result_digest(line: Mapping[str, Any]) -> str:
    """A digest of what came of a command, of its line in a transcript."""
    told: list[Any] = [line.get(name) for name in TOLD]
    for name in ("stdout", "stderr"):
        stream = line.get(name)
        whole = stream if isinstance(stream, Mapping) else {}
        told += [whole.get("text"), whole.get("bytes")]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _commands(files: RecordedFiles) -> Iterator[dict[str, Any]]:
    for line in _json_lines(files.lines, files.place):
        if isinstance(line, dict) and "tool" in line and "note" not in line:
            yield line


def _json_lines(data: bytes, place: str) -> Iterator[Any]:
    for number, line in enumerate(data.splitlines(), 1):
        if number > MOST_CALLS:
            raise RecordError("too many lines", place=place, expected=f"at most {MOST_CALLS}")
        yield load_json(line, f"{place}:{number}", error=RecordError, max_bytes=MAX_LINE,
                        max_depth=MAX_DEPTH)  # fmt: skip


def _script(lines: Sequence[_Line], role: str, files: RecordedFiles) -> Iterator[Call]:
    for number, line in enumerate(lines, 2):
        if line.tool == "leave":
            yield Call(_typed(Leave, line, number, files), line.seconds)
        else:
            body = {**line.arguments, "tool": line.tool}
            step = validate(StepCall, body, f"{files.place}:{number}", RecordError)
            yield Call(step, line.seconds)


def _command(lines: Sequence[_Line], role: str, files: RecordedFiles) -> Iterator[Call]:
    for number, line in enumerate(lines, 2):
        _known(line, ("command",), number, files)
        yield Call(_typed(CommandCall, line, number, files), line.seconds)


def _chat(lines: Sequence[_Line], role: str, files: RecordedFiles) -> Iterator[Call]:
    for number, line in enumerate(lines, 2):
        try:
            yield Call(ChatCall(parse_tool(line.tool, line.arguments, role)), line.seconds)
        except InputError as error:
            raise RecordError(f"not a call: {error}", place=f"{files.place}:{number}") from None


_ACTS: Mapping[str, type[Did]] = {"run": RunAct, "replace": ReplaceAct, "patch": PatchAct}


def _acts(lines: Sequence[_Line], role: str, files: RecordedFiles) -> Iterator[Call]:
    for number, line in enumerate(lines, 2):
        if line.tool in ("read", "write", "edit"):
            yield from _chat([line], role, files)
            continue
        _known(line, tuple(_ACTS), number, files)
        shape = cast(type[Strict], _ACTS[line.tool])
        yield Call(cast(Did, _typed(shape, line, number, files)), line.seconds)


def _human(lines: Sequence[_Line], role: str, files: RecordedFiles) -> Iterator[Call]:
    """A session is one call, made of many lines."""
    shapes: Mapping[str, type[KeysTyped | Resized]] = {"keys": KeysTyped, "size": Resized}
    shell: ShellCall | None = None
    typed: list[KeysTyped | Resized] = []
    for number, line in enumerate(lines, 2):
        if line.tool == "hidden":
            _typed(Hidden, line, number, files)
            raise _refused(files, "a person's session in which something was typed that the "
                           "terminal did not show; it is not recorded")  # fmt: skip
        _known(line, ("keys", "size") if shell else ("shell",), number, files)
        if shell is None:
            shell, seconds = _typed(ShellCall, line, number, files), line.seconds
        else:
            typed.append(_typed(shapes[line.tool], line, number, files))
    if shell is not None:
        yield Call(Session(shell, tuple(typed)), seconds)


_KINDS: Mapping[str, Callable[[Sequence[_Line], str, RecordedFiles], Iterator[Call]]] = {
    "script": _script,
    "command": _command,
    "chat": _chat,
    "human": _human,
    ACTS: _acts,
}


def _typed(shape: type[_Shape], line: _Line, number: int, files: RecordedFiles) -> _Shape:
    return validate(shape, line.arguments, f"{files.place}:{number}", RecordError)


def _known(line: _Line, tools: Sequence[str], number: int, files: RecordedFiles) -> None:
    if line.tool not in tools:
        raise RecordError(
            "not a call of this kind of agent",
            place=f"{files.place}:{number}",
            got=line.tool,
            expected=f"one of {', '.join(tools)}",
        )


def _refused(files: RecordedFiles, what: str) -> InputError:
    return InputError(f"cannot be done again: {what}", place=files.place)
