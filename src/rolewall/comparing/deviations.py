"""In what a comparison differs from its plan, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from rolewall._validate import shorten
from rolewall.comparing.contrast import Contrast
from rolewall.comparing.planfile import PlanFile
from rolewall.rows import Row
from rolewall.rundir import RunInfo
from rolewall.terminal import counted, listed

__all__ = ["deviations"]

MOST_NAMED = 12


def deviations(
    plan: PlanFile,
    rows: Sequence[Row],
    conditions: Sequence[str],
    contrasts: Sequence[Contrast],
    info: RunInfo | None,
) -> tuple[str, ...]:
    """Every way in which the data, or what was compared, are not what was planned.

    ``info`` is of the run that made the rows, where one did; it was sealed with the plan that
    it was begun with, so a plan that is in it was there before the data.
    """
    return (
        *_of_time(plan, info),
        *_of_conditions(plan, rows, conditions),
        *_of_tasks(plan, rows, conditions),
        *_of_episodes(plan, rows, conditions),
        *_of_contrasts(contrasts),
    )  # fmt: skip


def _of_time(plan: PlanFile, info: RunInfo | None) -> Iterator[str]:
    if info is None or info.plan is None:
        where = "there is no run.json" if info is None else "run.json has no plan"
        yield f"{where}: nothing shows that the plan was made before the data"
    elif info.plan.sha256 != plan.digest:
        yield f"the plan was changed after the data were begun: run.json has {info.plan.sha256}"
    if info is None:
        return
    if plan.registered is not None and info.created < plan.registered:
        yield (
            f"the data were begun at {_said(info.created)},"
            f" before the plan was registered at {_said(plan.registered)}"
        )
    if info.seed != plan.content.seed:
        yield f"seed {info.seed}, planned {plan.content.seed}"


def _of_conditions(plan: PlanFile, rows: Sequence[Row], conditions: Sequence[str]) -> Iterator[str]:
    planned = plan.content.conditions
    if tuple(conditions) != tuple(planned):
        yield f"compared {', '.join(conditions)}; planned {', '.join(planned)}"
    if more := sorted({r.condition for r in rows} - set(planned) - set(conditions)):
        yield f"other conditions in the data: {_listed(more)}"


def _of_tasks(plan: PlanFile, rows: Sequence[Row], conditions: Sequence[str]) -> Iterator[str]:
    found = {r.task for r in rows if r.condition in conditions}
    planned = plan.content.tasks
    if isinstance(planned, int):
        if len(found) != planned:
            yield f"{counted(len(found), 'task')}, planned {planned}"
        return
    if absent := sorted(set(planned) - found):
        yield f"planned tasks without an episode: {_listed(absent)}"
    if more := sorted(found - set(planned)):
        yield f"tasks that were not planned: {_listed(more)}"


def _of_episodes(plan: PlanFile, rows: Sequence[Row], conditions: Sequence[str]) -> Iterator[str]:
    planned = plan.task_count * plan.content.trials
    for name in conditions:
        found = Counter(r.task for r in rows if r.condition == name)
        if (number := sum(found.values())) != planned:
            word = "fewer" if number < planned else "more"
            yield f"{word} episodes under {name} than planned: {number} for {planned}"
        elif uneven := [task for task, n in found.items() if n != plan.content.trials]:
            yield (
                f"other trials under {name} than {plan.content.trials} a task:"
                f" {_listed(sorted(uneven))}"
            )


def _of_contrasts(contrasts: Sequence[Contrast]) -> Iterator[str]:
    for contrast in contrasts:
        against = f"{contrast.second} against {contrast.first}"
        for untested in contrast.untested:
            yield f"{untested.name} could not be tested, {against}: {untested.reason}"
        for outcome in contrast.outcomes:
            if outcome.unknown:
                unknown = counted(outcome.unknown, "pair")
                yield f"{outcome.name} is not known in {unknown}, {against}"
        if contrast.left_out:
            yield f"{counted(len(contrast.left_out), 'episode or pair')} left out, {against}"


def _listed(names: Sequence[str]) -> str:
    return listed([shorten(name) for name in names], MOST_NAMED)


def _said(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
