"""What a result table says of graders that were not checked, or not found sound."""

from __future__ import annotations

from collections.abc import Sequence

from rolewall.rundir import RunInfo, TaskRef
from rolewall.terminal import counted, listed

__all__ = ["grader_notes"]

SOUND, WEAK = ("A", "B"), ("C", "F")
NAMED = 5


def grader_notes(info: RunInfo) -> list[str]:
    """A line for the tasks of a run whose grader has no mark, or one that leaves open whether
    it may be trusted; one for those that may not (see ``rolewall check-grader``); and one
    for those that were left out, since they have no grader."""
    tasks, left_out = info.tasks, info.left_out
    unchecked = [task for task in tasks if task.checked not in (*SOUND, *WEAK)]
    weak = [f"{task.id} ({task.checked})" for task in tasks if task.checked in WEAK]
    return [
        f"{what}: {len(names)} of {counted(len(tasks), 'task')}: {listed(names, NAMED)}{hint}"
        for what, names, hint in (
            ("graders unchecked", [task.id for task in unchecked], _hint(info, unchecked)),
            ("graders found weak", weak, ""),
        )
        if names
    ] + [f"left out, without a grader: {listed(left_out, NAMED)}" for _ in left_out[:1]]


def _hint(info: RunInfo, unchecked: Sequence[TaskRef]) -> str:
    """What checks them as this run would have them: a mark holds for one backend, and of a
    start that a program makes for one seed."""
    seed = f" --seed {info.seed}" if info.seed and any(task.instances for task in unchecked) else ""
    return f" (rolewall check-grader --backend {info.backend}{seed} PATH)"
