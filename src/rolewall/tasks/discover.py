"""Finding tasks below the paths that a user named."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rolewall._beneath import Root, shown
from rolewall._files import load_yaml
from rolewall.errors import InputError, TaskError
from rolewall.tasks.harbor import FILE, load_harbor
from rolewall.tasks.model import Task
from rolewall.tasks.native import load_native
from rolewall.tasks.teambench import GRADER, is_teambench, load_teambench

__all__ = ["load_task", "load_tasks"]

_LAYOUTS = (
    "task.yaml with spec.md, brief.md and grader/, TeamBench's grade.sh,"
    " or Harbor's task.toml with instruction.md and tests/test.sh"
)
_FIRST_TERMINAL_BENCH = ("instruction", "parser_name")
_FILES = ("task.yaml", FILE)
_MOST_NAMED = 4


def load_task(directory: Path) -> Task:
    """The task in ``directory``, whichever layout it has.

    Raises:
        TaskError: it is none, or not acceptable.
    """
    with Root(_resolved(directory), TaskError) as root:
        layout = _layout(root)
        if layout == "task.yaml":
            return _load(root)
        if layout == "harbor":
            return load_harbor(root)
        if layout == "teambench":
            return load_teambench(root, None)
        raise _no_task(root)


def load_tasks(paths: Sequence[Path], left_out: list[str] | None = None) -> list[Task]:
    """Every task at ``paths`` or below them, sorted by id. Where a path is no task and has
    none directly below it, as the root of a repository, they are looked for one level further.

    Args:
        left_out: gets the name of each task of TeamBench's without a grader, where a
            directory of tasks was named, and those are no reason to refuse the others.
            Without it they are: nobody would be told that they are not run.

    Raises:
        InputError: nothing was found, a path is no task and holds none, two tasks share an id,
            or a task is not acceptable. All of a directory's tasks are looked at before that is
            said, so that the message can say how many there are.
    """
    found: dict[str, Task] = {}
    for path in paths:
        for directory in _candidates(path):
            alone = directory == _resolved(path)
            if left_out is None or alone or not _lacks_grader(directory):
                _add(found, directory, alone=alone)
            else:
                left_out.append(directory.name)
    if not found:
        without = f"{len(left_out)} without a grader" if left_out else None
        raise InputError("no tasks were named", got=without, expected="a directory with tasks")
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


def _lacks_grader(directory: Path) -> bool:
    """Whether it is a task of TeamBench's that nothing there can grade."""
    with Root(directory, TaskError) as root:
        if root.kind(GRADER) is not None or root.kind("task.yaml") is None:
            return False
        data = _data(root)
        return isinstance(data, dict) and "task_id" in data


def _data(root: Root) -> object:
    return load_yaml(root.read("task.yaml", 1 << 20), root.place("task.yaml"), error=TaskError)


def _load(root: Root) -> Task:
    place, data = root.place("task.yaml"), _data(root)
    if isinstance(data, dict) and any(key in data for key in _FIRST_TERMINAL_BENCH):
        raise TaskError(
            "a task of Terminal-Bench's first layout, which is not known here",
            place=place,
            expected="its second one, which is Harbor's: task.toml",
        )
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
    """The path itself if it is a task, else the tasks below it, as ``load_tasks`` says."""
    directory = _resolved(path)
    with Root(directory, TaskError) as root:
        if _layout(root) is not None:
            return [directory]
        found = _tasks_in(root)
        if not found:
            for name in root.names():
                if root.kind(name) == "directory" and not name.startswith("."):
                    with Root(root.path / name, TaskError) as below:
                        found += _tasks_in(below)
        if not found:
            raise _no_task(root)
        return found


def _tasks_in(root: Root) -> list[Path]:
    return [root.path / name for name in root.names() if _is_task(root, name)]


def _is_task(root: Root, name: str) -> bool:
    kind = root.kind(name)
    if kind == "link" and any(os.path.exists(root.path / name / file) for file in _FILES):
        raise TaskError(
            "a task's directory is a link, which is not followed",
            place=root.place(name),
            expected="the directory itself",
        )
    if kind != "directory":
        return False
    with Root(root.path / name, TaskError) as inner:
        return _layout(inner) is not None


def _layout(root: Root) -> Literal["task.yaml", "harbor", "teambench"] | None:
    """What kind of task a directory holds, by its files; None for none."""
    there = [name for name in _FILES if root.kind(name) is not None]
    if len(there) > 1:
        raise TaskError(
            "two tasks in one directory", place=root.place(""), got=" and ".join(there),
            expected="one of them",
        )  # fmt: skip
    if there:
        return "harbor" if there == [FILE] else "task.yaml"
    return "teambench" if is_teambench(root) else None


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
    names = [shown(name) for name in root.names()]
    held = ", ".join(names[:_MOST_NAMED]) or "nothing"
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return TaskError(
        "neither a task nor a directory of tasks",
        place=root.place(""),
        got=f"no {', '.join((*_FILES, GRADER))} in it or two levels below; it holds {held}{more}",
        expected=_LAYOUTS,
    )
