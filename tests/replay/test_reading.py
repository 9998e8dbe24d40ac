"""What can be done again is known before anything is; what cannot is refused by name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from rolewall.errors import InputError, RecordError
from rolewall.roles import (
    RecordedFiles,
    RecordedTurn,
    ToolCall,
    Trajectory,
    TrajectoryStep,
    read_turn,
)
from rolewall.roles.recorded import ChatCall, PatchAct, ReplaceAct, RunAct

PATCH = "*** Begin Patch\n*** Delete File: a\n*** End Patch"
Calls = Sequence[tuple[str, Mapping[str, Any]]]


def asked(agent: str, *calls: tuple[str, Mapping[str, Any]], problems: Sequence[str] = ()) -> Any:
    made = tuple(ToolCall(f"c{n}", name, dict(given)) for n, (name, given) in enumerate(calls))
    return Trajectory(agent, "", "exchanges", (TrajectoryStep("agent", calls=made),),
                      tuple(problems))  # fmt: skip


def preset(agent: str, *calls: tuple[str, Mapping[str, Any]], **more: Any) -> RecordedTurn:
    head = json.dumps({"agent": agent}).encode()
    files = RecordedFiles("R", head, b"", lambda _: asked(agent, *calls, **more))
    return read_turn(files, "executor", "done")


def own(kind: object, *lines: object, role: str = "executor") -> RecordedTurn:
    data = "\n".join(json.dumps(line) for line in ({"agent": kind}, *lines)).encode()
    return read_turn(RecordedFiles("R", data, b"", lambda _: asked("")), role, "done")


ACTS: dict[str, tuple[str, str, dict[str, Any], object]] = {
    "a shell": ("claude-code", "Bash", {"command": "ls", "timeout": 5000},
                RunAct(command="ls", shell="/bin/bash", cwd="/workspace")),
    "an edit everywhere": ("claude-code", "Edit",
                           {"file_path": "/a", "old_string": "b", "new_string": "c",
                            "replace_all": True},
                           ReplaceAct(path="/a", old="b", new="c")),
    "words": ("codex", "shell", {"command": ["echo", "a b"], "workdir": "/tmp"},
              RunAct(command="echo 'a b'", shell="/bin/bash", cwd="/tmp")),
    "a patch": ("codex", "apply_patch", {"raw": PATCH}, PatchAct(text=PATCH)),
    "a patch in a shell": ("codex", "exec_command",
                           {"cmd": f"apply_patch <<'E'\n{PATCH}\nE", "workdir": "d"},
                           PatchAct(text=PATCH, cwd="/workspace/d")),
    "a patch as a word": ("codex", "shell", {"command": ["apply_patch", PATCH]},
                          PatchAct(text=PATCH)),
    "mini's": ("mini-swe-agent", "bash", {"command": "ls"}, RunAct(command="ls")),
}  # fmt: skip


@pytest.mark.parametrize("case", ACTS.values(), ids=ACTS)
def test_what_has_an_equivalent(case: tuple[str, str, dict[str, Any], object]) -> None:
    agent, tool, arguments, act = case
    turn = preset(agent, (tool, arguments))
    assert [call.did for call in turn.calls] == [act]
    assert turn.agent == "acts"


def test_files_are_written_read_and_edited_by_our_own_tools() -> None:
    given = {"file_path": "/workspace/a"}
    turn = preset(
        "claude-code",
        ("Write", {**given, "content": "x"}),
        ("Read", {**given, "offset": 3, "limit": 2}),
        ("Edit", {**given, "old_string": "x", "new_string": "y"}),
        ("Edit", {**given, "old_string": "", "new_string": "y"}),
        ("TodoWrite", {"todos": []}),
        ("Grep", {"pattern": "x"}),
    )
    tools = [type(call.did.tool).__name__ for call in turn.calls if isinstance(call.did, ChatCall)]
    assert tools == ["Write", "Read", "Edit", "Write"]
    assert turn.left_out == {"TodoWrite": 1, "Grep": 1}


NO_ACTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "another agent": ("claude-code", "Task", {"prompt": "do it"}),
    "in the background": ("claude-code", "Bash", {"command": "x", "run_in_background": True}),
    "somebody's own tool": ("claude-code", "mcp__x__y", {}),
    "no command": ("claude-code", "Bash", {"description": "x"}),
    "a number for a command": ("claude-code", "Bash", {"command": 7}),
    "time without an end": ("claude-code", "Bash", {"command": "x", "timeout": 10**400}),
    "edits that are none": ("claude-code", "MultiEdit", {"file_path": "/a", "edits": [5]}),
    "a NUL": ("claude-code", "Bash", {"command": "a\0b"}),
    "a new argument": ("claude-code", "Write", {"file_path": "/a", "content": "", "mode": "a"}),
    "a directory that is lost": ("claude-code", "Bash", {"command": "if x; then cd a; fi"}),
    "typing": ("codex", "write_stdin", {"session_id": 1, "chars": "y\n"}),
    "a half patch": ("codex", "apply_patch", {"raw": "*** Begin Patch"}),
    "a patch among others": ("codex", "exec_command", {"cmd": "ls; apply_patch x"}),
    "variables": ("codex", "shell", {"command": ["x"], "env": {"A": "1"}}),
    "a page of the web": ("opencode", "webfetch", {"url": "http://x"}),
    "unknown": ("mini-swe-agent", "python", {"code": "1"}),
}


@pytest.mark.parametrize("case", NO_ACTS.values(), ids=NO_ACTS)
def test_what_has_none_is_refused_by_name(case: tuple[str, str, dict[str, Any]]) -> None:
    agent, tool, arguments = case
    with pytest.raises(InputError, match=tool) as refused:
        preset(agent, (tool, arguments))
    assert agent in str(refused.value)


def test_exchanges_that_cannot_be_read_are_no_record_of_all() -> None:
    with pytest.raises(InputError, match="cannot be read"):
        preset("codex", problems=["an exchange cannot be read: x"])


@pytest.mark.parametrize(
    ("commands", "places"),
    [
        (["cd a && ls", "ls"], ["/workspace", "/workspace/a"]),
        (["cd 'a b'; ls", "cd ..", "ls"], ["/workspace", "/workspace/a b", "/workspace"]),
        (["cd /tmp && ls", "ls"], ["/workspace", "/workspace"]),
        (["cd /workspace/a", "cd /workspaces", "ls"], ["/workspace", "/workspace/a", "/workspace"]),
        (["(cd a && ls)", "echo cd a; ls", "ls"], ["/workspace"] * 3),
    ],
)
def test_claude_codes_shell_stays_where_it_goes(commands: list[str], places: list[str]) -> None:
    turn = preset("claude-code", *(("Bash", {"command": command}) for command in commands))
    assert [call.did.cwd for call in turn.calls if isinstance(call.did, RunAct)] == places


RUN = {"tool": "run", "arguments": {"command": "ls"}, "seconds": 1.0}
LEAVE = {"tool": "leave", "arguments": {"path": "/report/handoff.json", "body": {}}}
SHELL = {"tool": "shell", "arguments": {"shell": "/bin/sh", "rows": 2, "columns": 3, "term": "x"}}
WRONG: dict[str, tuple[object, ...]] = {
    "no head": (),
    "an unknown kind": ("wizard",),
    "no kind": (None,),
    "no tool": ("script", {"arguments": {}}),
    "an unknown key": ("script", {**RUN, "more": 1}),
    "a number for a command": ("script", {**RUN, "arguments": {"command": 1}}),
    "another's call": ("script", SHELL),
    "time that runs backwards": ("script", {**RUN, "seconds": -1.0}),
    "half a character": ("script", {**RUN, "arguments": {"command": "\ud800"}}),
    "an unknown argument": ("script", {**LEAVE, "arguments": {"path": "/x", "body": {}, "m": 1}}),
    "no words": ("command", {"tool": "command", "arguments": {"argv": [], "prompt": False}}),
    "a tool that is none": ("chat", {"tool": "fly", "arguments": {}}),
    "a verdict of an executor": (
        "chat", {"tool": "verdict", "arguments": {"verdict": "approve", "summary": ""}}),
    "keys without a shell": ("human", {"tool": "keys", "arguments": {"at": 1.0, "text": "x"}}),
    "two shells": ("human", SHELL, SHELL),
    "no path": ("human", {**SHELL, "arguments": {**SHELL["arguments"], "shell": "sh"}}),  # type: ignore[dict-item]
    "no hex": ("human", SHELL, {"tool": "keys", "arguments": {"at": 1.0, "hex": "0"}}),
    "more than was kept": ("script", {"tool": "cut", "arguments": {}}),
    "a wrong act": ("acts", {"tool": "fly", "arguments": {}}),
}  # fmt: skip


@pytest.mark.parametrize("lines", WRONG.values(), ids=WRONG)
def test_what_is_no_record_of_calls_is_refused_with_its_place(lines: tuple[object, ...]) -> None:
    with pytest.raises(InputError) as refused:
        own(*lines) if lines else read_turn(
            RecordedFiles("R", b"", b"", lambda _: asked("")), "executor", "done"
        )
    assert "R" in str(refused.value)


RIGHT = {
    "script": (RUN, {**RUN, "tool": "check"}, LEAVE),
    "command": ({"tool": "command", "arguments": {"argv": ["/bin/true"], "prompt": True}},),
    "chat": ({"tool": "run", "arguments": {"command": "ls"}, "seconds": None},),
    "human": (SHELL, {"tool": "keys", "arguments": {"at": 1.0, "hex": "ff"}},
              {"tool": "size", "arguments": {"at": 2.0, "rows": 2, "columns": 2}}),
    "acts": ({"tool": "patch", "arguments": {"text": PATCH}},),
}  # fmt: skip


@pytest.mark.parametrize("kind", RIGHT)
def test_the_twins_are_read(kind: str) -> None:
    turn = own(kind, *RIGHT[kind])
    assert turn.agent == kind and turn.calls


def test_lines_of_a_transcript_that_are_none_are_refused() -> None:
    files = RecordedFiles("R", b'{"agent": "script"}\n', b"{\n", lambda _: asked(""))
    with pytest.raises(RecordError, match="R:1"):
        read_turn(files, "executor", "done")
