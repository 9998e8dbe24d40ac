"""The tools of coding agents of somebody else's, each as acts that do the same."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rolewall.roles.agents import PresetName
from rolewall.roles.chat.tools import Edit, Read, Write
from rolewall.roles.patches import parse_patch
from rolewall.roles.recorded import ChatCall, Did, PatchAct, ReplaceAct, RunAct

__all__ = ["IDLE", "TOOLS", "NoAct", "Place", "Tools"]

BASH = "/bin/bash"
WORKSPACE = "/workspace"
_NOTHING = (None, False, "", 0)  # an argument that is left out, in some words
# Claude Code's shell stays in the directory that a command leaves it in.
CD = re.compile(r"(?:^|[;&|\n{]|\bthen|\bdo)\s*(?:cd|pushd|popd)(?:\s|$)")
FIRST_CD = re.compile(r"\s*cd\s+(?P<to>[\w@%+:,./-]+|'[^'\n]*'|\"[^\"$`\\\n]*\")\s*(?:&&|;|\n|\Z)")
# What Codex takes for its own tool in a shell's words.
SHELL_PATCH = re.compile(
    r"\s*apply_?patch\s*<<-?\s*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)\n"
    r"(?P<text>.*)\n(?P=end)\s*\Z",
    re.DOTALL,
)


class NoAct(Exception):
    """Why a call cannot be done again."""


@dataclass
class Place:
    """Where the agent's shell stands."""

    cwd: str = WORKSPACE


_Made = Iterator[tuple[Did, float | None]]
Tools = Mapping[str, Callable[[dict[str, Any], Place], _Made]]


def _words(arguments: Mapping[str, Any], *names: str) -> str:
    """The text that goes by one of these names."""
    found = next((arguments[name] for name in names if name in arguments), None)
    if not isinstance(found, str):
        raise NoAct(f"it has no {names[0]}")
    return found


def _only(arguments: Mapping[str, Any], *names: str) -> None:
    """What is not known may change what a call does."""
    if strange := [n for n, value in arguments.items() if n not in names and value not in _NOTHING]:
        raise NoAct(f"its argument {strange[0]} has no equivalent")


def _seconds(arguments: Mapping[str, Any], name: str, default: float) -> float:
    """What stands there in milliseconds."""
    found = arguments.get(name)
    return float(found) / 1000 if isinstance(found, int | float) and found else default


def _bash(arguments: dict[str, Any], stands: Place) -> _Made:
    _only(arguments, "command", "description", "timeout", "dangerouslyDisableSandbox")
    command = _words(arguments, "command")
    yield RunAct(command=command, shell=BASH, cwd=stands.cwd), _seconds(arguments, "timeout", 120)
    _follow(command, stands)


def _follow(command: str, stands: Place) -> None:
    """Where Claude Code's shell stands after ``command``; outside of the project it does not
    stay."""
    first = FIRST_CD.match(command)
    rest = command[first.end() :] if first else command
    if CD.search(rest):
        raise NoAct("it goes to a directory and stays there, in a way that cannot be followed")
    if first:
        to = posixpath.normpath(posixpath.join(stands.cwd, first["to"].strip("'\"")))
        stands.cwd = to if f"{to}/".startswith(f"{WORKSPACE}/") else WORKSPACE


def _write(arguments: dict[str, Any], stands: Place) -> _Made:
    _only(arguments, "file_path", "filePath", "content")
    path = _words(arguments, "file_path", "filePath")
    yield ChatCall(Write(path=path, text=_words(arguments, "content"))), None


def _read(arguments: dict[str, Any], stands: Place) -> _Made:
    _only(arguments, "file_path", "filePath", "offset", "limit")
    path, first, most = (
        _words(arguments, "file_path", "filePath"),
        arguments.get("offset"),
        arguments.get("limit"),
    )
    last = (first or 1) + most - 1 if most else None
    yield ChatCall(Read(path=path, first=first or None, last=last)), None


def _edit(arguments: dict[str, Any], stands: Place) -> _Made:
    known = ("old_string", "oldString", "new_string", "newString", "replace_all", "replaceAll")
    _only(arguments, "file_path", "filePath", *known)
    path = _words(arguments, "file_path", "filePath")
    yield _replacement(path, arguments), None


def _edits(arguments: dict[str, Any], stands: Place) -> _Made:
    _only(arguments, "file_path", "filePath", "edits")
    path = _words(arguments, "file_path", "filePath")
    for one in arguments["edits"]:
        yield _replacement(path, one), None


