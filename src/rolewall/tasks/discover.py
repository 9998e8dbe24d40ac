"""Finding tasks below the paths that a user named."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rolewall._beneath import Root, shown
from rolewall._files import load_yaml
from rolewall.errors import InputError, TaskError
from rolewall.tasks.model import Task
from rolewall.tasks.native import load_native
from rolewall.tasks.teambench import load_teambench

__all__ = ["load_task", "load_tasks"]

_LAYOUTS = "task.yaml (with spec.md, brief.md, grader/; or TeamBench's grade.sh)"


def load_task(directory: Path) -> Task:
    """The task in ``directory``, whichever layout it has.

    Raises:
        TaskError: it is none, or not acceptable.
    """
    with Root(_resolved(directory), TaskError) as root:
        if root.kind("task.yaml") is None:
            raise _no_task(root)
        return _load(root)


def load_tasks(paths: Sequence[Path]) -> list[Task]:
    """Every task at or directly below ``paths``, sorted by id.

    Raises:
        InputError: nothing was found, a path is no task and holds none, two tasks share an id,
            or a task is not acceptable. All of a directory's tasks are looked at before that is
            said, so that the message can say how many there are.
    """
    found: dict[str, Task] = {}
    for path in paths:
        for directory in _candidates(path):
            _add(found, directory, alone=directory == _resolved(path))
    if not found:
        raise InputError("no tasks were named", expected="a directory with tasks")
    return [found[name] for name in sorted(found)]


def _add(found: dict[str, Task], directory: Path, *, alone: bool) -> None:
    try:
        task = load_task(directory)
    except TaskError as problem:
        if not alone and problem.hint is None:
            problem.hint = "tasks can be named one by one to leave this one out"
        raise
    other = found.get(task.id)
    if other is not None and other.directory != task.directory:
        raise TaskError(
            f"two tasks have the id {task.id}",
            place=shown(task.directory),
            got=shown(other.directory),
            expected="an id that no other task has",
        )
    found[task.id] = task


def _load(root: Root) -> Task:
    place = root.place("task.yaml")
    data = load_yaml(root.read("task.yaml", 1 << 20), place, error=TaskError)
    if isinstance(data, dict) and "task_id" in data:
        if "id" in data:
            raise TaskError(
                "both id and task_id",
                place=place,
                expected="id (a rolewall task) or task_id (a TeamBench task)",
            )
        return load_teambench(root, data)
    return load_native(root, data)


def _candidates(path: Path) -> list[Path]:
    """The path itself if it is a task, else the tasks directly below it."""
    directory = _resolved(path)
    with Root(directory, TaskError) as root:
        if root.kind("task.yaml") is not None:
            return [directory]
        found = [name for name in root.names() if _is_task(root, name)]
        if not found:
            raise _no_task(root)
        return [directory / name for name in found]


def _is_task(root: Root, name: str) -> bool:
    kind = root.kind(name)
    if kind == "link" and os.path.exists(root.path / name / "task.yaml"):
        raise TaskError(
            "a task's directory is a link, which is not followed",
            place=root.place(name),
            expected="the directory itself",
        )
    return kind == "directory" and root.kind(f"{name}/task.yaml") is not None


def _resolved(path: Path) -> Path:
    """Without links: the user may name a task through one, and its neighbours are then real."""
    try:
        return Path(os.path.realpath(path, strict=True))
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not a path"
        raise TaskError(
            f"cannot be read: {reason}", place=shown(path), expected="a directory with tasks"
        ) from None


def _no_task(root: Root) -> TaskError:
    harbor = root.kind("task.toml") is not None
    return TaskError(
        "neither a task nor a directory of tasks",
        place=root.place(""),
        got="no task.yaml, there or one level below",
        expected=_LAYOUTS,
        hint="Harbor's task.toml is not supported in this version" if harbor else None,
    )
