"""Whole tasks out of those whose start a program makes, for the seeds that occur.

A start is made once for a task, its program, a seed and a Python, and kept in rolewall's
cache directory: a run that goes on later finds the same one, also of a program that
writes something else each time. Its digest is over what was made, so a kept start that
was altered is another task.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from pathlib import Path

from rolewall._beneath import Root
from rolewall.errors import TaskError
from rolewall.sandbox import Backend, cache_directory, make_directory, storage, temporary_directory
from rolewall.storage import canonical_json
from rolewall.tasks.generated_box import ENV, INSIDE, failed, make_start
from rolewall.tasks.model import Recipe, Task, checked_entries, fingerprint
from rolewall.tasks.teambench_instance import instance_of
from rolewall.terminal import counted
from rolewall.workers import each

__all__ = ["Instances", "generated_root", "generated_tasks", "whole_task"]

Instances = Callable[[Task, int], Task]
"""The whole task for a seed, of any task: one without a recipe is its own."""


def generated_root() -> Path:
    """Where starts are kept."""
    return cache_directory() / "tasks"


def whole_task(task: Task, seed: int) -> Task:
    """``task`` where it has no recipe.

    Raises:
        TaskError: it has one, so that there is no start to work on.
    """
    if task.recipe is not None:
        raise TaskError("its start was not generated", place=str(task.directory))
    return task


def generated_tasks(
    tasks: Sequence[Task],
    seeds: Iterable[int],
    backend: Backend,
    *,
    image: Callable[[Task], str] = lambda task: "host",
    jobs: int = 1,
    told: Callable[[str], None] | None = None,
) -> Instances:
    """Make every start that ``tasks`` and ``seeds`` need, and look them up afterwards.

    Args:
        image: of the box of each task's program.
        jobs: boxes at the same time.
        told: called with a line where starts are made that were not kept.

    Raises:
        TaskError: a program failed, or made what is no start.
        InfrastructureError: a box failed, or the cache cannot be written.
        Interrupted: the user asked to stop.
    """
    asked = list(dict.fromkeys(seeds))
    wanted = [
        (task, task.recipe, seed, image(task)) for task in tasks if task.recipe for seed in asked
    ]
    absent = sum(not _place(task, seed, found).exists() for task, _, seed, found in wanted)
    if told and absent:
        told(f"generating {counted(absent, 'start')} in boxes on {backend.name}")
    made = each(wanted, lambda one: _made(backend, *one), jobs=jobs) if wanted else []
    keys = ((task.directory, seed) for task, _, seed, _ in wanted)
    found = dict(zip(keys, made, strict=True))

    def look_up(task: Task, seed: int) -> Task:
        return found[task.directory, seed] if task.recipe else task

    return look_up


def _place(task: Task, seed: int, image: str) -> Path:
    """Where the start of ``task`` for ``seed`` is kept: by all that makes it what it is."""
    inside = files("rolewall.tasks").joinpath(INSIDE).read_bytes()
    parts = {
        "version": 1,
        "task": [task.id, task.digest],
        "seed": seed,
        "image": image,
        "python": sys.version,
        "inside": hashlib.sha256(inside).hexdigest(),
        "env": ENV,
    }
    return generated_root() / hashlib.sha256(canonical_json(parts)).hexdigest()[:32]


def _made(backend: Backend, task: Task, recipe: Recipe, seed: int, image: str) -> Task:
    place = _place(task, seed, image)
    if not place.exists():
        make_directory(place.parent)
        with temporary_directory(cached=True) as scratch:
            start = scratch / "start"
            make_directory(start)
            make_start(task, recipe, seed, backend, start, image)
            _whole(task, recipe, seed, start)  # what is no start is not kept
            _keep(start, place)
    return _whole(task, recipe, seed, place)


def _keep(start: Path, place: Path) -> None:
    try:
        start.rename(place)
    except OSError:
        if not place.exists():  # another harness may have kept the same one meanwhile
            with storage(place):
                raise


def _whole(task: Task, recipe: Recipe, seed: int, start: Path) -> Task:
    try:
        with Root(start, TaskError) as root:
            digest, made = fingerprint(root, list(checked_entries(root)))
            return instance_of(task, recipe, root, made, digest, seed)
    except TaskError as error:
        name = (error.place or "").removeprefix(f"{start}/")
        raise failed(task, recipe, f"{name}: {error.message}") from None
