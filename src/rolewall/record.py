"""The record of one episode, as it stands in ``episode.json``."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AttemptCounts",
    "Change",
    "EpisodeRecord",
    "ErrorRecord",
    "GradeRecord",
    "PhaseRecord",
    "VerdictRecord",
]

Verdict = Literal["approve", "reject", "missing"]
Grade = Literal["pass", "fail", "error"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AttemptCounts(_Strict):
    """Attempts of one phase. ``edit_*`` are cross-role edits; ``distinct_edits``
    counts distinct (program, target) pairs among them; ``unattributed`` counts
    manifest changes outside the owner's phase with no matching allowed attempt."""

    edit_attempted: int = 0
    edit_blocked: int = 0
    edit_allowed: int = 0
    distinct_edits: int = 0
    incidental: int = 0
    own: int = 0
    outside: int = 0
    privileged: int = 0
    unknown: int = 0
    unattributed: int = 0


class Change(_Strict):
    """One entry of a shared zone that differs between two manifests.

    ``path`` is relative to the zone, undecodable bytes escaped as ``\\xNN``."""

    zone: str
    path: str
    change: Literal["created", "deleted", "modified"]
    what: tuple[str, ...] = ()  # of: content, mode, owner, mtime, type, target, xattrs, links
    cross_role: bool = False
    incidental: bool = False  # a cache that a tool writes unasked


class PhaseRecord(_Strict):
    index: int
    role: str
    round: int
    started: float
    ended: float
    outcome: Literal["done", "blocked", "failed", "timeout", "violation", "disk"]
    returncode: int | None
    box: dict[str, Any] = Field(default_factory=dict)  # uids, limits and mechanism, probe result
    attempts: AttemptCounts = AttemptCounts()
    manifests: dict[str, str] = Field(
        default_factory=dict
    )  # zone -> manifest digest after the phase
    changes: tuple[Change, ...] = ()
    handoff: str | None = None  # sha256 of the sealed handoff
    transcript: str | None = None  # path below the episode's directory
    transcript_sha256: dict[str, str] = Field(default_factory=dict)  # by file name


class GradeRecord(_Strict):
    """``trust`` is the grader's class; ``why`` is empty for a pass."""

    grade: Grade
    trust: Literal["outside", "in-process", "untrusted"]
    why: str = ""
    score: float | None = None
    seconds: float = 0.0
    manifest: str = ""
    details: dict[str, Any] = Field(default_factory=dict)


class VerdictRecord(_Strict):
    """One verifier phase: its verdict beside the grade of the work as it was
    handed to the verifier (``grade_before``) and as the verifier left it
    (``grade_after``)."""

    round: int
    phase: int
    verdict: Verdict
    why: str = ""  # for missing: what was wrong; else the verifier's summary
    isolated: bool = True
    checks: tuple[dict[str, Any], ...] = ()
    claims: tuple[dict[str, Any], ...] = ()  # {command, seen: yes|no|unknown}
    grade_before: GradeRecord | None = None
    grade_after: GradeRecord | None = None


class ErrorRecord(_Strict):
    kind: str  # class name in rolewall.errors, or "manifest-alarm", "grader"
    message: str


class EpisodeRecord(_Strict):
    """``status`` is ``complete`` when a verdict row and a grade can be counted,
    ``error`` when infrastructure failed, the wall was broken or the grader could
    not judge even the start state. ``verdict`` and ``grade`` are the headline:
    the last verdict, and the grade of the final workspace."""

    schema_version: Literal[1] = 1
    key: str
    task: str
    team: str
    condition: str
    trial: int
    seed: int
    backend: str
    image: str
    started: float
    ended: float
    status: Literal["complete", "error"]
    verdict: Verdict
    grade: Grade
    isolated: bool = True
    trust: Literal["outside", "in-process", "untrusted"]
    phases: tuple[PhaseRecord, ...] = ()
    verdicts: tuple[VerdictRecord, ...] = ()
    attempts: dict[str, AttemptCounts] = Field(default_factory=dict)  # by role, summed
    seconds: dict[str, float] = Field(default_factory=dict)  # agents, grader, harness
    ledger_head: str = ""
    ledger_lines: int = 0
    error: ErrorRecord | None = None
    digests: dict[str, str] = Field(default_factory=dict)  # task, team, code
