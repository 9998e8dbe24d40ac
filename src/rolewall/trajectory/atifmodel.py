"""ATIF, the Agent Trajectory Interchange Format of Harbor, version 1.7.

Written from the format's description: the fields, what is required, and what goes together.
Left out are pictures and sounds, token ids, log probabilities and embedded sub-agents, which
no export has. Unknown keys are refused, as by the format's own validator.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

__all__ = [
    "VERSION",
    "AtifAgent",
    "AtifFinalMetrics",
    "AtifMetrics",
    "AtifObservation",
    "AtifResult",
    "AtifStep",
    "AtifToolCall",
    "AtifTrajectory",
]

VERSION: Literal["ATIF-v1.7"] = "ATIF-v1.7"
_AGENTS = ("model_name", "reasoning_content", "tool_calls", "metrics")
_MODELS = ("reasoning_content", "metrics")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class AtifAgent(_Part):
    name: str
    version: str
    model_name: str | None = None
    tool_definitions: list[dict[str, Any]] | None = None
    extra: dict[str, Any] | None = None


class AtifToolCall(_Part):
    tool_call_id: str
    function_name: str
    arguments: dict[str, Any]
    extra: dict[str, Any] | None = None


class AtifResult(_Part):
    """``source_call_id`` is that of a call of the same step, or None."""

    source_call_id: str | None = None
    content: str | None = None
    extra: dict[str, Any] | None = None


class AtifObservation(_Part):
    results: list[AtifResult]


class AtifMetrics(_Part):
    """``cached_tokens`` are part of ``prompt_tokens``."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    extra: dict[str, Any] | None = None


class AtifStep(_Part):
    """``llm_call_count`` is 0 for what no model asked for."""

    step_id: Annotated[int, Field(ge=1)]
    timestamp: str | None = None
    source: Literal["system", "user", "agent"]
    model_name: str | None = None
    message: str
    reasoning_content: str | None = None
    tool_calls: list[AtifToolCall] | None = None
    observation: AtifObservation | None = None
    metrics: AtifMetrics | None = None
    llm_call_count: Annotated[int, Field(ge=0)] | None = None
    extra: dict[str, Any] | None = None

    @field_validator("timestamp")
    @classmethod
    def _iso(cls, value: str | None) -> str | None:
        if value is not None:
            datetime.fromisoformat(value)
        return value

    @model_validator(mode="after")
    def _of_its_source(self) -> AtifStep:
        given = [name for name in _AGENTS if getattr(self, name) is not None]
        if self.source != "agent" and given:
            raise ValueError(f"{', '.join(given)} in a step of the {self.source}")
        given = [name for name in _MODELS if getattr(self, name) is not None]
        if self.source == "agent" and self.llm_call_count == 0 and given:
            raise ValueError(f"{', '.join(given)} in a step without a model")
        calls = {call.tool_call_id for call in self.tool_calls or ()}
        for result in self.observation.results if self.observation else ():
            if result.source_call_id is not None and result.source_call_id not in calls:
                raise ValueError(f"a result of {result.source_call_id!r}, which was not called")
        return self


class AtifFinalMetrics(_Part):
    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: Annotated[int, Field(ge=0)] | None = None
    extra: dict[str, Any] | None = None


class AtifTrajectory(_Part):
    """``session_id`` may be that of several trajectories; ``trajectory_id`` is of one."""

    schema_version: Literal["ATIF-v1.7"] = VERSION
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: AtifAgent
    steps: Annotated[list[AtifStep], Field(min_length=1)]
    notes: str | None = None
    final_metrics: AtifFinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    extra: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _counted(self) -> AtifTrajectory:
        if [step.step_id for step in self.steps] != list(range(1, len(self.steps) + 1)):
            raise ValueError("step ids that do not count from 1")
        return self
