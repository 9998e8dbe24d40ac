"""Putting hidden tests and truth where the grade box mounts them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from rolewall._beneath import Root
from rolewall.errors import StorageError, TaskError
from rolewall.tasks.model import GraderFile, Task

__all__ = ["stage_files", "stage_grader"]


def stage_grader(task: Task, destination: Path) -> None:
    """Copy the task's grader files into ``destination``, an empty directory.

    Raises:
        TaskError: a file is not what it was when the task was loaded, or the task's start
            has not been made yet.
        StorageError: it could not be written.
    """
    if task.recipe is not None:
        raise TaskError("its start was not generated", place=str(task.directory))
    stage_files(task.grader_files, destination)


def stage_files(files: Iterable[GraderFile], destination: Path) -> None:
    """Copy ``files`` to their targets in ``destination``; raises as ``stage_grader``."""
    for file in files:
        _write(destination / file.target, _read(file), file.executable)


def _read(file: GraderFile) -> bytes:
    with Root(file.root, TaskError) as root:
        data = root.read(file.source, 1 << 30)
        if hashlib.sha256(data).hexdigest() != file.sha256:
            place = root.place(file.source)
            raise TaskError("the file changed since the task was loaded", place=place)
    return data


def _write(path: Path, data: bytes, executable: bool) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o755 if executable else 0o644)
        with os.fdopen(descriptor, "wb") as output:
            output.write(data)
    except OSError as problem:
        raise StorageError(f"cannot be written: {problem.strerror}", place=str(path)) from None
