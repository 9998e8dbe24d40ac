"""A run directory: what was asked (``run.json``) and the episodes found in it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rolewall.attest import LOG, SEAL, digest_of_file, hold_records, hold_run, read_log
from rolewall.candidate import CalibrationInfo
from rolewall.errors import RecordError
from rolewall.policies import Observe
from rolewall.record import EpisodeRecord, Seed
from rolewall.recordfile import RECORD_CAP, parse, read_episode, write_record
from rolewall.roles import Arm
from rolewall.rows import Row, refuse_repeats, row_of
from rolewall.storage import canonical_json, read_capped, write_atomic

__all__ = [
    "PlanRef",
    "ReplayRef",
    "Run",
    "RunInfo",
    "TaskRef",
    "episode_key",
    "episode_names",
    "open_run",
    "read_episode",
    "read_info",
    "read_run_json",
    "write_atomic",
    "write_record",
    "write_run_info",
]

HINT = "`rolewall audit` says more"
MOST = 1 << 31  # episodes of a run


class TaskRef(BaseModel):
    """``checked``: the mark that `rolewall check-grader` gave this version of the task's
    grader; None where no check of it was found. ``instances``: where a program makes the
    task's start for each seed, the digests of the tasks that it made, by trial."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    digest: str
    checked: Literal["A", "B", "C", "U", "E", "F"] | None = None
    instances: tuple[str, ...] = ()

    def at(self, trial: int) -> TaskRef:
        """The task of one trial."""
        if not self.instances:
            return self
        digest = self.instances[trial] if trial < len(self.instances) else ""
        return TaskRef(id=self.id, digest=digest)


class PlanRef(BaseModel):
    """The plan of a comparison that a run was begun with, whole."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    text: str


class ReplayRef(BaseModel):
    """The run whose recorded models answered: its directory's name, and its seal."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    seal: str = Field(pattern="^[0-9a-f]{64}$")


class RunInfo(BaseModel):
    """What a run was asked to do, and where.

    ``planned`` is the number of episodes of this run (of this shard, if it was
    sharded). ``keys``, when given, names each of them. ``left_out`` are directories among
    the tasks that hold one without a grader. ``team_files`` are those that ``team_digest`` is
    over, each with its SHA-256, and `` x`` behind it if it may be run. ``shown`` are directories
    of the machine that roles could read besides those of their image. ``handoff`` is the arm:
    what roles were shown of handoffs.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1] = 1
    created: float
    rolewall: str
    python: str
    host: dict[str, Any] = Field(default_factory=dict)
    team: str
    team_digest: str
    team_files: dict[str, str] = Field(default_factory=dict)
    tasks: tuple[TaskRef, ...]
    conditions: tuple[str, ...]
    trials: int = Field(ge=1, le=MOST)
    backend: str
    image: str
    observe: Observe = "changes"
    limits: dict[str, Any] = Field(default_factory=dict)
    planned: int = Field(ge=0, le=MOST)
    seed: Seed
    keys: tuple[str, ...] = ()
    shard: tuple[int, int] = (1, 1)
    plan: PlanRef | None = None
    kind: Literal["run", "calibration"] = "run"
    calibration: CalibrationInfo | None = None
    left_out: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    replay: ReplayRef | None = None
    handoff: Arm = "full"

    @model_validator(mode="after")
    def _keys_are_the_planned_ones(self) -> RunInfo:
        if self.keys and len(set(self.keys)) != self.planned:
            raise ValueError(f"{len(set(self.keys))} keys for {self.planned} planned episodes")
        index, count = self.shard
        if not 1 <= index <= count:
            raise ValueError(f"shard {index} of {count}")
        if (self.kind == "calibration") != (self.calibration is not None):
            raise ValueError(f"kind {self.kind} with or without what a calibration is")
        grid = self._each * len(self.conditions)
        if self.keys and max(0, (grid - index) // count + 1) != self.planned:
            raise ValueError(f"{self.planned} episodes planned of a grid of {grid}")
        return self

    def summary(self) -> dict[str, Any]:
        """What the run's seal says of it."""
        return {
            "team": self.team,
            "conditions": list(self.conditions),
            "planned": self.planned,
        }

    def planned_for(self, condition: str) -> int | None:
        """Episodes planned under one condition; ``None`` where a shard leaves that open."""
        if condition not in self.conditions:
            return 0
        return self._each if self._each * len(self.conditions) == self.planned else None

    @property
    def _each(self) -> int:
        """Episodes of the whole plan under one condition."""
        if self.calibration:
            return len(self.calibration.candidates)
        return len(self.tasks) * self.trials


