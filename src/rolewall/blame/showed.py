"""What a replay showed of the episode that was played again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from rolewall.blame.facts import Facts
from rolewall.blame.model import Replayed
from rolewall.blame.upstream import stale
from rolewall.measures import EpisodeFiles
from rolewall.mutants import read_solution
from rolewall.record import EpisodeRecord
from rolewall.sandbox import load_manifest
from rolewall.tasks import Task

__all__ = ["showed", "together"]


def showed(facts: Facts, change: str, files: EpisodeFiles, task: Task, run: str) -> Replayed:
    """Of one replay of ``facts``' episode, with ``files``.

    Args:
        task: as it was played.
        run: where, below the run of the episode.
    """
    record = files.record
    used = [phase.usage for phase in record.phases if phase.usage]
    told = [tokens for use in used for tokens in (use.input, use.output) if tokens is not None]
    return Replayed(
        change=change,
        passed=_passed(facts, change, files),
        grade=record.grade,
        verdict=record.verdict if record.verified else "-",
        seconds=record.ended - record.started,
        tokens=sum(told) if told else None,
        run=run,
        why=record.error.message if record.error else "",
        alike=_alike(files, task),
        renewed=_renewed(facts, files),
    )


def together(played: Sequence[Replayed]) -> Replayed:
    """One change, however often it was played."""
    told = [one for one in played if one.passed is not None]
    passes = sum(one.passed is True for one in told)
    passed = 2 * passes > len(told) if told else None
    tokens = [one.tokens for one in played if one.tokens is not None]
    return replace(
        next(one for one in (*told, *played) if one.passed is passed),
        seconds=sum(one.seconds for one in played),
        tokens=sum(tokens) if tokens else None,
        times=len(told),
        passes=passes,
        played=len(played),
    )


def _alike(files: EpisodeFiles, task: Task) -> frozenset[str] | None:
    """Which files of the reference solution the work came to have as they are there."""
    solution = read_solution(task)
    mine = files.phases("executor")
    if solution is None or files.record.status == "error" or not mine:
        return None
    path = files.directory / "manifests" / f"{mine[-1].name}-workspace.jsonl"
    work = {entry.name: entry.sha256 for entry in load_manifest(path).entries}
    return frozenset(
        path
        for path, one in solution.files.items()
        if work.get(path) == hashlib.sha256(one.data).hexdigest()
    )


def _renewed(facts: Facts, files: EpisodeFiles) -> bool:
    """Whether a tool answered otherwise than it had what was handed on out of date."""
    return any(
        one.asks_same(answer) and answer.ok and answer.result != one.result
        for _, one in stale(facts)
        for answer in files.evidence
    )


def _passed(facts: Facts, change: str, files: EpisodeFiles) -> bool | None:
    record = files.record
    if record.status == "error" or (change == "reference" and not _laid(record)):
        return None
    if facts.failure == "verdict":
        return record.grade == "pass" and record.verdict == "approve"
    forbidden = any(found.allowed for found in files.forbidden.values())
    return record.grade == "pass" and (facts.failure == "work" or not forbidden)


def _laid(record: EpisodeRecord) -> bool:
    """Whether the reference solution came to be where the work is."""
    mine = [phase for phase in record.phases if phase.role == "executor"]
    return bool(mine) and mine[-1].outcome == "done" and mine[-1].returncode == 0
