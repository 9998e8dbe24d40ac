"""Plays the suite on one backend under the user who runs it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolewall.attacks.outcome import Row, Side, join, read_side
from rolewall.attacks.payload import load
from rolewall.attacks.payload.attempt import Try
from rolewall.attacks.planted import PlantedRow, play_planted
from rolewall.attacks.team import make_tree
from rolewall.errors import BoxError, RecordError
from rolewall.rundir import open_run
from rolewall.sandbox import Backend, temporary_directory

__all__ = ["Report", "play_attacks", "report_of"]

CONDITIONS = ("enforced", "prompt-only")


@dataclass(frozen=True)
class Report:
    """The suite's rows on one backend.

    Attributes:
        user: ``root`` or ``ordinary``.
        faults: what is wrong beside the rows: changes at no attempt's target, unattributed
            edits, an episode that did not end as it should.
        planted: what an executor left for later boxes and the harness.
    """

    backend: str
    user: str
    rows: tuple[Row, ...]
    faults: tuple[str, ...] = ()
    planted: tuple[PlantedRow, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether attempts and plants were made, and all is with them as it should be."""
        wrong = any(row.problem for row in self.rows) or any(row.problem for row in self.planted)
        return not (self.lacking or self.faults or wrong)

    @property
    def lacking(self) -> tuple[str, ...]:
        """What was not tried at all, without which nothing is shown."""
        refused = any(row.end == "refused" for row in self.rows)
        return (
            *(() if refused else ("no attempt was refused: nothing is shown",)),
            *(() if self.planted else ("nothing was planted: nothing is shown",)),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "backend": self.backend,
            "user": self.user,
            "holds": self.holds,
            "faults": list(self.faults),
            "lacking": list(self.lacking),
            "rows": [row.to_json() for row in self.rows],
            "planted": [row.json() for row in self.planted],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Report:
        """The report that ``to_json`` wrote.

        Raises:
            RecordError: it is none.
        """
        try:
            rows = tuple(Row.from_json(row) for row in data["rows"])
            fields = [f.name for f in dataclasses.fields(PlantedRow)]
            planted = tuple(PlantedRow(**{k: row[k] for k in fields}) for row in data["planted"])
            return cls(data["backend"], data["user"], rows, tuple(data["faults"]), planted)
        except (KeyError, TypeError) as error:
            raise RecordError(f"no report of attacks: {error!r}", place="report") from None


def play_attacks(backend: Backend) -> Report:
    """Play every attempt on ``backend``: behind the wall, and its twin without; then the plants.

    Raises:
        InfrastructureError: the machine failed, not the wall.
    """
    from rolewall.plan import make_plan
    from rolewall.roles import load_team
    from rolewall.run import run_plan
    from rolewall.tasks import load_tasks

    with temporary_directory() as scratch:
        team, task = make_tree(scratch)
        plan = make_plan(load_team(team), load_tasks([task]), list(CONDITIONS), backend)
        run_plan(plan, scratch / "run", jobs=len(CONDITIONS))
        report = report_of(scratch / "run", backend.name)
    return dataclasses.replace(report, planted=play_planted(backend))


def report_of(run: Path, backend: str, user: str = "") -> Report:
    """The report of a finished run of the suite's own team by ``user``, the caller if empty.

    Raises:
        BoxError: an episode ended early, and no wall broke: nothing can be said.
        RecordError: a file of the run is not what a run writes.
    """
    found = open_run(run)
    for record in found.records:
        if record.error and record.error.kind not in ("manifest-alarm", "contract"):
            why = f"{record.error.kind}: {record.error.message}"
            raise BoxError(f"the attacks could not all be played: {why}", place=record.condition)
    sides = {r.condition: read_side(found.episode_dir(r), r) for r in found.records}
    enforced, open_side = (sides[condition] for condition in CONDITIONS)
    tried = load()
    user = user or ("root" if os.geteuid() == 0 else "ordinary")
    faults = tuple(_faults(tried, enforced, open_side))
    return Report(backend, user, join(tried, enforced, open_side), faults)


def _faults(tried: Iterable[Try], enforced: Side, open_side: Side) -> Iterator[str]:
    known = {attempt.id for attempt in tried}
    for condition, side in zip(CONDITIONS, (enforced, open_side), strict=True):
        yield from (f"{condition}: {failure}" for failure in side.failures)
    for name, paths in enforced.changed.items():
        if name not in known:
            yield f"enforced: changed at no attempt's target: {paths[0]}"
    races = {attempt.id for attempt in tried if attempt.races}
    for name, paths in open_side.unattributed.items():
        if name not in races:
            yield f"prompt-only: in no line of the ledger: {paths[0]}"