def _replacement(path: str, arguments: Mapping[str, Any]) -> Did:
    old, new = (_words(arguments, f"{name}_string", f"{name}String") for name in ("old", "new"))
    if not old:
        return ChatCall(Write(path=path, text=new))
    if arguments.get("replace_all") or arguments.get("replaceAll"):
        return ReplaceAct(path=path, old=old, new=new)
    return ChatCall(Edit(path=path, old=old, new=new))


def _patch(arguments: dict[str, Any], stands: Place) -> _Made:
    _only(arguments, "raw", "input", "patchText", "patch")
    yield _checked(_words(arguments, "raw", "input", "patchText", "patch"), None), None


def _checked(text: str, cwd: str | None) -> PatchAct:
    parse_patch(text)
    return PatchAct(text=text, cwd=cwd)


def _exec(arguments: dict[str, Any], stands: Place) -> _Made:
    """Codex's shell, as one text."""
    known = ("cmd", "command", "workdir", "shell", "login", "yield_time_ms", "max_output_tokens",
             "timeout_ms", "justification", "sandbox_permissions", "prefix_rule")  # fmt: skip
    _only(arguments, *known)
    command = _words(arguments, "cmd", "command")
    if patch := SHELL_PATCH.match(command):
        yield _checked(patch["text"], _directory(arguments)), None
    else:
        yield _codex_run(command, arguments), _limit(arguments)


def _argv(arguments: dict[str, Any], stands: Place) -> _Made:
    """Codex's shell, as words."""
    known = ("command", "workdir", "working_directory", "timeout_ms", "type", "env",
             "justification", "with_escalated_permissions", "sandbox_permissions")  # fmt: skip
    _only(arguments, *known)
    if arguments.get("env"):
        raise NoAct("its argument env has no equivalent")
    match arguments["command"]:
        case ["apply_patch" | "applypatch", str(text)]:
            yield _checked(text, _directory(arguments)), None
        case words:
            yield _codex_run(shlex.join(words), arguments), _limit(arguments)


def _codex_run(command: str, arguments: Mapping[str, Any]) -> RunAct:
    if re.search(r"\bapply_?patch\b", command):
        raise NoAct("apply_patch among other commands is the program's own")
    return RunAct(command=command, shell=BASH, cwd=_directory(arguments))


def _directory(arguments: Mapping[str, Any]) -> str | None:
    cwd = arguments.get("workdir") or arguments.get("working_directory")
    return posixpath.join(WORKSPACE, cwd) if isinstance(cwd, str) else None


def _limit(arguments: Mapping[str, Any]) -> float | None:
    found = arguments.get("timeout_ms")
    return float(found) / 1000 if isinstance(found, int | float) and found else None


def _stdin(arguments: dict[str, Any], stands: Place) -> _Made:
    """Codex looks at what a command that still runs has written."""
    if arguments.get("chars"):
        raise NoAct("it types into a command that runs")
    yield from ()


def _opencode_bash(arguments: dict[str, Any], stands: Place) -> _Made:
    _only(arguments, "command", "description", "timeout", "workdir")
    command = _words(arguments, "command")
    yield (
        RunAct(command=command, shell=BASH, cwd=_directory(arguments)),
        _seconds(arguments, "timeout", 120),
    )


def _mini_bash(arguments: dict[str, Any], stands: Place) -> _Made:
    _only(arguments, "command")
    yield RunAct(command=_words(arguments, "command")), None


TOOLS: Mapping[PresetName, Tools] = {
    "claude-code": {
        "Bash": _bash, "Write": _write, "Read": _read, "Edit": _edit, "MultiEdit": _edits,
    },
    "codex": {
        "exec_command": _exec, "shell_command": _exec, "shell": _argv, "local_shell": _argv,
        "local_shell_call": _argv, "apply_patch": _patch, "write_stdin": _stdin,
    },
    "opencode": {
        "bash": _opencode_bash, "write": _write, "read": _read, "edit": _edit,
        "multiedit": _edits, "patch": _patch, "apply_patch": _patch,
    },
    "mini-swe-agent": {"bash": _mini_bash},
}  # fmt: skip
IDLE: Mapping[PresetName, frozenset[str]] = {
    "claude-code": frozenset((
        "Glob", "Grep", "LS", "TodoRead", "TodoWrite", "TaskCreate", "TaskGet", "TaskList",
        "TaskUpdate", "ToolSearch", "StructuredOutput",
    )),
    "codex": frozenset(("update_plan", "view_image", "list_dir", "read_file", "grep_files")),
    "opencode": frozenset(("glob", "grep", "list", "todoread", "todowrite", "invalid")),
    "mini-swe-agent": frozenset(),
}  # fmt: skip
