"""Which episodes of a run have no record, by name: a key alone says nothing to a reader."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NoReturn

from rolewall.candidate import STYLES, condition_of
from rolewall.code import code_version
from rolewall.errors import RecordError
from rolewall.lots import seed_of
from rolewall.rundir import Run, TaskRef, episode_key
from rolewall.terminal import listed

__all__ = ["names_of_unfinished", "refuse_without_record"]

MOST = 200_000  # keys that are made to find a name
NAMED = 3
LEFT = "planned and begun, and left without an end or at work now"


def names_of_unfinished(run: Run) -> dict[str, str]:
    """Key → task:condition:trial of each episode directory without a record.

    A key binds more than ``run.json`` says: versions of rolewall and images that tasks
    bring. Those of the run's records, and what is installed here, are tried; a key that
    none of them makes is left out.
    """
    wanted = set(run.unfinished)
    names: dict[str, str] = {}
    for key, name in itertools.islice(_keys(run), MOST if wanted else 0):
        if key in wanted:
            names[key] = name
            if len(names) == len(wanted):
                break
    return names


def refuse_without_record(run: Run, name: str) -> None:
    """Raises RecordError, which says why, where ``name`` means episodes that were planned and
    have no record; nothing where one has a record, or none was planned."""
    if any(name in _forms(f"{r.task}:{r.condition}:{r.trial}") for r in run.records):
        return
    grid = itertools.islice(_grid(run), MOST)
    if name and (left := [key for key in run.unfinished if key.startswith(name)]):
        _refuse(run, left, LEFT)
    planned = dict.fromkeys(f"{task.id}:{condition}:{trial}" for task, condition, trial, *_ in grid)
    meant = [one for one in planned if name in _forms(one)]
    if not meant:
        return
    begun = [one for one in names_of_unfinished(run).values() if one in meant]
    why = LEFT if begun else "planned, and not begun"
    index, count = run.info.shard
    if not begun and count > 1:
        why += f", or of another shard than {index} of {count}"
    elif not begun and run.unfinished:  # the name of a key cannot always be told
        why += ", or left without an end"
    _refuse(run, begun or meant, why)


def _refuse(run: Run, names: Sequence[str], why: str) -> NoReturn:
    raise RecordError(
        f"no record of {listed(names, NAMED)}: {why}",
        place=str(run.path),
        hint="the same command as before, with -o and this run, goes on from there",
    )


def _forms(name: str) -> tuple[str, str, str]:
    """``task:condition:trial`` and the shorter ones; a task's name may hold colons."""
    condition = name.rpartition(":")[0]
    return name, condition, condition.rpartition(":")[0]


def _keys(run: Run) -> Iterator[tuple[str, str]]:
    info = run.info
    codes = {r.digests.get("code", "") for r in run.records} | {code_version()}
    images = {r.image for r in run.records} | {info.image}
    for code, image in itertools.product(sorted(codes), sorted(images)):
        for task, condition, trial, seed, candidate in _grid(run):
            key = episode_key(
                task=task,
                team_digest=info.team_digest,
                condition=condition,
                trial=trial,
                seed=seed,
                backend=info.backend,
                image=image,
                code=code,
                observe=info.observe,
                candidate=candidate,
                salt=info.calibration.salt if info.calibration else "",
                replay=info.replay.seal if info.replay else "",
            )
            yield key, f"{task.id}:{condition}:{trial}"


def _grid(run: Run) -> Iterator[tuple[TaskRef, str, int, int, str]]:
    """Task, condition, trial, seed and candidate of every episode of the whole plan."""
    info = run.info
    if info.calibration is None:
        for task, name, trial in itertools.product(info.tasks, info.conditions, range(info.trials)):
            yield task.at(trial), name, trial, info.seed + trial, ""
        return
    tasks = {task.id: task for task in info.tasks}
    for found, style in itertools.product(info.calibration.candidates, STYLES):
        if found.task in tasks:
            name, trial = condition_of(style), found.trial
            seed = seed_of(info.calibration.salt, found.task, trial, name)
            yield tasks[found.task], name, trial, seed, found.sha256
