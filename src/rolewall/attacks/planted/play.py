"""Playing the planted attacks: one team, one task, one episode of many rounds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rolewall.attacks.planted.outcome import rows
from rolewall.attacks.planted.row import PlantedRow
from rolewall.attacks.planted.stage import make_planted_tree
from rolewall.rundir import open_run
from rolewall.sandbox import Backend, temporary_directory

__all__ = ["play_planted", "rows_of"]


def play_planted(backend: Backend) -> tuple[PlantedRow, ...]:
    """Play every planted attack on ``backend`` under the caller; one row a plant.

    Raises:
        InfrastructureError: the machine failed, so that nothing can be said.
    """
    from rolewall.plan import make_plan
    from rolewall.roles import load_team
    from rolewall.run import run_plan
    from rolewall.tasks import load_tasks

    with _scratch() as (scratch, host):
        team, task = make_planted_tree(scratch, host)
        plan = make_plan(load_team(team), load_tasks([task]), ["enforced"], backend)
        run_plan(plan, scratch / "run")
        return rows_of(scratch / "run", host)


def rows_of(run: Path, host: Path) -> tuple[PlantedRow, ...]:
    """The rows of a finished run of ``make_planted_tree``'s team, whose ``host`` was this.

    Raises:
        RecordError: a file of the run is not what a run writes.
    """
    opened = open_run(run)
    (record,) = opened.records
    return rows(opened.episode_dir(record), record, host)


@contextmanager
def _scratch() -> Iterator[tuple[Path, Path]]:
    """A directory of the caller's, and beside it one that every user of the machine may write:
    what a plant does under another user would show there too."""
    with temporary_directory() as scratch, temporary_directory() as host:
        os.chmod(host, 0o777)
        yield scratch, host
