"""mini-swe-agent, by its command ``mini``.

Tried with 2.4.6. Its configuration is looked for by name in the directory where it starts
before its own is taken, so it starts in a directory of its own and runs commands in the
workspace: else a ``mini.yaml`` that an executor leaves there would rule the verifier.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from rolewall.roles.agents import PresetName
from rolewall.roles.presets.frame import Printed, Start, Told
from rolewall.roles.presets.reading import StepList, arguments_of, mappings, text_of
from rolewall.roles.steps import Source, TokenCounts, ToolCall, ToolResult, Trajectory

__all__ = ["MINI_SWE_AGENT"]

START = "/home/mini-swe-agent"
CONFIG = f"{START}/rolewall.yaml"
TRAJECTORY = f"{START}/trajectory.json"
COMMAND_SECONDS = 300  # its own 30 seconds are few for a test run in a check box
FLAGS = ("--yolo", "--exit-immediately", "--cost-limit", "0", "-c", "mini.yaml", "-c", CONFIG)
QUIET = {
    "MSWEA_CONFIGURED": "true",  # else it asks a person to set it up
    "MSWEA_SILENT_STARTUP": "1",
    "MSWEA_GLOBAL_CONFIG_DIR": f"{START}/config",
    "MSWEA_COST_TRACKING": "ignore_errors",  # a model without a known price is no error
    "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "4",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else prices are fetched at the start
    "LITELLM_MODE": "PRODUCTION",  # else a file .env is looked for
}
SOURCES: dict[str, Source] = {"system": "system", "user": "user", "assistant": "agent"}
LATEST = 1e12  # seconds; a time that is later is none


@dataclass(frozen=True)
class _MiniSweAgent:
    name: PresetName = "mini-swe-agent"
    program: str = "mini"
    install: str = "its package is mini-swe-agent, by pip or pipx"

    def start(self, told: Told) -> Start:
        """The prompt is in the configuration, for a command line is seen and written down."""
        model = ("--model", f"openai/{told.model}", "--output", TRAJECTORY)
        config = {
            "run": {"task": told.prompt},
            "environment": {"cwd": "/workspace", "timeout": COMMAND_SECONDS},
        }
        return Start(
            argv=(told.program, *FLAGS, *model, *told.args),
            cwd=START,
            env={
                **QUIET,
                "OPENAI_API_BASE": f"{told.url}/v1",
                "OPENAI_API_KEY": told.key,
            },
            files={CONFIG: yaml.safe_dump(config, allow_unicode=True).encode()},
            then=("cat", TRAJECTORY),
        )

    def parse(self, printed: Printed) -> Trajectory:
        """Read from the trajectory that it writes; what it prints is made for people."""
        problems: list[str] = []
        found = _loaded(printed.then)
        if found is None:
            problems.append("its trajectory file is no JSON object")
            found = {}
        steps = StepList()
        for message in mappings(found.get("messages")):
            _message(message, steps)
        info = _mapping(found.get("info"))
        status = str(info.get("exit_status") or "")
        if status not in ("", "Submitted"):
            problems.append(f"ended as {status}")
        version = str(info.get("mini_version") or "")
        return Trajectory(self.name, version, "agent", steps.done(), tuple(problems))


def _loaded(data: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _message(message: Mapping[str, Any], steps: StepList) -> None:
    extra = _mapping(message.get("extra"))
    role, text = message.get("role"), text_of(message.get("content"))
    if role == "tool":
        code = extra.get("returncode")
        failed = isinstance(code, int) and code != 0
        steps.result(ToolResult(str(message.get("tool_call_id")), text, failed))
    elif isinstance(role, str) and role in SOURCES:
        answer = _mapping(extra.get("response"))
        steps.add(
            SOURCES[role],
            text=text,
            time=_seconds(extra.get("timestamp")),
            model=str(answer["model"]) if answer.get("model") else None,
            tokens=_tokens(answer.get("usage")),
        )
        steps.think(text_of(message.get("reasoning_content")))
        for call in mappings(message.get("tool_calls")):
            asked = _mapping(call.get("function"))
            arguments = arguments_of(asked.get("arguments"))
            steps.call(ToolCall(str(call.get("id")), str(asked.get("name")), arguments))


def _tokens(usage: object) -> TokenCounts | None:
    if not isinstance(usage, dict):
        return None
    details = _mapping(usage.get("prompt_tokens_details"))
    return TokenCounts(
        input=_number(usage.get("prompt_tokens")),
        output=_number(usage.get("completion_tokens")),
        cached=_number(details.get("cached_tokens")),
    )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < LATEST else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


MINI_SWE_AGENT = _MiniSweAgent()
