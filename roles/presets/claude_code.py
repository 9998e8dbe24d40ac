"""Claude Code, by its print mode.

Tried with 2.1.332. A workspace can hold settings, hooks, MCP servers and a CLAUDE.md; Claude
Code obeys them, also unasked in print mode, so what an executor leaves there would run in the
box of the verifier, beside its verdict. ``--safe-mode`` and the two flags after it leave all
such files alone, for every role alike.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rolewall.roles.agents import PresetName
from rolewall.roles.isolation import Execution
from rolewall.roles.presets.frame import Printed, Start, Told
from rolewall.roles.presets.reading import (
    StepList,
    arguments_of,
    json_lines,
    mappings,
    seconds_of,
    text_of,
)
from rolewall.roles.steps import TokenCounts, ToolCall, ToolResult, Trajectory

__all__ = ["CLAUDE_CODE", "unwrapped"]

FLAGS = (
    *("--print", "--output-format", "stream-json", "--verbose"),
    "--dangerously-skip-permissions",  # the wall is outside; nobody is there to ask
    *("--safe-mode", "--setting-sources", "user", "--strict-mcp-config"),
    # The first has no network to fetch from; the second searches on the endpoint's side.
    *("--disallowed-tools", "WebFetch,WebSearch"),
)
# All names by which it would choose a model of its own, such as for titles or sub-agents.
MODELS = (
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "CLAUDE_CODE_SUBAGENT_MODEL",
)
QUIET = (
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_TELEMETRY",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    # Fields of unfinished features, which endpoints of the same protocol refuse.
    "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS",
)


# Its shell tool runs a command so, in a shell that first reads what it has noted of itself in
# a file, once, at its own start. A command that brings its own input is given no other.
SHELL = ("/bin/bash", "-c")
NOTES = "/home/.claude/shell-snapshots/snapshot-bash-"
WRAPPED = re.compile(
    rf"source (?P<notes>{NOTES}[\w-]+\.sh) 2>/dev/null \|\| true && .*?"
    r"\beval (?P<asked>'.*')(?: < /dev/null)? && pwd -P >\| /tmp/claude-\w+-cwd\Z",
    re.DOTALL,
)


@dataclass(frozen=True)
class _ClaudeCode:
    name: PresetName = "claude-code"
    program: str = "claude"
    install: str = "its package is @anthropic-ai/claude-code, by npm install -g"

    def start(self, told: Told) -> Start:
        env = {"ANTHROPIC_BASE_URL": told.url, "ANTHROPIC_API_KEY": told.key}
        env |= dict.fromkeys(MODELS, told.model) | dict.fromkeys(QUIET, "1")
        return Start(
            argv=(told.program, *FLAGS, "--model", told.model, *told.args),
            stdin=told.prompt.encode(),
            env=env,
        )

    def parse(self, printed: Printed) -> Trajectory:
        problems: list[str] = []
        steps, version = StepList(), ""
        for event in json_lines(printed.stdout, problems):
            kind = event.get("type")
            if kind == "system" and event.get("subtype") == "init":
                version = str(event.get("claude_code_version") or "")
            elif kind in ("assistant", "user"):
                _message(event, steps)
            elif kind == "result" and event.get("is_error"):
                steps.add("system", text=f"ended with an error: {event.get('result') or '?'}")
        return Trajectory(self.name, version, "agent", steps.done(), tuple(problems))


def _message(event: Mapping[str, Any], steps: StepList) -> None:
    """One event; an answer with several blocks comes in several, all with its id."""
    message = event.get("message")
    if not isinstance(message, dict):
        return
    time = seconds_of(event.get("timestamp"))
    results = [
        part for part in mappings(message.get("content")) if part.get("type") == "tool_result"
    ]
    if event["type"] == "user":
        for part in results:
            failed = part.get("is_error") is True
            text = text_of(part.get("content"))
            steps.result(ToolResult(str(part.get("tool_use_id")), text, failed))
        if not results:
            steps.add("user", time=time, text=text_of(message.get("content")))
        return
    model, tokens = message.get("model"), _tokens(message.get("usage"))
    key = str(message.get("id") or "")
    steps.add("agent", key=key, time=time, model=str(model) if model else None, tokens=tokens)
    for part in mappings(message.get("content")):
        if part.get("type") == "text":
            steps.say(str(part.get("text") or ""))
        elif part.get("type") == "thinking":
            steps.think(str(part.get("thinking") or ""))
        elif part.get("type") == "tool_use":
            call = ToolCall(
                str(part.get("id")), str(part.get("name")), arguments_of(part.get("input"))
            )
            steps.call(call)


def _tokens(usage: object) -> TokenCounts | None:
    """As the answer began: what it put out was not yet counted then."""
    if not isinstance(usage, dict):
        return None
    cached = usage.get("cache_read_input_tokens")
    parts = [usage.get("input_tokens"), cached, usage.get("cache_creation_input_tokens")]
    counted = [part for part in parts if isinstance(part, int)]
    return TokenCounts(
        input=sum(counted) if counted else None,
        cached=cached if isinstance(cached, int) else None,
    )


def unwrapped(executions: Sequence[Execution]) -> list[Execution]:
    """Executions with the commands of its shell tool as the model asked for them.

    The shell that makes the notes is Claude Code's own, and only the first can be it: no
    command of a model's runs before.
    """
    found, notes = [], ""
    for one in executions:
        if one.argv[:2] == SHELL and len(one.argv) == 4 and one.argv[2] == "-l" and not notes:
            notes = one.argv[3].partition("SNAPSHOT_FILE=")[2].partition("\n")[0]
            if notes.startswith(NOTES):
                continue
        found.append(_unwrapped(one, notes))
    return found


def _unwrapped(one: Execution, notes: str) -> Execution:
    if one.argv[:2] != SHELL or len(one.argv) != 3 or not one.whole:
        return one
    match = WRAPPED.match(one.argv[2])
    if not match or match["notes"] != notes:
        return one
    try:
        words = shlex.split(match["asked"])
    except ValueError:
        return one
    return replace(one, argv=(*SHELL, *words)) if len(words) == 1 else one


CLAUDE_CODE = _ClaudeCode()
