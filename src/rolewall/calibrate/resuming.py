"""Going on with a calibration: its candidates are those that were found when it began."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rolewall.calibrate.sifting import NOTHING, Sifted, most_tried
from rolewall.candidate import CalibrationInfo, TaskCandidates
from rolewall.errors import InputError
from rolewall.mutants import Mutant, mutants_of, read_solution
from rolewall.rundir import RunInfo, TaskRef, read_info
from rolewall.tasks import Task

__all__ = ["names_of", "resumed"]


def resumed(
    out: Path, asked: Mapping[str, Any], tasks: Sequence[Task], *, mutants: int, seed: int
) -> tuple[list[Sifted], str] | None:
    """The candidates of the calibration at ``out`` and its salt, or None where there is no
    run yet.

    Args:
        asked: fields of ``run.json`` that must be as they are there.

    Raises:
        InputError: another run is there.
        RecordError: its ``run.json`` cannot be read.
    """
    if not os.path.lexists(out / "run.json"):
        return None
    info = read_info(out)
    found = info.calibration
    if found is None:
        raise _other(out, "kind", info.kind, "calibration")
    _hold(out, info, asked)
    if found.mutants != mutants:
        raise _other(out, "mutants", found.mutants, mutants)
    return [_sifted(out, task, found, mutants, seed) for task in tasks], found.salt


def _hold(out: Path, info: RunInfo, asked: Mapping[str, Any]) -> None:
    there = info.model_dump() | {"tasks": names_of(info.tasks)}
    for name, wanted in asked.items():
        if (has := there[name]) != wanted:
            shown = (_short(has), _short(wanted))
            raise _other(out, name, *shown)


def names_of(tasks: Sequence[Task | TaskRef]) -> tuple[str, ...]:
    """Tasks in words, with their contents."""
    return tuple(f"{task.id} ({task.digest[:12]})" for task in tasks)


def _sifted(out: Path, task: Task, found: CalibrationInfo, mutants: int, seed: int) -> Sifted:
    info = next((one for one in found.tasks if one.task == task.id), None)
    if info is None or info.why:
        return Sifted(task, info or TaskCandidates(task=task.id, why="it was not looked at"))
    ids = dict.fromkeys(
        one.id for one in found.candidates if one.task == task.id and one.kind == "mutant"
    )
    made = {one.id: one for one in mutants_of(task, seed=seed, most=most_tried(mutants))}
    if absent := ids.keys() - made.keys():
        raise _other(out, f"mutants of {task.id}", min(absent), "those of this version")
    # In the order of discovery, which decides their pairs.
    chosen: tuple[Mutant, ...] = tuple(one for one in made.values() if one.id in ids)
    return Sifted(task, info, read_solution(task) or NOTHING, chosen)


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return text if len(text) <= 200 else text[:199] + "…"


def _other(out: Path, name: str, has: object, wanted: object) -> InputError:
    return InputError(
        f"the directory holds a run with other {name}",
        place=str(out),
        got=has,
        expected=wanted,
        hint="give another -o",
    )
