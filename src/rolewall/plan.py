"""What a run is asked to do: tasks × conditions × trials, checked before anything starts."""

from __future__ import annotations

import platform
import re
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib import metadata

from rolewall.candidate import CalibrationInfo
from rolewall.code import code_version
from rolewall.episode import CandidateWork
from rolewall.errors import InputError, TaskError
from rolewall.grants import Grants
from rolewall.policies import Policy, condition
from rolewall.record import ErrorRecord
from rolewall.roles import Arm, Team
from rolewall.rundir import ReplayRef, RunInfo, TaskRef, episode_key
from rolewall.sandbox import WORKSPACE, Backend, check_workdir
from rolewall.tasks import Instances, Task, whole_task

__all__ = ["Episode", "Plan", "describe", "make_plan", "parse_shard"]

SHARD = re.compile("([0-9]{1,9})/([0-9]{1,9})")


@dataclass(frozen=True)
class Episode:
    """One planned episode. ``seed`` is the run's seed plus the trial's number; in a
    calibration, whose ``work`` is judged, it is drawn by lot. ``tries`` are errors that
    earlier tries of it ended in."""

    key: str
    task: Task
    condition: str
    trial: int
    seed: int
    image: str
    policy: Policy
    work: CandidateWork | None = None
    tries: tuple[ErrorRecord, ...] = ()


@dataclass(frozen=True)
class Plan:
    """All episodes of a run, in order, and the run's description."""

    team: Team
    backend: Backend
    episodes: tuple[Episode, ...]
    info: RunInfo


def make_plan(
    team: Team,
    tasks: Sequence[Task],
    conditions: Sequence[str],
    backend: Backend,
    *,
    trials: int = 1,
    seed: int = 0,
    shard: tuple[int, int] = (1, 1),
    grants: Grants | None = None,
    instances: Instances = whole_task,
    replay: ReplayRef | None = None,
    handoff: Arm = "full",
) -> Plan:
    """Plan a run.

    Args:
        shard: (i, n): this machine runs every n-th episode, beginning with the i-th.
        replay: the run whose recorded models answer.
        handoff: what roles are shown of handoffs.
        instances: what makes the start of a task that has none, for an episode's seed.

    Raises:
        InputError: an unknown or repeated condition, or team or task asks for an image or
            a network that was not granted; a start was not generated.
    """
    if len(set(conditions)) != len(conditions):
        raise InputError("a condition is named twice", got=", ".join(conditions))
    for task in tasks:
        _check_fits(team, task)
    allowed = grants or Grants()
    episodes = [
        _episode(
            team,
            instances(task, seed + trial),
            name,
            trial,
            seed + trial,
            backend,
            allowed,
            replay.seal if replay else "",
            handoff,
        )
        for task in tasks
        for trial in range(trials)
        for name in conditions
    ]
    index, count = shard
    mine = tuple(episodes[index - 1 :: count])
    refs = [_ref(task, instances, range(seed, seed + trials)) for task in tasks]
    info = describe(team, refs, conditions, backend, mine, trials=trials, seed=seed, shard=shard)
    return Plan(team, backend, mine, info.model_copy(update={"replay": replay, "handoff": handoff}))


def _check_fits(team: Team, task: Task) -> None:
    """Whether the task can be one of this team's, with the zones and tools that it has.

    Raises:
        InputError: the work would have to be where the team has a zone, or a condition of the
            task's forbids what the team has not.
    """
    zones = {zone.name for zone in condition("enforced")(team.roles, zones=team.zones).zones}
    if task.workdir not in (None, WORKSPACE):
        place = f"{task.directory / task.file}: the work's directory"
        check_workdir(task.workdir, tuple(zones - {"workspace"}), place)
    _check_held(team, task, zones)


def _check_held(team: Team, task: Task, zones: Collection[str]) -> None:
    """A task that forbids what its team has not is meant for another: a slip in a name would
    forbid nothing."""
    for one in task.conditions:
        for action in one.forbids:
            word, _, name = action.partition(" ")
            if name not in (team.tools if word == "use" else zones):
                raise TaskError(
                    f"no such {'tool' if word == 'use' else 'zone'} in the team {team.name}",
                    place=f"{task.directory / task.file}: condition {one.id}",
                    got=action,
                    expected="workspace, output with a generator, or a zone or tool of the team's",
                )


def _ref(task: Task, instances: Instances, seeds: range) -> TaskRef:
    digests = tuple(instances(task, seed).digest for seed in seeds) if task.recipe else ()
    return TaskRef(id=task.id, digest=task.digest, instances=digests)


def _episode(
    team: Team,
    task: Task,
    name: str,
    trial: int,
    seed: int,
    backend: Backend,
    grants: Grants,
    replay: str,
    handoff: Arm,
) -> Episode:
    image = grants.image(team, task)
    key = episode_key(
        task=TaskRef(id=task.id, digest=task.digest),
        team_digest=team.digest,
        condition=name,
        trial=trial,
        seed=seed,
        backend=backend.name,
        image=image,
        code=code_version(),
        observe=team.observe,
        replay=replay,
        handoff=handoff,
    )
    network = grants.network(team, task)
    policy = condition(name)(team.roles, limits=team.limits, network=network, zones=team.zones)
    return Episode(key, task, name, trial, seed, image, policy)


def describe(
    team: Team,
    tasks: Sequence[TaskRef],
    conditions: Sequence[str],
    backend: Backend,
    episodes: Sequence[Episode],
    *,
    trials: int,
    seed: int,
    shard: tuple[int, int] = (1, 1),
    calibration: CalibrationInfo | None = None,
) -> RunInfo:
    """What ``run.json`` says of a plan that is made now."""
    limits = {name: getattr(team.limits, name) for name in team.limits.__dataclass_fields__}
    return RunInfo(
        created=time.time(),
        rolewall=metadata.version("rolewall"),
        python=sys.version.split()[0],
        host={"system": platform.platform(), "machine": platform.machine()},
        team=team.name,
        team_digest=team.digest,
        team_files=team.file_digests,
        tasks=tuple(tasks),
        conditions=tuple(conditions),
        trials=trials,
        backend=backend.name,
        image=team.image,
        observe=team.observe,
        limits=limits,
        planned=len(episodes),
        seed=seed,
        keys=tuple(e.key for e in episodes),
        shard=shard,
        kind="calibration" if calibration else "run",
        calibration=calibration,
    )


def parse_shard(text: str) -> tuple[int, int]:
    """``I/N`` with 1 ≤ I ≤ N."""
    if found := SHARD.fullmatch(text):
        index, count = int(found[1]), int(found[2])
        if 1 <= index <= count:
            return index, count
    raise InputError("not a shard", place="--shard", got=text, expected="I/N, such as 1/4")
