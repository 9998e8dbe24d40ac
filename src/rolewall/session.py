"""From the words of a command line to a finished run."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from rolewall.attest import KeySigner
from rolewall.checkgrader import marked
from rolewall.errors import InputError, Interrupted
from rolewall.grants import Grants
from rolewall.places import check_key, check_places
from rolewall.plan import Plan, make_plan
from rolewall.progress import Progress, shown_progress
from rolewall.record import EpisodeRecord
from rolewall.replaying import Recording, open_recording
from rolewall.roles import Arm, Team, key_notes, keys_of, load_team
from rolewall.run import run_plan
from rolewall.rundir import PlanRef, ReplayRef, Run
from rolewall.sandbox import Backend, check_shown, find_backend, storage
from rolewall.seats import check_seats, has_person
from rolewall.tasks import Instances, Task, generated_tasks, image_starts, load_tasks
from rolewall.terminal import counted, listed, say

__all__ = ["Asked", "Planner", "exit_code", "run_asked"]


@dataclass(frozen=True)
class Asked:
    """What a user asked for; see ``rolewall run --help``."""

    team: Path
    tasks: tuple[Path, ...]
    conditions: tuple[str, ...]
    trials: int
    jobs: int
    shard: tuple[int, int]
    seed: int
    out: Path | None
    backend: str | None
    grants: Grants
    sign: Path | None = None
    plan: PlanRef | None = None
    grader_checks: Path | None = None
    shown: tuple[Path, ...] = ()
    replay: Path | None = None
    handoff: Arm = "full"


RUNS = Path("runs")
NAMED = 3  # tasks in a line that is of more
Planner = Callable[[Asked, Team, Sequence[Task], Backend], Plan]


def run_asked(asked: Asked, planner: Planner | None = None) -> Run:
    """Check everything, say what will run where, run it.

    Args:
        planner: makes the plan, in place of tasks × conditions × trials.

    Raises:
        InputError: anything asked for is not acceptable; nothing has started.
        BackendUnavailable: the machine has no such backend.
    """
    if os.path.isdir(asked.team):
        raise InputError(
            "a directory", place=str(asked.team),
            expected=f"the team file, such as {asked.team / 'team.yaml'}",
        )  # fmt: skip
    team = load_team(asked.team)
    check_seats(team, asked.jobs, replay=asked.replay is not None)
    _check_models(asked, team)
    left_out: list[str] = []
    tasks = load_tasks(asked.tasks, left_out)
    backend = find_backend(asked.backend or team.backend)
    with image_starts(tasks, backend, granted=asked.grants.task_image) as started:
        return _run(asked, team, started, backend, planner, tuple(left_out))


def _check_models(asked: Asked, team: Team) -> None:
    """Hold that the team's endpoints are granted and their keys there, before images are looked
    at and starts generated for episodes that could call no model. A recording needs neither."""
    if asked.replay is None:
        asked.grants.models(team)
        keys_of(team.endpoints, os.environ)
        say(key_notes(team.endpoints, os.environ), sys.stderr)


def _run(
    asked: Asked,
    team: Team,
    tasks: Sequence[Task],
    backend: Backend,
    planner: Planner | None,
    left_out: tuple[str, ...],
) -> Run:
    readable = _shown(asked, team, tasks)
    recording = open_recording(asked.replay, team) if asked.replay else None
    plan = _planned(asked, team, tasks, backend, planner, recording)
    graded = _graded(tasks, plan)
    known = marked(plan.info.tasks, graded, team.image, backend.name, asked.grader_checks)
    further = {"plan": asked.plan, "tasks": known, "left_out": left_out, "shown": readable}
    plan = replace(plan, info=plan.info.model_copy(update=further))
    out = asked.out or _new_directory(team, tasks)
    check_places(team, tasks, out)
    signer = _signer(asked.sign, team, tasks, out) if asked.sign else None
    recorded = recording.episodes(plan.episodes) if recording else None
    with shown_progress(len(plan.episodes), person=has_person(team)) as progress, _resumable(out):
        run = run_plan(
            plan,
            out,
            jobs=asked.jobs,
            progress=progress,
            accepted=lambda there: _begin(plan, out, there, progress),
            warn=lambda what: say([f"warning: {what}"], sys.stderr),
            signer=signer,
            recorded=recorded,
        )
    say([f"run {out}: seal sha256:{run.seal}"], sys.stderr)
    return run


@contextmanager
def _resumable(out: Path) -> Iterator[None]:
    try:
        yield
    except Interrupted as stopped:
        stopped.hint = f"the same command with -o {out} goes on from there"
        raise


def _planned(
    asked: Asked,
    team: Team,
    tasks: Sequence[Task],
    backend: Backend,
    planner: Planner | None,
    recording: Recording | None,
) -> Plan:
    """The plan, over tasks whose starts were all made for the seeds that it needs."""
    seeds = range(asked.seed, asked.seed + (1 if planner else asked.trials))
    instances = generated_tasks(
        tasks,
        seeds,
        backend,
        image=lambda task: asked.grants.image(team, task),
        jobs=asked.jobs,
        told=lambda line: say([line], sys.stderr),
    )
    if planner:
        return planner(asked, team, [instances(task, asked.seed) for task in tasks], backend)
    plan = _plan(asked, team, tasks, backend, instances, recording.ref if recording else None)
    say(recording.notes(plan.episodes, team) if recording else [], sys.stderr)
    return plan


def _graded(tasks: Sequence[Task], plan: Plan) -> list[Task]:
    """The tasks whose grader a check can be of: a generated one's holds for one start."""
    found = {episode.task.digest: episode.task for episode in plan.episodes}
    made = Counter(task.id for task in found.values())
    whole = {task.id: task for task in tasks if task.recipe is None}
    single = {task.id: task for task in found.values() if made[task.id] == 1}
    return list((single | whole).values())


