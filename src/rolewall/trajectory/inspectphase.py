"""One phase as messages and events of Inspect."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rolewall.record import EpisodeRecord, PhaseRecord, PhaseUsage
from rolewall.roles import ToolCall, ToolResult, Trajectory, TrajectoryStep
from rolewall.trajectory.clean import Cleaner
from rolewall.trajectory.facts import phase_facts
from rolewall.trajectory.phases import PhaseTrajectory

__all__ = ["PhaseParts", "phase_parts"]

NO_MODEL = "none/none"


@dataclass
class PhaseParts:
    """What a phase adds to a sample."""

    usage: PhaseUsage | None
    messages: list[Any] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)


def phase_parts(record: EpisodeRecord, found: PhaseTrajectory) -> PhaseParts:
    """Messages in order, and the same as events in a span with the phase's name.

    The first message of a phase, and the information beside it, are rolewall's own words
    and bear ``rolewall: true``; all others are the agent's.
    """
    return _Phase(record, found).parts


class _Phase:
    def __init__(self, record: EpisodeRecord, found: PhaseTrajectory) -> None:
        self._event = importlib.import_module("inspect_ai.event")
        self._model = importlib.import_module("inspect_ai.model")
        self._tool = importlib.import_module("inspect_ai.tool")
        self._phase: PhaseRecord = found.phase
        self._started = record.started
        self._now = found.phase.started
        self._id = f"{record.key}/{found.phase.name}"
        self._count = 0
        self.parts = PhaseParts(found.phase.usage)
        self._begin(record, found.trajectory)
        for step in found.trajectory.steps:
            self._step(step, found.trajectory)
        self._now = found.phase.ended
        self._add("SpanEndEvent", id=self._id)

    def _begin(self, record: EpisodeRecord, trajectory: Trajectory) -> None:
        cleaner = Cleaner(row.nonce for row in record.verdicts)
        role = self._phase.role
        self._add("SpanBeginEvent", id=self._id, type="agent", name=self._phase.name)
        facts = {
            "agent": trajectory.agent,
            "version": trajectory.version,
            "origin": trajectory.origin,
            "problems": list(trajectory.problems),
            **phase_facts(record, self._phase),
        }
        self._add("InfoEvent", source="rolewall", data=cleaner.value(facts))
        text = f"Phase {self._phase.index}: the {role}, round {self._phase.round}."
        self._say("ChatMessageUser", content=text, metadata={"rolewall": True, "role": role})

    def _step(self, step: TrajectoryStep, trajectory: Trajectory) -> None:
        if step.time is not None and self._phase.started <= step.time <= self._phase.ended:
            self._now = step.time  # what an agent says of the time counts only where it can be
        if step.source != "agent":
            name = "ChatMessageSystem" if step.source == "system" else "ChatMessageUser"
            self._say(name, content=step.text)
            self._add("InfoEvent", source=step.source, data=step.text)
        else:
            message = self._say("ChatMessageAssistant", **self._answer(step))
            if trajectory.origin != "commands":
                self._answered(step, message)
        for call, result in _paired(step):
            self._called(call, result)

    def _answer(self, step: TrajectoryStep) -> dict[str, Any]:
        content: Any = step.text
        if step.reasoning:
            content = [
                self._model.ContentReasoning(reasoning=step.reasoning),
                self._model.ContentText(text=step.text),
            ]
        calls = [
            self._tool.ToolCall(id=call.id, function=call.name, arguments=call.arguments)
            for call in step.calls
        ]
        return {"content": content, "tool_calls": calls or None, "model": step.model}

    def _answered(self, step: TrajectoryStep, message: Any) -> None:
        choice = self._model.ChatCompletionChoice(
            message=message, stop_reason="tool_calls" if step.calls else "stop"
        )
        model = step.model or next(iter(self._phase.usage.models if self._phase.usage else ()), "")
        output = self._model.ModelOutput(
            model=model or NO_MODEL, choices=[choice], usage=self._usage(step)
        )
        self._add(
            "ModelEvent",
            model=model or NO_MODEL,
            role=self._phase.role,
            input=[],
            tools=[],
            tool_choice="auto",
            config=self._model.GenerateConfig(),
            output=output,
        )

    def _usage(self, step: TrajectoryStep) -> Any:
        tokens = step.tokens
        if tokens is None or tokens.input is None or tokens.output is None:
            return None
        return self._model.ModelUsage(
            input_tokens=max(0, tokens.input - (tokens.cached or 0)),
            output_tokens=tokens.output,
            total_tokens=tokens.input + tokens.output,
            input_tokens_cache_read=tokens.cached,
        )

    def _called(self, call: ToolCall, result: ToolResult | None) -> None:
        error = None
        if result and result.failed:
            error = self._tool.ToolCallError(type="unknown", message=result.text)
        text = result.text if result else ""
        self._add(
            "ToolEvent",
            id=call.id or f"call-{self._count}",
            function=call.name,
            arguments=call.arguments,
            result=text,
            error=error,
            failed=bool(error),
        )
        if result:
            self._say("ChatMessageTool", content=text, tool_call_id=call.id,
                      function=call.name, error=error)  # fmt: skip

    def _say(self, kind: str, **parts: Any) -> Any:
        self._count += 1
        made = getattr(self._model, kind)(id=f"{self._id}/{self._count}", **parts)
        self.parts.messages.append(made)
        return made

    def _add(self, kind: str, **parts: Any) -> None:
        self._count += 1
        made = getattr(self._event, kind)(
            uuid=f"{self._id}/{self._count}",
            span_id=self._id,
            timestamp=datetime.fromtimestamp(self._now, UTC),
            working_start=max(0.0, self._now - self._started),
            **parts,
        )
        self.parts.events.append(made)


def _paired(step: TrajectoryStep) -> Iterator[tuple[ToolCall, ToolResult | None]]:
    """Calls with their results; a result that nothing asked for gets a call without a name."""
    left = list(step.results)
    for call in step.calls:
        result = next((result for result in left if result.id == call.id), None)
        if result:
            left.remove(result)
        yield call, result
    for result in left:
        yield ToolCall(result.id, "unknown", {}), result
