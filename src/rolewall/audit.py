"""Verifying a run: that it holds what its records say, and nothing that none speaks of."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolewall.contents import Contents
from rolewall.errors import RecordError
from rolewall.evidence import Verified, check_evidence
from rolewall.findings import Finding, entries_of, unexpected, unreadable, words_of
from rolewall.record import EpisodeRecord
from rolewall.rundir import RunInfo, TaskRef, episode_key, read_episode, read_info, repeats
from rolewall.terminal import counted

__all__ = ["AuditReport", "Finding", "audit_run"]

ENTRIES = {"run.json": "file", "episodes": "directory", "blobs.git": "directory", ".lock": "file",
           "scratch": "directory"}  # fmt: skip


@dataclass(frozen=True)
class AuditReport:
    """``exit_code`` is 0 when all holds and 1 when anything was altered."""

    run: str
    verified: dict[str, int]
    findings: tuple[Finding, ...]

    @property
    def exit_code(self) -> int:
        return int(any(f.level == "altered" for f in self.findings))

    def lines(self) -> list[str]:
        verdict = "something was altered" if self.exit_code else "all holds"
        numbers = ", ".join(counted(n, noun.removesuffix("s")) for noun, n in self.verified.items())
        return [*(f.line() for f in self.findings), f"{self.run}: {verdict}: {numbers} verified"]

    def json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "exit_code": self.exit_code,
            **self.verified,
            "findings": [
                {"level": f.level, "place": f.place, "message": f.message} for f in self.findings
            ],
        }


def audit_run(path: Path) -> AuditReport:
    """Verify everything in a run directory. Raises RecordError when it is none."""
    info = read_info(path)
    counts, contents = Verified(), Contents(path / "blobs.git")
    findings = [*_around(path), *_episodes(path, info, counts, contents)]
    findings += [Finding("note", str(path), words) for words in _notes(info, counts)]
    verified = {
        "episodes": counts.episodes,
        "ledgers": counts.ledgers,
        "manifests": counts.manifests,
        "contents": contents.verified,
        "handoffs": counts.handoffs,
        "transcripts": counts.transcripts,
    }
    return AuditReport(str(path), verified, tuple(findings))


def _around(path: Path) -> Iterator[Finding]:
    """Entries of the run's own directory."""
    yield from unexpected(path, ENTRIES)
    if "scratch" in entries_of(path) and not _running(path):
        words = "left by a run that was killed; running it again removes it"
        yield Finding("note", str(path / "scratch"), words)


def _running(path: Path) -> bool:
    try:
        lock = os.open(path / ".lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _notes(info: RunInfo, counts: Verified) -> Iterator[str]:
    if counts.unsealed:
        yield f"{counted(counts.unsealed, 'manifest')} of start states, sealed by no record"
    if counts.unsealed_transcripts:
        files = counted(counts.unsealed_transcripts, "file")
        yield f"{files} of transcripts, sealed by no record"
    absent = info.planned - counts.episodes
    if absent > 0:
        yield f"{absent} of {counted(info.planned, 'planned episode')} absent"


def _episodes(path: Path, info: RunInfo, counts: Verified, contents: Contents) -> Iterator[Finding]:
    place = path / "episodes"
    if entries_of(path).get("episodes", "directory") != "directory" or unreadable(place):
        raise RecordError("cannot be read", place=str(place), expected="a directory")
    kinds = entries_of(place)
    yield from unexpected(place, dict.fromkeys(kinds, "directory"))
    seen: list[EpisodeRecord] = []
    for name in sorted(n for n, kind in kinds.items() if kind == "directory"):
        directory = place / name
        record = yield from _record(directory, info)
        if record is None:
            continue
        counts.episodes += 1
        for words in _against_run(record, info):
            yield Finding("altered", str(directory / "episode.json"), words)
        yield from check_evidence(directory, record, counts, contents)
        # All of a record but its marks would fill the memory, run by run.
        seen.append(record.model_copy(update={"phases": (), "verdicts": ()}))
    for words in repeats(seen):
        yield Finding("altered", str(place), words)


def _record(directory: Path, info: RunInfo) -> Generator[Finding, None, EpisodeRecord | None]:
    if words := unreadable(directory):
        yield Finding("altered", str(directory), words)
        return None
    planned = not info.keys or directory.name in info.keys
    try:
        record = read_episode(directory)
    except RecordError as error:
        yield Finding("altered", error.place or str(directory / "episode.json"), words_of(error))
        return None
    if not planned:
        yield Finding("altered", str(directory), "stale: not of this run's plan")
    elif record is None:
        yield Finding("note", str(directory), "unfinished: it has no record")
    return record


def _against_run(record: EpisodeRecord, info: RunInfo) -> Iterator[str]:
    """Where a record contradicts its own key, or what the run was asked for."""
    key = _key(record)
    if key not in (None, record.key):
        yield f"its key does not belong to what it says was run; got {record.key}, expected {key}"
    tasks = {task.id: task.digest for task in info.tasks}
    if record.task not in tasks:
        yield f"task {record.task} was not asked for"
    if record.condition not in info.conditions:
        yield f"condition {record.condition} was not asked for"
    if record.trial >= info.trials:
        yield f"trial {record.trial} was not asked for: there are {info.trials}"
    for what, has, asked in (
        ("team", record.team, info.team),
        ("team's digest", record.digests.get("team", info.team_digest), info.team_digest),
        ("task's digest", record.digests.get("task"), tasks.get(record.task)),
        ("backend", record.backend, info.backend),
        ("seed", record.seed, info.seed + record.trial),
    ):
        if None not in (has, asked) and has != asked:
            yield f"its {what} is {has}, the run's makes it {asked}"


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
