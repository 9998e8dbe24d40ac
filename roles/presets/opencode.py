"""opencode, by its command ``run``.

Tried with 1.18.33. opencode obeys what a project holds (``opencode.json``, ``.opencode``,
``AGENTS.md``), and of ``.opencode/plugin`` it imports every file, also where its own switches
say that it shall not; so what an executor leaves in the workspace would run in the verifier's
box, beside its verdict. Projects are looked for from the directory in which opencode starts
upwards. So it starts in a directory of its own, for every role alike, is told where the work
is, and its commands begin there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rolewall.roles.agents import PresetName
from rolewall.roles.presets.frame import Printed, Start, Told
from rolewall.roles.presets.reading import StepList, arguments_of, json_lines
from rolewall.roles.steps import TokenCounts, ToolCall, ToolResult, Trajectory

__all__ = ["OPENCODE"]

PROVIDER = "rolewall"
START = "/home/opencode"
CONFIG = "/home/.config/opencode"
BASH = f"{START}/bash-env"
# bash reads this before every command; what begins elsewhere stays there.
BASH_TEXT = f'[ "$PWD" != {START} ] || cd /workspace\n'
WHERE = (
    "The work is in `/workspace`, not in the directory where you started. Name files by their "
    "full path, and give `/workspace` to tools that take a directory.\n"
)
FLAGS = ("run", "--format", "json", "--thinking", "--title", "rolewall")
QUIET = (
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_SHARE",
    # These alone do not keep plug-ins out; they keep the rest of a project out.
    "OPENCODE_DISABLE_CLAUDE_CODE",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS",
    "OPENCODE_DISABLE_PROJECT_CONFIG",
    "OPENCODE_PURE",
)
LATEST = 1e15  # milliseconds; a time that is later is none


@dataclass(frozen=True)
class _OpenCode:
    name: PresetName = "opencode"
    program: str = "opencode"
    install: str = "its package is opencode-ai, by npm install -g"

    def start(self, told: Told) -> Start:
        return Start(
            argv=(told.program, *FLAGS, *told.args),
            cwd=START,
            stdin=told.prompt.encode(),
            env={"BASH_ENV": BASH, **dict.fromkeys(QUIET, "1")},
            files={
                f"{CONFIG}/opencode.json": json.dumps(_config(told)).encode(),
                f"{CONFIG}/AGENTS.md": WHERE.encode(),
                BASH: BASH_TEXT.encode(),
            },
        )

    def parse(self, printed: Printed) -> Trajectory:
        problems: list[str] = []
        events = list(json_lines(printed.stdout, problems))
        counted = _tokens_by_message(events)
        steps = StepList()
        for event in events:
            part = _mapping(event.get("part"))
            if event.get("type") == "error":
                problems.append(f"ended with an error: {_error(event.get('error'))}")
            elif event.get("type") in ("step_start", "text", "reasoning", "tool_use"):
                key = str(part.get("messageID") or "")
                steps.add("agent", key=key, time=_seconds(event), tokens=counted.get(key))
                _part(event["type"], part, steps)
        return Trajectory(self.name, "", "agent", steps.done(), tuple(problems))


def _config(told: Told) -> dict[str, Any]:
    """Everything is allowed, since the wall is outside; what needs a network is not there."""
    model = f"{PROVIDER}/{told.model}"
    return {
        "model": model,
        "small_model": model,
        "enabled_providers": [PROVIDER],
        "provider": {
            PROVIDER: {
                "npm": "@ai-sdk/openai-compatible",  # part of the program; nothing is fetched
                "name": PROVIDER,
                "options": {"baseURL": f"{told.url}/v1", "apiKey": told.key},
                "models": {told.model: {"name": told.model, "tool_call": True}},
            }
        },
        "permission": {"*": "allow", "webfetch": "deny", "websearch": "deny"},
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "formatter": False,
        "lsp": False,
    }


def _part(kind: str, part: Mapping[str, Any], steps: StepList) -> None:
    if kind == "text":
        steps.say(str(part.get("text") or ""))
    elif kind == "reasoning":
        steps.think(str(part.get("text") or ""))
    elif kind == "tool_use":
        state = _mapping(part.get("state"))
        failed = state.get("status") == "error"
        call = ToolCall(
            str(part.get("callID")), str(part.get("tool")), arguments_of(state.get("input"))
        )
        said = state.get("error" if failed else "output")
        steps.call(call)
        steps.result(ToolResult(call.id, str(said or ""), failed))


def _tokens_by_message(events: Iterable[Mapping[str, Any]]) -> dict[str, TokenCounts]:
    """Counted when a step has ended; a message is one step."""
    found = {}
    for event in events:
        part = _mapping(event.get("part"))
        if event.get("type") == "step_finish" and isinstance(part.get("tokens"), dict):
            found[str(part.get("messageID") or "")] = _tokens(part["tokens"])
    return found


def _tokens(tokens: Mapping[str, Any]) -> TokenCounts:
    """opencode counts apart what was cached, and what was thought; an endpoint does not."""
    cache = _mapping(tokens.get("cache"))
    read = _number(cache.get("read"))
    return TokenCounts(
        input=_sum(_number(tokens.get("input")), read, _number(cache.get("write"))),
        output=_sum(_number(tokens.get("output")), _number(tokens.get("reasoning"))),
        cached=read,
    )


def _sum(first: int | None, *more: int | None) -> int | None:
    return None if first is None else first + sum(number or 0 for number in more)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _seconds(event: Mapping[str, Any]) -> float | None:
    """opencode tells milliseconds."""
    stamp = event.get("timestamp")
    return stamp / 1000 if isinstance(stamp, int | float) and abs(stamp) < LATEST else None


def _error(error: object) -> str:
    known = _mapping(error)
    said = _mapping(known.get("data")).get("message") or known.get("name")
    return str(said or "not said")


OPENCODE = _OpenCode()
