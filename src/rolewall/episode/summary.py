"""From what happened in an episode to its record."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rolewall.episode.conditions import Conditions
from rolewall.episode.contracts import Contracts, contracts_in
from rolewall.episode.setting import Setting
from rolewall.errors import RecordError
from rolewall.patterns import with_patterns
from rolewall.policies import verify_ledger
from rolewall.record import (
    AttemptCounts,
    EpisodeRecord,
    ErrorRecord,
    GradeRecord,
    PhaseRecord,
    VerdictRecord,
)
from rolewall.sandbox import Manifest

__all__ = ["Outcome", "make_record"]

BROKEN = "broken"


@dataclass
class Outcome:
    """What an episode has come to so far. ``states`` are the work before and
    after each verifier phase and the report, beside ``verdicts``; the work has the
    executor's repository. Where there is no verifier, ``handed_in`` are work and report
    as its executor left them, and ``final`` is their grade. ``start`` is the state of
    every zone at the beginning."""

    phases: list[PhaseRecord] = field(default_factory=list)
    verdicts: list[VerdictRecord] = field(default_factory=list)
    states: list[tuple[Manifest, Manifest, Manifest]] = field(default_factory=list)
    handed_in: tuple[Manifest, Manifest] | None = None
    final: GradeRecord | None = None
    start: Mapping[str, Manifest] = field(default_factory=dict)
    error: ErrorRecord | None = None
    conditions: Conditions | None = None
    contracts: Contracts | None = None
    agent_seconds: float = 0.0
    grader_seconds: float = 0.0


def make_record(setting: Setting, outcome: Outcome, started: float) -> EpisodeRecord:
    """The record of an episode that is over, whatever became of it."""
    ended = time.time()
    last = outcome.verdicts[-1] if outcome.verdicts else None
    final = last.grade_after if last else outcome.final
    error = outcome.error
    if error is None and (final is None or final.grade == "error"):
        error = ErrorRecord(kind="grader", message=final.why if final else "nothing was graded")
    lines, head = _ledger(setting)
    if error is None and head in ("", BROKEN):
        error = ErrorRecord(kind="RecordError", message="the episode's ledger does not verify")
    busy = outcome.agent_seconds + outcome.grader_seconds
    return EpisodeRecord(
        key=setting.key,
        task=setting.task.id,
        team=setting.team.name,
        condition=setting.condition,
        trial=setting.trial,
        seed=setting.seed,
        backend=setting.backend.name,
        image=setting.image,
        observe=setting.team.observe,
        started=started,
        ended=ended,
        status="error" if error else "complete",
        verdict=last.verdict if last else "missing",
        grade=final.grade if final else "error",
        isolated=all(verdict.isolated for verdict in outcome.verdicts),
        trust=setting.task.grader.trust,
        phases=tuple(outcome.phases),
        verdicts=with_patterns(
            outcome.verdicts, outcome.phases, setting.team.observe, setting.ledger
        ),
        attempts=_by_role(outcome.phases),
        seconds={
            "agents": outcome.agent_seconds,
            "grader": outcome.grader_seconds,
            "harness": max(0.0, ended - started - busy),
        },
        ledger_head=head,
        ledger_lines=lines,
        error=error,
        digests=setting.digests
        | {f"start:{zone}": manifest.digest for zone, manifest in outcome.start.items()},
        verified=setting.verified,
        final=outcome.final,
        candidate=setting.work.candidate if setting.work else None,
        tries=setting.tries,
        conditions=tuple(outcome.conditions.log.events) if outcome.conditions else (),
        conditions_omitted=outcome.conditions.log.omitted if outcome.conditions else 0,
        contracts=contracts_in(setting.policy, setting.team),
        breaches=tuple(outcome.contracts.breaches) if outcome.contracts else (),
        replay_of=setting.recorded.key if setting.recorded else "",
        handoff=setting.handoff,
        critical=setting.task.critical,
    )


def _ledger(setting: Setting) -> tuple[int, str]:
    path = setting.ledger
    if not path.exists():
        return 0, ""
    try:
        check = verify_ledger(path)
    except RecordError:
        return 0, BROKEN  # audit finds and names the place
    return check.lines, check.head


def _by_role(phases: Iterable[PhaseRecord]) -> dict[str, AttemptCounts]:
    total: dict[str, dict[str, int]] = {}
    for phase in phases:
        mine = total.setdefault(phase.role, dict.fromkeys(AttemptCounts.model_fields, 0))
        for name in mine:
            mine[name] += getattr(phase.attempts, name)
    return {role: AttemptCounts(**counts) for role, counts in total.items()}
