"""Verifying a run: that its ledgers, manifests and seals are what its records say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolewall.errors import RecordError
from rolewall.evidence import Finding, Verified, check_evidence, words_of
from rolewall.record import EpisodeRecord
from rolewall.rundir import (
    RunInfo,
    TaskRef,
    episode_key,
    episode_names,
    read_episode,
    read_info,
)

__all__ = ["AuditReport", "Finding", "audit_run"]

SUMMED = ("edit_attempted", "edit_blocked", "edit_allowed")


@dataclass(frozen=True)
class AuditReport:
    """``exit_code`` is 0 when all holds and 1 when anything was altered."""

    run: str
    episodes: int
    ledgers: int
    manifests: int
    handoffs: int
    findings: tuple[Finding, ...]

    @property
    def exit_code(self) -> int:
        return int(any(f.level == "altered" for f in self.findings))

    def lines(self) -> list[str]:
        verdict = "something was altered" if self.exit_code else "all holds"
        return [
            *(f.line() for f in self.findings),
            f"{self.run}: {verdict}: {self.episodes} episodes, {self.ledgers} ledgers,"
            f" {self.manifests} manifests, {self.handoffs} handoffs verified",
        ]

    def json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "exit_code": self.exit_code,
            "episodes": self.episodes,
            "ledgers": self.ledgers,
            "manifests": self.manifests,
            "handoffs": self.handoffs,
            "findings": [
                {"level": f.level, "place": f.place, "message": f.message} for f in self.findings
            ],
        }


def audit_run(path: Path) -> AuditReport:
    """Verify everything in a run directory. Raises RecordError when it is none."""
    info = read_info(path)
    counts = Verified()
    findings: list[Finding] = []
    for name in episode_names(path):
        findings += _episode(path / "episodes" / name, info, counts)
    if counts.unsealed:
        words = f"{counts.unsealed} manifests of start states are sealed by no record"
        findings.append(Finding("note", str(path), words))
    absent = info.planned - counts.episodes
    if absent > 0:
        findings.append(
            Finding("note", str(path), f"{absent} of {info.planned} planned episodes are absent")
        )
    return AuditReport(
        str(path), counts.episodes, counts.ledgers, counts.manifests, counts.handoffs,
        tuple(findings),
    )  # fmt: skip


def _episode(directory: Path, info: RunInfo, counts: Verified) -> Iterator[Finding]:
    place = str(directory / "episode.json")
    try:
        record = read_episode(directory)
    except RecordError as error:
        yield Finding("altered", error.place or place, words_of(error))
        return
    if record is None:
        yield Finding("note", str(directory), "unfinished: it has no record")
        return
    counts.episodes += 1
    for words in _record_breaks(record, info):
        yield Finding("altered", place, words)
    yield from check_evidence(directory, record, counts)


def _record_breaks(record: EpisodeRecord, info: RunInfo) -> Iterator[str]:
    """Where a record contradicts its own key or itself."""
    key = _key(record)
    if key not in (None, record.key):
        yield f"its key does not belong to what it says was run; got {record.key}, expected {key}"
    if record.condition not in info.conditions:
        yield f"condition {record.condition} was not asked for"
    if record.verdicts and record.status == "complete":
        last = record.verdicts[-1].verdict
        if record.verdict != last:
            yield f"its headline verdict is {record.verdict}, its last verdict {last}"
    for name in SUMMED:
        phases = sum(getattr(p.attempts, name) for p in record.phases)
        roles = sum(getattr(c, name) for c in record.attempts.values())
        if phases != roles:
            yield f"{name} is {roles} by role and {phases} by phase"


def _key(record: EpisodeRecord) -> str | None:
    """The key that belongs to a record; ``None`` where it lacks a digest to tell."""
    digests = record.digests
    if not {"task", "team", "code"} <= digests.keys():
        return None
    return episode_key(
        task=TaskRef(id=record.task, digest=digests["task"]),
        team_digest=digests["team"],
        condition=record.condition,
        trial=record.trial,
        seed=record.seed,
        backend=record.backend,
        image=record.image,
        code=digests["code"],
    )
