"""Writing what a run's agents said and did, in a format of others."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rolewall.errors import InputError, StorageError
from rolewall.layout import run_around
from rolewall.record import EpisodeRecord
from rolewall.rundir import Run
from rolewall.storage import write_output
from rolewall.trajectory.atif import atif_bytes, to_atif
from rolewall.trajectory.inspectlog import library, make_log, make_sample, write_log
from rolewall.trajectory.phases import PhaseTrajectory, read_trajectories

__all__ = ["Exported", "Format", "export"]

Format = Literal["atif", "inspect"]


@dataclass
class Exported:
    """What was written.

    Attributes:
        files: relative to the directory that was given.
        origins: phases by what their trajectory was read from.
        problems: what could not be read, with the phase.
    """

    files: list[str] = field(default_factory=list)
    episodes: int = 0
    phases: int = 0
    origins: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def read(self, run: Run, record: EpisodeRecord) -> list[PhaseTrajectory]:
        found = list(read_trajectories(run.episode_dir(record), record))
        self.episodes += 1
        self.phases += len(found)
        for one in found:
            self.origins[one.trajectory.origin] += 1
            where = f"{record.task}:{record.condition}:{record.trial} {one.phase.name}"
            self.problems += [f"{where}: {problem}" for problem in one.trajectory.problems]
        return found


def export(run: Run, records: Sequence[EpisodeRecord], form: Format, out: Path) -> Exported:
    """Write the trajectories of ``records`` into the new directory ``out``.

    Raises:
        InputError: ``out`` holds something, or lies in a run; inspect-ai is not installed.
        RecordError: a transcript is not what the record says it was.
        StorageError: it cannot be written.
    """
    _hold(out)
    write: Callable[[Run, Sequence[EpisodeRecord], Path], Exported]
    write = {"atif": _atif, "inspect": _inspect}[form]
    return write(run, records, out)


def _atif(run: Run, records: Sequence[EpisodeRecord], out: Path) -> Exported:
    """One file a phase, in one directory an episode."""
    made = Exported()
    for record in records:
        folder = f"{_safe(record.task)}-{_safe(record.condition)}-{record.trial}-{record.key[:8]}"
        for found in made.read(run, record):
            name = f"{folder}/{_safe(found.phase.name)}.trajectory.json"
            write_output(out / name, atif_bytes(to_atif(record, found, run.seal)))
            made.files.append(name)
    return made


def _inspect(run: Run, records: Sequence[EpisodeRecord], out: Path) -> Exported:
    """One log a condition."""
    library()
    made = Exported()
    by_condition: dict[str, list[EpisodeRecord]] = {}
    for record in records:
        by_condition.setdefault(record.condition, []).append(record)
    for condition, those in by_condition.items():
        samples: list[Any] = [make_sample(record, made.read(run, record)) for record in those]
        name = f"{_safe(condition)}.eval"
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot write: {error.strerror}", place=str(out)) from error
        write_log(make_log(run, condition, those, samples), out / name)
        made.files.append(name)
    return made


def _hold(out: Path) -> None:
    """Only into what is new: what stands there already may be of another run."""
    if run := run_around(out / "file"):
        raise InputError(
            "in a run directory, whose files are its evidence",
            place=str(out),
            expected=f"a place outside of {run}",
            hint="give another -o",
        )
    if not os.path.lexists(out):
        return
    if not os.path.isdir(out) or os.listdir(out):
        raise InputError(
            "exists already",
            place=str(out),
            expected="a new or an empty directory",
            hint="give another -o",
        )


def _safe(name: str) -> str:
    """A name of a file; a record may come from anywhere."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)[:80].lstrip(".") or "_"
