"""A calibration as a plan of episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolewall.calibrate.reports import handoffs
from rolewall.calibrate.resuming import names_of, resumed
from rolewall.calibrate.sifting import Sifted, Sifter
from rolewall.calibrate.slots import Slot, slots_of
from rolewall.candidate import STYLES, CalibrationInfo, Style, condition_of
from rolewall.code import code_version
from rolewall.episode import CandidateWork
from rolewall.errors import InputError, NotEnoughEvidence
from rolewall.grants import Grants
from rolewall.lots import in_order, new_salt, seed_of
from rolewall.places import check_places
from rolewall.plan import Episode, Plan, describe
from rolewall.policies import Policy, condition
from rolewall.roles import Team
from rolewall.rundir import TaskRef, episode_key
from rolewall.sandbox import Backend
from rolewall.session import Asked, Planner
from rolewall.tasks import Task

__all__ = ["Calibration", "parse_reports", "planner"]


@dataclass(frozen=True)
class Calibration:
    """What is asked for.

    Attributes:
        mutants: failing mutants a task, at most.
        reports: styles of the executor's report; every candidate is shown under each.
        trials: how often every pair is shown under each.
        seed: of the choice of mutants. All else that is by chance is secret: ``rolewall.lots``.
    """

    mutants: int
    reports: tuple[Style, ...]
    trials: int = 1
    seed: int = 0

    @property
    def conditions(self) -> tuple[str, ...]:
        return tuple(map(condition_of, self.reports))


def parse_reports(text: str) -> tuple[Style, ...]:
    """``plain,silent``: styles of report, each once."""
    names = [name.strip() for name in text.split(",")]
    found = tuple(style for name in names for style in STYLES if style == name)
    if len(found) != len(names) or len(set(found)) != len(found):
        expected = f"one or more of {', '.join(STYLES)}, each once"
        raise InputError("not styles of report", place="--reports", got=text, expected=expected)
    return found


def planner(asked: Calibration, *, told: Callable[[str], None]) -> Planner:
    """What plans a calibration: finds candidates by grading, or takes those of the run that
    is gone on with.

    Args:
        told: called with a line on each task whose candidates were graded.

    Raises, when it plans:
        InputError: team or task asks for what was not granted, or the place holds another run.
        NotEnoughEvidence: no task has anything to show.
        InfrastructureError: a grade box failed.
        Interrupted: the user asked to stop.
    """

    def plan(given: Asked, team: Team, tasks: Sequence[Task], backend: Backend) -> Plan:
        if given.out is not None:
            check_places(team, tasks, given.out)
        maker = _Maker(team, backend, asked, given.grants)
        for task in tasks:
            maker.policy(task)
        there, salt = maker.there(tasks, given.out) or (
            maker.sift(tasks, given.jobs, told),
            new_salt(),
        )
        slots = [
            slot
            for sifted in there
            if not sifted.info.why
            for slot in slots_of(sifted, trials=asked.trials, salt=salt)
        ]
        if not slots:
            why = "; ".join(f"{sifted.task.id}: {sifted.info.why}" for sifted in there)
            raise NotEnoughEvidence("no task has a candidate to show", got=why)
        return maker.plan(tasks, there, slots, salt)

    return plan


@dataclass(frozen=True)
class _Maker:
    team: Team
    backend: Backend
    asked: Calibration
    grants: Grants

    def there(self, tasks: Sequence[Task], out: Path | None) -> tuple[list[Sifted], str] | None:
        """The candidates of the calibration that is gone on with, and its salt."""
        if out is None:
            return None
        known: dict[str, Any] = {
            "team": self.team.name,
            "team_digest": self.team.digest,
            "tasks": names_of(tasks),
            "conditions": self.asked.conditions,
            "trials": self.asked.trials,
            "seed": self.asked.seed,
            "backend": self.backend.name,
            "image": self.team.image,
        }
        return resumed(out, known, tasks, mutants=self.asked.mutants, seed=self.asked.seed)

    def sift(self, tasks: Sequence[Task], jobs: int, told: Callable[[str], None]) -> list[Sifted]:
        sifter = Sifter(
            backend=self.backend,
            images={task.id: self.grants.image(self.team, task) for task in tasks},
            memory_mb=self.team.limits.memory_mb,
            mutants=self.asked.mutants,
            seed=self.asked.seed,
            told=told,
        )
        return sifter.sift(tasks, jobs)

    def policy(self, task: Task) -> Policy:
        network = self.grants.network(self.team, task)
        return condition("enforced")(
            self.team.roles, limits=self.team.limits, network=network, zones=self.team.zones
        )

    def plan(
        self, tasks: Sequence[Task], there: Sequence[Sifted], slots: Sequence[Slot], salt: str
    ) -> Plan:
        asked = self.asked
        made = {one.key: one for slot in slots for one in self._episodes(slot, salt)}
        episodes = [made[key] for key in in_order(salt, made)]
        info = describe(
            self.team,
            [TaskRef(id=task.id, digest=task.digest) for task in tasks],
            asked.conditions,
            self.backend,
            episodes,
            trials=asked.trials,
            seed=asked.seed,
            calibration=CalibrationInfo(
                mutants=asked.mutants,
                salt=salt,
                reports=asked.reports,
                tasks=tuple(sifted.info for sifted in there),
                candidates=tuple(slot.candidate for slot in slots),
            ),
        )
        return Plan(self.team, self.backend, tuple(episodes), info)

    def _episodes(self, slot: Slot, salt: str) -> Iterator[Episode]:
        """One under each style of report, alike in all that is not by lot."""
        task, planned = slot.task, slot.candidate
        image, policy = self.grants.image(self.team, task), self.policy(task)
        for style in self.asked.reports:
            seed = seed_of(salt, task.id, planned.trial, condition_of(style))
            key = episode_key(
                task=TaskRef(id=task.id, digest=task.digest),
                team_digest=self.team.digest,
                condition=condition_of(style),
                trial=planned.trial,
                seed=seed,
                backend=self.backend.name,
                image=image,
                code=code_version(),
                observe=self.team.observe,
                candidate=planned.sha256,
                salt=salt,
            )
            reports = handoffs(self.team, style)
            work = CandidateWork(planned.shown(style), slot.overlay, slot.touched, reports)
            yield Episode(key, task, condition_of(style), planned.trial, seed, image, policy, work)
