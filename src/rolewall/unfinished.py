"""Which episodes of a run have no record, by name: a key alone says nothing to a reader."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from rolewall.candidate import STYLES, condition_of
from rolewall.code import code_version
from rolewall.rundir import Run, TaskRef, episode_key

__all__ = ["names_of_unfinished"]

MOST = 200_000  # keys that are made to find a name


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
            )
            yield key, f"{task.id}:{condition}:{trial}"


def _grid(run: Run) -> Iterator[tuple[TaskRef, str, int, int, str]]:
    """Task, condition, trial, seed and candidate of every episode of the whole plan."""
    info = run.info
    if info.calibration is None:
        for task, name, trial in itertools.product(info.tasks, info.conditions, range(info.trials)):
            yield task, name, trial, info.seed + trial, ""
        return
    tasks = {task.id: task for task in info.tasks}
    for found, style in itertools.product(info.calibration.candidates, STYLES):
        if found.task in tasks:
            seed = info.seed + found.pair
            yield tasks[found.task], condition_of(style), found.trial, seed, found.sha256