def _plan(
    asked: Asked,
    team: Team,
    tasks: Sequence[Task],
    backend: Backend,
    instances: Instances,
    replay: ReplayRef | None,
) -> Plan:
    # What a recording answers goes nowhere.
    grants = replace(asked.grants, team_models=True) if replay else asked.grants
    return make_plan(
        team,
        tasks,
        asked.conditions,
        backend,
        trials=asked.trials,
        seed=asked.seed,
        shard=asked.shard,
        grants=grants,
        instances=instances,
        replay=replay,
        handoff=asked.handoff,
    )


def _shown(asked: Asked, team: Team, tasks: Sequence[Task]) -> tuple[str, ...]:
    """The directories that roles may read, apart from all that they may not."""
    apart = {"the team": team.directory, "the run": asked.out or RUNS}
    apart |= {f"the task {task.id}": task.directory for task in tasks}
    if asked.sign:
        apart["the key"] = asked.sign
    return tuple(map(str, check_shown(asked.shown, apart)))


def _signer(path: Path, team: Team, tasks: Sequence[Task], out: Path) -> KeySigner:
    """The key to sign with, from a place that no role is shown."""
    check_key(path, team, tasks, out)
    signer = KeySigner(path)
    say(signer.warnings, sys.stderr)
    return signer


def _new_directory(team: Team, tasks: Sequence[Task]) -> Path:
    """A run directory of this run alone: another may start here in the same second."""
    runs, name = RUNS, f"{team.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    check_places(team, tasks, runs / name)
    for number in itertools.count(1):
        found = runs / (name if number == 1 else f"{name}-{number}")
        with storage(found), suppress(FileExistsError):
            found.mkdir(parents=True)
            break
    return found


def _begin(plan: Plan, out: Path, there: int, progress: Progress) -> None:
    progress.accept(there)
    planned = len(plan.episodes)
    episodes = counted(planned, "episode")
    lines = [f"team {plan.team.name}: {episodes} on {plan.backend.name}, run {out}"]
    if there:
        lines.append(f"{there} of {planned} were already there")
    if plan.info.handoff != "full":
        lines.append(f"of handoffs the arm {plan.info.handoff} is shown")
    if out_of := plan.info.left_out:
        named = listed(out_of, NAMED)
        lines.append(f"left out, without a grader: {counted(len(out_of), 'task')}: {named}")
    notes: dict[str, set[str]] = defaultdict(set)
    for episode in plan.episodes:
        for note in episode.task.notes:
            notes[note].add(episode.task.id)
    told = (f"{listed(sorted(of), NAMED)}: {note}" for note, of in notes.items())
    say([*lines, *sorted(told)], sys.stderr)


def exit_code(records: Sequence[EpisodeRecord]) -> int:
    """0 when every episode can be counted, 3 when infrastructure failed, 4 for none at all."""
    if not records:
        return 4
    return 3 if any(record.status == "error" for record in records) else 0
