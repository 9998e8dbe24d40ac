"""Where the marks of a check go: one file for all tasks, or one beside each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rolewall.checkgrader.findings import GraderCheck
from rolewall.checkgrader.saved import FILE, read_checks, save_checks
from rolewall.errors import InputError, StorageError
from rolewall.tasks import Task

__all__ = ["Keeping"]


class Keeping:
    """The files that marks go to, looked at before anything is graded.

    Args:
        given: the one file; None is ``FILE`` in the directory above each task.

    Raises:
        InputError: something else stands there, or ``given`` would lie in a task.
    """

    def __init__(self, tasks: Sequence[Task], given: Path | None) -> None:
        self._given = given
        self._places = {task.id: given or task.directory.parent / FILE for task in tasks}
        for path in set(self._places.values()):
            _refuse_inside(path, tasks)
            if os.path.lexists(path):
                read_checks(path)

    def keep(
        self, checks: Iterable[GraderCheck], images: Mapping[str, str], backend: str
    ) -> list[str]:
        """Write all marks; a line for each file that was not asked for and cannot be written.

        Raises:
            StorageError: the file that was asked for cannot be written.
        """
        by_place: dict[Path, list[GraderCheck]] = {}
        for check in checks:
            by_place.setdefault(self._places[check.task], []).append(check)
        unkept = []
        for path, found in by_place.items():
            try:
                save_checks(path, found, images=images, backend=backend)
            except StorageError as error:
                if self._given:
                    raise
                unkept.append(f"the marks are not kept: {error}")
        return unkept


def _refuse_inside(path: Path, tasks: Sequence[Task]) -> None:
    for task in tasks:
        if path.resolve().is_relative_to(task.directory):
            # It would be a part of the task, and so change the digest that it is bound to.
            raise InputError("the file would lie in a task", place=str(path), got=task.id)
