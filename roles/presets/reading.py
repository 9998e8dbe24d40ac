"""Helpers for reading what agents' programs print."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rolewall.roles.steps import Source, TokenCounts, ToolCall, ToolResult, TrajectoryStep

__all__ = ["StepList", "arguments_of", "json_lines", "mappings", "seconds_of", "text_of"]


def json_lines(data: bytes, problems: list[str]) -> Iterator[dict[str, Any]]:
    """The JSON objects of ``data``, one a line; what is none is named in ``problems``."""
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            yield found
        else:
            problems.append(f"line {number} is no JSON object")


def mappings(value: object) -> Iterator[dict[str, Any]]:
    """The objects in ``value``, if it is a list."""
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item


def text_of(value: object) -> str:
    """The text of a message's content: a string, or a list of parts with ``text``."""
    if isinstance(value, str):
        return value
    return "\n".join(str(part["text"]) for part in mappings(value) if "text" in part)


def arguments_of(value: object) -> dict[str, Any]:
    """A tool call's arguments; what is no JSON object stands under ``raw``."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {"raw": value}
    return value if isinstance(value, dict) else {"raw": value}


def seconds_of(value: object) -> float | None:
    """Seconds since the epoch of an ISO 8601 time; None for what is none."""
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except (ValueError, OverflowError):
        return None


@dataclass
class _Open:
    """A step that is being read."""

    source: Source
    key: str = ""
    time: float | None = None
    model: str | None = None
    tokens: TokenCounts | None = None
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)

    def done(self) -> TrajectoryStep:
        return TrajectoryStep(
            source=self.source,
            text="\n".join(filter(None, self.text)),
            reasoning="\n".join(filter(None, self.reasoning)),
            calls=tuple(self.calls),
            results=tuple(self.results),
            model=self.model,
            tokens=self.tokens,
            time=self.time,
        )


class StepList:
    """Steps of a trajectory as they are read, one event after another."""

    def __init__(self) -> None:
        self._steps: list[_Open] = []
        self._asked: dict[str, _Open] = {}

    def add(
        self,
        source: Source,
        *,
        key: str = "",
        time: float | None = None,
        model: str | None = None,
        tokens: TokenCounts | None = None,
        text: str = "",
    ) -> None:
        """Begin a step, or go on with the last one where it has the same ``key``."""
        if key and self._steps and self._steps[-1].key == key:
            return
        self._steps.append(_Open(source, key, time, model, tokens, [text]))

    def say(self, text: str) -> None:
        self._steps[-1].text.append(text)

    def think(self, text: str) -> None:
        self._steps[-1].reasoning.append(text)

    def call(self, call: ToolCall) -> None:
        self._steps[-1].calls.append(call)
        self._asked[call.id] = self._steps[-1]

    def has_call(self, key: str) -> bool:
        return key in self._asked

    def result(self, result: ToolResult) -> None:
        """A tool's result; it goes to the step that asked, or where nobody did to the last."""
        if not self._steps:
            self.add("user")
        self._asked.get(result.id, self._steps[-1]).results.append(result)

    def done(self) -> tuple[TrajectoryStep, ...]:
        return tuple(step.done() for step in self._steps)
