"""What an export says of the episode and the phase that a trajectory is from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rolewall.record import EpisodeRecord, GradeRecord, PhaseRecord

__all__ = ["episode_facts", "iso", "phase_facts", "score_facts"]


def episode_facts(record: EpisodeRecord) -> dict[str, Any]:
    facts = {
        "key": record.key,
        "task": record.task,
        "team": record.team,
        "condition": record.condition,
        "trial": record.trial,
        "seed": record.seed,
        "backend": record.backend,
        "image": record.image,
        "status": record.status,
        "trust": record.trust,
        "isolated": record.isolated,
    }
    if record.error:
        facts["error"] = record.error.model_dump(mode="json")
    if record.replay_of:
        facts["replay_of"] = record.replay_of
    if record.candidate:
        facts["candidate"] = record.candidate.model_dump(mode="json")
    return facts


def phase_facts(record: EpisodeRecord, phase: PhaseRecord) -> dict[str, Any]:
    """How the phase went; of a verifier's what it said, beside the grade."""
    facts: dict[str, Any] = {
        "role": phase.role,
        "phase": phase.index,
        "round": phase.round,
        "outcome": phase.outcome,
        "returncode": phase.returncode,
        "seconds": phase.ended - phase.started,
        "attempts": phase.attempts.model_dump(mode="json", exclude_defaults=True),
    }
    for row in record.verdicts:
        if row.phase == phase.index:
            facts["verdict"] = row.verdict
            facts["isolated"] = row.isolated
            facts["grade_before"] = score_facts(row.grade_before)
            facts["grade_after"] = score_facts(row.grade_after)
    return facts


def score_facts(grade: GradeRecord | None) -> dict[str, Any] | None:
    """``details`` stay in the record: they are the grader's, and name hidden tests."""
    if grade is None:
        return None
    return {"grade": grade.grade, "score": grade.score, "trust": grade.trust, "why": grade.why}


def iso(seconds: float | None) -> str | None:
    """A moment in UTC; None for what no calendar has, such as an agent's own nonsense."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return None
