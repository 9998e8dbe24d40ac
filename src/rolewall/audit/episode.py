"""Verifying the episodes of a run: each record against its evidence, its seal and the run."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rolewall.attest import LOG, Entry, readable_digests
from rolewall.audit.contents import Contents
from rolewall.audit.evidence import check_evidence
from rolewall.audit.findings import Finding, unreadable, words_of
from rolewall.audit.seals import Sealing
from rolewall.candidate import PlannedCandidate
from rolewall.errors import RecordError
from rolewall.lots import seed_of
from rolewall.record import EpisodeRecord
from rolewall.rows import repeats, row_of
from rolewall.rundir import RunInfo, TaskRef, episode_key, read_episode

__all__ = ["Episodes"]


@dataclass
class Episodes:
    """The episodes of one run."""

    run: Path
    info: RunInfo
    sealing: Sealing
    contents: Contents

    def check(self, names: Sequence[str]) -> Iterator[Finding]:
        seen: list[EpisodeRecord] = []
        for name in names:
            record = yield from self._episode(self.run / "episodes" / name)
            if record is not None:
                # All of a record but its marks would fill the memory, run by run.
                seen.append(record.model_copy(update={"phases": (), "verdicts": ()}))
        for key in sorted(self.sealing.log.counted().keys() - set(names)):
            place = self.run / "episodes" / key
            # One that ended after the directory was listed is of a run that goes on.
            if not os.path.lexists(place):
                yield Finding("altered", str(place), f"gone: an episode that counts in {LOG}")
        for words in repeats(map(row_of, seen)):
            yield Finding("altered", str(self.run / "episodes"), words)

    def _episode(self, directory: Path) -> Generator[Finding, None, EpisodeRecord | None]:
        entry = self.sealing.log.episodes.get(directory.name)
        place = directory / "episode.json"
        if words := unreadable(directory):
            yield Finding("altered", str(directory), words)
            return None
        if not os.path.lexists(place):
            if entry is not None and entry.state == "counted":
                yield Finding("altered", str(place), f"gone: the episode counts in {LOG}")
            else:
                yield self._unfinished(directory)
            return None
        read = yield from self._record(directory)
        digests = dict(readable_digests(directory))
        record = None
        if read is not None:
            record, digests[place.name] = read
        yield from self._held(directory, entry, record, digests)
        return record

    def _unfinished(self, directory: Path) -> Finding:
        if self.info.keys and directory.name not in self.info.keys:
            return Finding("altered", str(directory), "an orphan: not of this run's plan")
        return Finding("left", str(directory), "unfinished: it has no record")

    def _record(
        self, directory: Path
    ) -> Generator[Finding, None, tuple[EpisodeRecord, str] | None]:
        """An episode's record, and the digest of what was read of it."""
        try:
            read = read_episode(directory)
        except RecordError as error:
            yield Finding("altered", error.place or str(directory), words_of(error))
            return None
        if self.info.keys and directory.name not in self.info.keys:
            yield Finding("altered", str(directory), "stale: not of this run's plan")
        if read is not None:
            self.sealing.counts.episodes += 1
            for words in _against_run(read[0], self.info):
                yield Finding("altered", str(directory / "episode.json"), words)
        return read

    def _held(
        self,
        directory: Path,
        entry: Entry | None,
        record: EpisodeRecord | None,
        digests: Mapping[str, str],
    ) -> Iterator[Finding]:
        """An episode's files against record and seal; of each place what is said first."""
        told: set[str] = set()
        if record is not None:
            counts = self.sealing.counts
            for found in check_evidence(directory, record, digests, counts, self.contents):
                told.add(_file(found.place))
                yield found
        if entry is None:
            yield Finding("altered", str(directory), f"never sealed: {LOG} does not have it")
            return
        if entry.state == "discarded":
            yield Finding("note", str(directory), "discarded: it is to be run again")
        for found in self.sealing.episode(directory, entry, record, digests):
            if found.place not in told:
                yield found


def _file(place: str) -> str:
    """A place without the number of its line."""
    name, colon, line = place.rpartition(":")
    return name if colon and line.isdigit() else place


def _against_run(record: EpisodeRecord, info: RunInfo) -> Iterator[str]:
    """Where a record contradicts its own key, or what the run was asked for."""
    salt = info.calibration.salt if info.calibration else ""
    key = _key(record, salt, info.replay.seal if info.replay else "")
    if bool(record.replay_of) != bool(info.replay):
        yield "record and run differ in whether a recording answered"
    if key not in (None, record.key):
        yield f"its key does not belong to what it says was run; got {record.key}, expected {key}"
    tasks = {task.id: task.at(record.trial).digest for task in info.tasks}
    if record.task not in tasks:
        yield f"task {record.task} was not asked for"
    if record.condition not in info.conditions:
        yield f"condition {record.condition} was not asked for"
    if not info.calibration and record.trial >= info.trials:
        yield f"trial {record.trial} was not asked for: there are {info.trials}"
    planned = info.calibration.find(record.task, record.trial) if info.calibration else None
    if not _is_planned(record, planned):
        yield "what was judged is not the candidate that the run planned"
    for what, has, asked in (
        ("team", record.team, info.team),
        ("team's digest", record.digests.get("team", info.team_digest), info.team_digest),
        ("task's digest", record.digests.get("task"), tasks.get(record.task)),
        ("backend", record.backend, info.backend),
        ("seed", record.seed, _seed(record, info)),
        ("observe", record.observe, info.observe),
        ("arm of handoffs", record.handoff, info.handoff),
    ):
        if None not in (has, asked) and has != asked:
            yield f"its {what} is {has}, the run's makes it {asked}"


def _is_planned(record: EpisodeRecord, planned: PlannedCandidate | None) -> bool:
    if record.candidate is None or planned is None:
        return record.candidate is None and planned is None
    return record.candidate == planned.shown(record.candidate.report)


def _seed(record: EpisodeRecord, info: RunInfo) -> int:
    if info.calibration is None:
        return info.seed + record.trial
    return seed_of(info.calibration.salt, record.task, record.trial, record.condition)


def _key(record: EpisodeRecord, salt: str, replay: str) -> str | None:
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
        observe=record.observe,
        candidate=record.candidate.sha256 if record.candidate else "",
        salt=salt,
        replay=replay,
        handoff=record.handoff,
    )
