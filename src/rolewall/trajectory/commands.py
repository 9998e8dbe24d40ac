"""A trajectory from the commands that the harness ran for an agent: no model's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rolewall.roles import StepList, ToolCall, ToolResult, Trajectory, arguments_of

__all__ = ["from_commands"]

ENDED = ("timed_out", "violation", "disk_full", "out_of_memory")


def from_commands(lines: Iterable[Mapping[str, Any]]) -> Trajectory:
    """One step a command; what it wrote, as far as it was kept, is the result."""
    steps, tools = StepList(), dict.fromkeys(("",), 0)
    for number, line in enumerate(lines, 1):
        tool = str(line.get("tool") or "")
        tools[tool] = tools.get(tool, 0) + 1
        started = line.get("started")
        steps.add("agent", time=started if isinstance(started, float) else None)
        call = ToolCall(f"command-{number}", tool, arguments_of(line.get("arguments")))
        steps.call(call)
        steps.result(ToolResult(call.id, _text(line), line.get("returncode") != 0))
    used = max(tools, key=lambda tool: tools[tool])
    return Trajectory(f"rolewall {used}".strip(), "", "commands", steps.done())


def _text(line: Mapping[str, Any]) -> str:
    """Standard output, standard error and how it ended, as far as there is any."""
    parts = [_stream(line.get("stdout")), _stream(line.get("stderr"))]
    if line.get("returncode") != 0:
        parts.append(f"[exit code {line.get('returncode')}]")
    parts += [f"[{key.replace('_', ' ')}]" for key in ENDED if line.get(key)]
    return "\n".join(filter(None, parts))


def _stream(stream: object) -> str:
    if not isinstance(stream, dict):
        return ""
    text = str(stream.get("text") or "").rstrip("\n")
    return f"{text}\n[of {stream.get('bytes')} bytes]" if stream.get("truncated") else text
