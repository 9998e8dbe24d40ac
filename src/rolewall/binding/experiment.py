"""The experiment: arms × episodes, played and scored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from rolewall.binding.arms import Arm
from rolewall.binding.executors import Executor
from rolewall.binding.found import Experiment, Found, Plan
from rolewall.binding.keeping import Kept, keeping
from rolewall.binding.scoring import Scored
from rolewall.binding.scripted import MOST, Batch, play_batch
from rolewall.binding.stage import Stage
from rolewall.binding.state import Try
from rolewall.binding.teamed import Cast, check_executor
from rolewall.places import check_places
from rolewall.roles import Team
from rolewall.runmodels import RunModels
from rolewall.sandbox import Backend
from rolewall.watching import Supervisors
from rolewall.workers import each

__all__ = ["run_scripted", "run_team"]

T = TypeVar("T")


def run_scripted(plan: Plan, executor: Executor, backend: Backend, out: Path | None) -> Found:
    """Play ``plan`` with a scripted executor.

    Args:
        out: a new directory for what is found, or None.

    Raises:
        InputError: ``out`` is taken. InfrastructureError, Interrupted: nothing is said.
    """
    experiment = Experiment(plan, executor, backend.name)
    batches = [batch for arm in plan.arms for batch in _batches(arm, plan.tries())]
    with keeping(out) as kept, Supervisors() as supervisors:
        stage = Stage(backend, supervisors, kept.attempts, kept.scratch)

        def work(numbered: tuple[int, Batch]) -> list[Scored]:
            number, batch = numbered
            scored = play_batch(batch, stage, executor, plan.seed, plan.rates)
            kept.add(number, scored)
            return scored

        played = each(list(enumerate(batches)), work, jobs=plan.jobs)
        return _found(experiment, [one for scored in played for one in scored], kept)


def run_team(plan: Plan, team: Team, backend: Backend, out: Path | None, *, models: bool) -> Found:
    """Play ``plan`` with the executor of ``team``.

    Args:
        models: whether the caller lets it call its model, with keys of the environment.

    Raises:
        InputError: as ``run_scripted``, and what the team asks for cannot be had.
    """
    check_executor(team, models=models)
    if out is not None:
        check_places(team, (), out)
    access = team.agents["executor"].access
    endpoints = {access.endpoint.name: access.endpoint} if access else {}
    ways = RunModels(endpoints, None)
    experiment = Experiment(plan, team.name, backend.name, team.digest)
    wanted = [(arm, one) for arm in plan.arms for one in plan.tries()]
    with keeping(out) as kept, Supervisors() as supervisors, ways:
        stage = Stage(backend, supervisors, kept.attempts, kept.scratch)
        cast = Cast(team, ways, kept.transcripts)

        def work(numbered: tuple[int, tuple[Arm, Try]]) -> Scored:
            number, (arm, one) = numbered
            scored = cast.play(one, arm, stage, plan.seed, plan.rates)
            kept.add(number, [scored])
            return scored

        played = each(list(enumerate(wanted)), work, jobs=plan.jobs)
        return _found(experiment, played, kept)


def _found(experiment: Experiment, played: Sequence[Scored], kept: Kept) -> Found:
    scored = {
        arm.name: [one for one in played if one.arm == arm.name] for arm in experiment.plan.arms
    }
    found = Found(experiment, scored, kept.out)
    return replace(found, seal=kept.seal(found))


def _batches(arm: Arm, wanted: Sequence[Try]) -> list[Batch]:
    """As few boxes as hold them, as even as can be."""
    size = math.ceil(len(wanted) / math.ceil(len(wanted) / MOST))
    starts = range(0, len(wanted), size)
    return [Batch(arm, n, wanted[at : at + size]) for n, at in enumerate(starts, start=1)]
