"""A phase's trajectory as ATIF."""

from __future__ import annotations

import json
from typing import Any

from rolewall.record import EpisodeRecord, PhaseUsage
from rolewall.roles import TokenCounts, ToolResult, Trajectory, TrajectoryStep
from rolewall.trajectory.atifmodel import (
    AtifAgent,
    AtifFinalMetrics,
    AtifMetrics,
    AtifObservation,
    AtifResult,
    AtifStep,
    AtifToolCall,
    AtifTrajectory,
)
from rolewall.trajectory.clean import Cleaner
from rolewall.trajectory.facts import episode_facts, iso, phase_facts
from rolewall.trajectory.phases import PhaseTrajectory

__all__ = ["atif_bytes", "to_atif"]

NOTHING = "Nothing of this phase was recorded."


def to_atif(record: EpisodeRecord, found: PhaseTrajectory, run_seal: str | None) -> AtifTrajectory:
    """One trajectory a phase; phases of an episode share their ``session_id``."""
    phase, trajectory = found.phase, found.trajectory
    steps = [_step(number, s, trajectory) for number, s in enumerate(trajectory.steps, 1)]
    if not steps:
        steps = [AtifStep(step_id=1, source="system", message=NOTHING)]
    facts = {
        "run_seal": run_seal,
        "origin": trajectory.origin,
        **episode_facts(record),
        **phase_facts(record, phase),
    }
    return AtifTrajectory(
        session_id=record.key,
        trajectory_id=f"{record.key}/{phase.name}",
        agent=AtifAgent(
            name=trajectory.agent or "unknown",
            version=trajectory.version or "unknown",
            model_name=_model(trajectory, phase.usage),
            extra={"role": phase.role},
        ),
        steps=steps,
        notes="\n".join(trajectory.problems) or None,
        final_metrics=_final(phase.usage, len(steps)),
        extra={"rolewall": Cleaner(row.nonce for row in record.verdicts).value(facts)},
    )


def atif_bytes(made: AtifTrajectory) -> bytes:
    """ASCII alone, so that whoever looks at the file sees what is in it: an agent's words may
    hold what turns the direction of writing, or colours a terminal."""
    found = made.model_dump(mode="json", exclude_none=True)
    return json.dumps(found, indent=1, allow_nan=False).encode() + b"\n"


def _step(number: int, step: TrajectoryStep, trajectory: Trajectory) -> AtifStep:
    agents = step.source == "agent"
    modelled = agents and trajectory.origin != "commands"
    calls = [
        AtifToolCall(tool_call_id=call.id, function_name=call.name, arguments=call.arguments)
        for call in step.calls
    ]
    known = {call.id for call in step.calls} if agents else set()
    results = [_result(result, known) for result in step.results]
    return AtifStep(
        step_id=number,
        timestamp=iso(step.time),
        source=step.source,
        model_name=step.model if agents else None,
        message=step.text,
        reasoning_content=step.reasoning or None if modelled else None,
        tool_calls=calls or None if agents else None,
        observation=AtifObservation(results=results) if results else None,
        metrics=_metrics(step.tokens) if modelled else None,
        llm_call_count=_calls(trajectory) if agents else None,
    )


def _result(result: ToolResult, known: set[str]) -> AtifResult:
    extra: dict[str, Any] = {"failed": True} if result.failed else {}
    if result.id not in known:
        extra["of_call"] = result.id
    source = result.id if result.id in known else None
    return AtifResult(source_call_id=source, content=result.text, extra=extra or None)


def _calls(trajectory: Trajectory) -> int | None:
    """Of an agent's own steps nobody knows how many answers made one."""
    return {"commands": 0, "exchanges": 1, "agent": None}[trajectory.origin]


def _metrics(tokens: TokenCounts | None) -> AtifMetrics | None:
    if tokens is None:
        return None
    return AtifMetrics(
        prompt_tokens=tokens.input,
        completion_tokens=tokens.output,
        cached_tokens=tokens.cached,
    )


def _final(usage: PhaseUsage | None, steps: int) -> AtifFinalMetrics:
    """By the gateway's count: it counts what an agent does not tell of, too."""
    if usage is None:
        return AtifFinalMetrics(total_steps=steps)
    return AtifFinalMetrics(
        total_prompt_tokens=usage.input,
        total_completion_tokens=usage.output,
        total_cached_tokens=usage.cached,
        total_cost_usd=usage.usd,
        total_steps=steps,
        extra={"calls": usage.calls, "uncounted": usage.uncounted, "replayed": usage.replayed},
    )


def _model(trajectory: Trajectory, usage: PhaseUsage | None) -> str | None:
    named = [step.model for step in trajectory.steps if step.model]
    return named[0] if named else next(iter(usage.models if usage else ()), None)
