"""Where a team, its tasks and a run may lie.

What lies beside the team file is shown to roles, and what lies in a task is
copied: a run in either would show hidden tests to those that must not see them,
or copy itself without end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rolewall.errors import InputError
from rolewall.roles import Team
from rolewall.tasks import Task, generated_root

__all__ = ["check_key", "check_places"]

HINT = "give the team a directory of its own, with its scripts and nothing else"


def check_places(team: Team, tasks: Sequence[Task], out: Path) -> None:
    """Refuse a task or run inside the team's directory, and a run inside a task.

    Raises:
        InputError: naming both places.
    """
    beside = team.directory.resolve()
    run = out.resolve()
    _apart(run, beside, "the run would be shown to every role, beside the team file")
    if any(task.recipe for task in tasks):
        kept = generated_root().resolve()
        _apart(kept, beside, "generated tasks would be shown to every role, beside the team file")
    for task in tasks:
        place = task.directory.resolve()
        _apart(place, beside, "the task would be shown to every role, beside the team file")
        if run.is_relative_to(place):
            raise InputError(
                "the run lies in a task", place=str(out), got=task.id, hint="give another -o"
            )


def check_key(key: Path, team: Team, tasks: Sequence[Task], out: Path) -> None:
    """Refuse a private key, or a link to one, in the team's directory, a task or the run,
    and where the image ``host`` shows the machine's own files.

    Raises:
        InputError: naming both places.
    """
    shown = (Path("/usr"), Path(sys.base_prefix))
    for outer in (team.directory, *(task.directory for task in tasks), out, *shown):
        for place in {key.resolve(), Path(os.path.abspath(key))}:
            if place.is_relative_to(outer.resolve()):
                raise InputError(
                    "a private key would be where others see it",
                    place=str(key),
                    got=f"inside {outer}",
                    hint="keep it where no role is shown it",
                )


def _apart(inner: Path, outer: Path, why: str) -> None:
    if inner.is_relative_to(outer):
        raise InputError(why, place=str(inner), got=f"inside {outer}", hint=HINT)
