"""A run as logs of Inspect, made by inspect-ai itself (the extra ``inspect``).

One log a condition, one sample an episode: a task is a sample, a trial an epoch. The phases
follow one another, each a span of events and a part of the sample's messages.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from rolewall.errors import InputError, StorageError
from rolewall.record import EpisodeRecord, GradeRecord, PhaseUsage
from rolewall.rundir import Run
from rolewall.trajectory.clean import Cleaner
from rolewall.trajectory.facts import episode_facts, iso, score_facts
from rolewall.trajectory.inspectphase import PhaseParts, phase_parts
from rolewall.trajectory.phases import PhaseTrajectory

__all__ = ["library", "make_log", "make_sample", "write_log"]

# As Inspect names what its own scorers find; a grader's error is no score.
GRADES = {"pass": "C", "fail": "I"}
NO_MODEL = "none/none"


def library() -> ModuleType:
    """``inspect_ai.log``, and with it all that is needed.

    Raises InputError: it is not installed.
    """
    try:
        return importlib.import_module("inspect_ai.log")
    except ImportError as problem:
        raise InputError(
            "inspect-ai is not here to write its logs",
            place="--format inspect",
            got=str(problem),
            hint="pip install 'rolewall[inspect]'",
        ) from None


def make_sample(record: EpisodeRecord, phases: Sequence[PhaseTrajectory]) -> Any:
    """An episode as a sample of Inspect."""
    log, cleaner = library(), Cleaner(row.nonce for row in record.verdicts)
    parts = [phase_parts(record, found) for found in phases]
    scores = _scores(record, cleaner)
    error = None
    if record.error:
        message = cleaner.text(f"{record.error.kind}: {record.error.message}")
        error = log.EvalError(message=message, traceback="", traceback_ansi="")
    return log.EvalSample(
        id=record.task,
        epoch=record.trial + 1,
        uuid=record.key,
        input=f"{record.task}, played by the team {record.team} under {record.condition}",
        target="pass",
        messages=[message for part in parts for message in part.messages],
        events=[event for part in parts for event in part.events],
        scores=scores,
        metadata=cleaner.value(episode_facts(record)),
        started_at=iso(record.started),
        completed_at=iso(record.ended),
        total_time=record.ended - record.started,
        model_usage=_usage(parts),
        error=error,
    )


def _scores(record: EpisodeRecord, cleaner: Cleaner) -> dict[str, Any]:
    """``grade`` of the final work and ``verdict``; an error of either's is no score."""
    score = importlib.import_module("inspect_ai.scorer").Score
    made = {}
    if record.status == "complete" and record.grade in GRADES:
        last = record.last_grade
        made["grade"] = score(
            value=GRADES[record.grade],
            answer=record.grade,
            explanation=cleaner.text(last.why) if last and last.why else None,
            metadata=cleaner.value(_more(last)),
        )
    if record.status == "complete" and record.verified:
        said = record.verdicts[-1] if record.verdicts else None
        made["verdict"] = score(
            value=record.verdict,
            answer=record.verdict,
            explanation=cleaner.text(said.why) if said and said.why else None,
            metadata={"isolated": record.isolated},
        )
    return made


def _more(grade: GradeRecord | None) -> dict[str, Any]:
    return score_facts(grade) or {}


def _usage(parts: Iterable[PhaseParts]) -> dict[str, Any]:
    """By model, where a phase's usage is of one model; the sums are the gateway's."""
    usage = importlib.import_module("inspect_ai.model").ModelUsage
    found: dict[str, Any] = {}
    for part in parts:
        if (known := _known(part.usage)) and part.usage:
            name = ", ".join(part.usage.models)
            made = usage(**known)
            found[name] = found[name] + made if name in found else made
    return found


def _known(usage: PhaseUsage | None) -> dict[str, Any]:
    if usage is None or usage.input is None or usage.output is None or not usage.models:
        return {}
    return {
        "input_tokens": usage.input - (usage.cached or 0),  # as Inspect counts: without cached
        "output_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "input_tokens_cache_read": usage.cached,
        "total_cost": usage.usd,
    }


def make_log(run: Run, condition: str, records: Sequence[EpisodeRecord], samples: list[Any]) -> Any:
    """One condition of a run; ``samples`` are of ``records``, in order."""
    log = library()
    info = run.info
    ids = list(dict.fromkeys(record.task for record in records))
    models = sorted({m for r in records for p in r.phases if p.usage for m in p.usage.models})
    spec = log.EvalSpec(
        eval_id=f"{run.seal or 'unsealed'}:{condition}"[-64:],
        run_id=(run.seal or "unsealed")[:22],
        created=datetime.fromtimestamp(info.created, UTC).isoformat(timespec="seconds"),
        task=f"{info.team}/{condition}",
        dataset=log.EvalDataset(name="rolewall", samples=len(ids), sample_ids=ids),
        model=", ".join(models) or NO_MODEL,
        config=log.EvalConfig(epochs=info.trials),
        packages={"rolewall": info.rolewall},
        metadata={
            "run_seal": run.seal,
            "condition": condition,
            "team_digest": info.team_digest,
            "replay": info.replay.model_dump() if info.replay else None,
        },
    )
    return log.EvalLog(
        status="success" if all(record.status == "complete" for record in records) else "error",
        eval=spec,
        results=_results(log, samples, run.info.planned_for(condition) or len(samples)),
        stats=log.EvalStats(
            started_at=iso(min(record.started for record in records)),
            completed_at=iso(max(record.ended for record in records)),
        ),
        samples=samples,
    )


def _results(log: ModuleType, samples: Sequence[Any], planned: int) -> Any:
    graded = [s.scores["grade"].value for s in samples if "grade" in (s.scores or {})]
    scores = []
    if graded:
        share = sum(value == GRADES["pass"] for value in graded) / len(graded)
        metric = log.EvalMetric(name="accuracy", value=share)
        scores = [log.EvalScore(name="grade", scorer="grade", scored_samples=len(graded),
                                unscored_samples=len(samples) - len(graded),
                                metrics={"accuracy": metric})]  # fmt: skip
    done = sum(sample.error is None for sample in samples)
    return log.EvalResults(total_samples=planned, completed_samples=done, scores=scores)


def write_log(made: Any, path: Path) -> None:
    """Raises StorageError."""
    try:
        library().write_eval_log(made, str(path), format="eval")
    except OSError as error:
        raise StorageError(f"cannot write: {error.strerror}", place=str(path)) from error
