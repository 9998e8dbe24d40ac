"""Codex, by ``codex exec``.

Tried with 0.171.0. A workspace can hold AGENTS.md, skills, ``.codex`` with hooks and MCP
servers, and rules; what an executor leaves there is kept from the verifier's Codex, and from
all others alike: the project is not trusted, and neither instructions nor skills are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rolewall.roles.agents import PresetName
from rolewall.roles.presets.frame import Printed, Start, Told
from rolewall.roles.presets.reading import StepList, arguments_of, json_lines, text_of
from rolewall.roles.steps import ToolCall, ToolResult, Trajectory

__all__ = ["CODEX"]

FLAGS = (
    *("exec", "--json", "--color", "never"),
    # Its own sandbox would have to be made inside the box; the wall is outside.
    "--dangerously-bypass-approvals-and-sandbox",
    "--skip-git-repo-check",
    *("--ephemeral", "--ignore-rules"),
)
HOME = "/home/.codex"
CONFIG = """\
model_provider = "rolewall"
web_search = "disabled"
project_doc_max_bytes = 0
check_for_update_on_startup = false

[analytics]
enabled = false

[feedback]
enabled = false

[history]
persistence = "none"

[features]
apps = false
hooks = false
plugins = false
shell_snapshot = false

[skills]
include_instructions = false

[skills.bundled]
enabled = false

[projects."/workspace"]
trust_level = "untrusted"

[model_providers.rolewall]
name = "rolewall"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
"""
# Keys of an item that are no argument of the tool it stands for.
OUTCOME = frozenset(("id", "type", "status", "aggregated_output", "exit_code", "result", "error"))


@dataclass(frozen=True)
class _Codex:
    name: PresetName = "codex"
    program: str = "codex"
    install: str = "its package is @openai/codex, by npm install -g"

    def start(self, told: Told) -> Start:
        return Start(
            argv=(told.program, *FLAGS, "--model", told.model, *told.args, "-"),
            stdin=told.prompt.encode(),
            env={"CODEX_HOME": HOME, "OPENAI_API_KEY": told.key},
            files={f"{HOME}/config.toml": CONFIG.format(url=told.url).encode()},
        )

    def parse(self, printed: Printed) -> Trajectory:
        """It prints neither its version nor the time nor the tokens of each answer."""
        problems: list[str] = []
        steps = StepList()
        for event in json_lines(printed.stdout, problems):
            item, kind = event.get("item"), event.get("type")
            if kind == "turn.failed":
                steps.add("system", text=f"ended with an error: {_message(event.get('error'))}")
            elif kind == "error":
                steps.add("system", text=str(event.get("message")))
            elif isinstance(item, dict) and kind in ("item.started", "item.completed"):
                _item(item, steps, over=kind == "item.completed")
        return Trajectory(self.name, "", "agent", steps.done(), tuple(problems))


def _message(error: object) -> str:
    return str(error.get("message") if isinstance(error, dict) else error)


def _item(item: Mapping[str, Any], steps: StepList, *, over: bool) -> None:
    kind, key = str(item.get("type")), str(item.get("id"))
    if kind in ("agent_message", "reasoning"):
        if over:
            steps.add("agent")
            (steps.say if kind == "agent_message" else steps.think)(str(item.get("text") or ""))
    elif kind == "error":
        if over:
            steps.add("system", text=str(item.get("message")))
    else:
        if not steps.has_call(key):
            steps.add("agent")
            known = {name: value for name, value in item.items() if name not in OUTCOME}
            steps.call(ToolCall(key, kind, arguments_of(known)))
        if over:
            steps.result(ToolResult(key, _output(item), _failed(item)))


def _output(item: Mapping[str, Any]) -> str:
    if isinstance(item.get("aggregated_output"), str):
        return str(item["aggregated_output"])
    found = item.get("error") or item.get("result")
    if isinstance(found, dict):
        return text_of(found.get("content") or found.get("message")) or str(found)
    return str(found or item.get("status") or "")


def _failed(item: Mapping[str, Any]) -> bool:
    return item.get("status") in ("failed", "declined") or item.get("exit_code") not in (None, 0)


CODEX = _Codex()