@dataclass(frozen=True)
class Run:
    """An opened run: its description and its finished episodes.

    ``unfinished`` names episode directories without a record. ``digests`` are of the
    records as they were read: key → SHA-256.
    """

    path: Path
    info: RunInfo
    records: tuple[EpisodeRecord, ...]
    unfinished: tuple[str, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)

    def episode_dir(self, record: EpisodeRecord) -> Path:
        return self.path / "episodes" / record.key

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The records as statistics see them."""
        return tuple(map(row_of, self.records))

    @property
    def seal(self) -> str | None:
        """SHA-256 of the run's ``seal.json``; ``None`` where it is not sealed as a whole."""
        try:
            return digest_of_file(self.path / SEAL)
        except OSError:
            return None

    @property
    def missing(self) -> int:
        return max(0, self.info.planned - len(self.records))

    def missing_for(self, condition: str) -> int:
        """Episodes of the plan without a record, under one condition or, where
        that is unknown, in the whole run."""
        planned = self.info.planned_for(condition)
        if planned is None:
            return self.missing
        return max(0, planned - sum(r.condition == condition for r in self.records))


def episode_key(
    *,
    task: TaskRef,
    team_digest: str,
    condition: str,
    trial: int,
    seed: int,
    backend: str,
    image: str,
    code: str,
    observe: Observe,
    candidate: str = "",
    salt: str = "",
    replay: str = "",
    handoff: Arm = "full",
) -> str:
    """The name of an episode's directory: equal exactly for equal work. ``candidate`` is
    the SHA-256 of what a calibration shows, ``salt`` what keeps its boxes, which can see
    the name, from computing that; ``replay`` the seal of the run that answers; ``handoff``
    the arm, which for ``full`` is no part of the name."""
    parts = {
        "task": [task.id, task.digest],
        "team": team_digest,
        "condition": condition,
        "trial": trial,
        "seed": seed,
        "backend": backend,
        "image": image,
        "code": code,
        "observe": observe,
    }
    if candidate:
        parts |= {"candidate": candidate, "salt": salt}
    if replay:
        parts |= {"replay": replay}
    if handoff != "full":
        parts |= {"handoff": handoff}
    return hashlib.sha256(canonical_json(parts)).hexdigest()[:20]


def write_run_info(run: Path, info: RunInfo) -> None:
    write_atomic(run / "run.json", info.model_dump_json(indent=1).encode() + b"\n")


def open_run(path: Path, *, sealed: bool = True) -> Run:
    """Read a run directory. Raises RecordError when it is none, is damaged, or was altered
    since it was sealed; without ``sealed`` the run's own seal is not asked, as by who goes
    on with it and seals it anew."""
    if not os.path.exists(path):
        raise RecordError("does not exist", place=str(path), expected="a run directory")
    if not os.path.isdir(path):
        raise RecordError("not a run directory", place=str(path), expected="a directory")
    info, digest = read_run_json(path)
    records: list[EpisodeRecord] = []
    unfinished: list[str] = []
    digests: dict[str, str] = {}
    for name in episode_names(path):
        read = read_episode(path / "episodes" / name)
        if read is None:
            unfinished.append(name)
            continue
        record, digests[name] = read
        if info.keys and record.key not in info.keys:
            raise RecordError(
                "not of this run's plan", place=str(path / "episodes" / name), hint=HINT
            )
        records.append(record)
    _hold(path, info.summary() if sealed else None, digest, digests)
    records.sort(key=lambda r: (r.task, r.condition, r.trial))
    run = Run(path, info, tuple(records), tuple(unfinished), digests)
    refuse_repeats(run.rows, str(path))
    if len(records) > info.planned:
        raise RecordError(
            "more episodes than were planned",
            place=str(path),
            got=len(records),
            expected=f"at most {info.planned}",
        )
    return run


def read_info(path: Path) -> RunInfo:
    """``run.json`` of a run directory. Raises RecordError."""
    return read_run_json(path)[0]


def read_run_json(path: Path) -> tuple[RunInfo, str]:
    """As ``read_info``, with the SHA-256 of the bytes that were read."""
    path = path / "run.json"
    if not os.path.lexists(path):
        raise RecordError(
            "not a run directory: it has no run.json",
            place=str(path.parent),
            hint="`rolewall run … -o DIR` makes one",
        )
    data = read_capped(path, RECORD_CAP)
    return parse(RunInfo, data, str(path)), hashlib.sha256(data).hexdigest()


def episode_names(path: Path) -> Iterator[str]:
    """The names below ``episodes/``, sorted; all must be directories."""
    episodes = path / "episodes"
    if not os.path.lexists(episodes):
        return
    try:
        with os.scandir(episodes) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise RecordError(f"cannot read: {error.strerror}", place=str(episodes)) from error
    for entry in found:
        if not entry.is_dir(follow_symlinks=False):
            raise RecordError("not an episode", place=entry.path, expected="a directory")
        yield entry.name


def _hold(
    path: Path, summary: Mapping[str, Any] | None, digest: str, records: Mapping[str, str]
) -> None:
    """Hold records to what was sealed; a run that was killed at its start may have no log."""
    if records or any(os.path.lexists(path / name) for name in (LOG, SEAL)):
        log = read_log(path / LOG)
        if summary is not None:
            hold_run(path, log, summary, digest)
        hold_records(path, log, records)
