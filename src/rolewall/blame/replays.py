"""Playing the counterfactuals: real episodes, each a run of its own below ``RUN/blame``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rolewall.blame.facts import Facts
from rolewall.blame.model import Replayed
from rolewall.blame.showed import showed, together
from rolewall.blame.variants import Variant, variants_of
from rolewall.errors import InputError, RecordError
from rolewall.grants import Grants
from rolewall.layout import BLAME
from rolewall.measures import read_files
from rolewall.plan import Plan, make_plan
from rolewall.policies import Access, Policy
from rolewall.record import EpisodeRecord
from rolewall.roles import HumanAgent, ReplayAgent, Team
from rolewall.run import run_plan
from rolewall.rundir import Run, open_run, read_info
from rolewall.sandbox import Backend, remove_tree, storage
from rolewall.tasks import Task, generated_tasks, image_starts

__all__ = ["Replays", "chancy"]


@dataclass(frozen=True)
class Replays:
    """What replays are played with.

    Attributes:
        run: whose episodes failed.
        shown: directories that roles may read, as at the run.
        repeat: how often each change is played.
        told: called with a line before each replay.
    """

    run: Run
    team: Team
    tasks: Sequence[Task]
    backend: Backend
    grants: Grants
    shown: tuple[str, ...] = ()
    repeat: int = 1
    told: Callable[[str], None] | None = None

    def play(self, facts: Facts) -> tuple[tuple[Replayed, ...], tuple[str, ...]]:
        """The replays of one episode, until one shows the stage; and what could not be played.

        Raises:
            InputError: team or task are not those of the episode.
            RolewallError: as of ``run_plan``.
        """
        record = facts.record
        if facts.failure not in ("work", "forbidden", "verdict"):
            return (), ()
        if why := _plain(facts):
            return (), (why,)
        if why := self._unplayable(record):
            return (), (why,)
        with self._task(record) as task:
            variants = variants_of(facts, self.team, task)
            done: list[Replayed] = []
            notes = [f"{one.change}: {one.why}" for one in variants if one.why]
            for variant in variants:
                if not variant.why and _wanted(facts, variant.change, done):
                    done.append(self._times(facts, variant))
        return tuple(done), tuple(notes)

    def _unplayable(self, record: EpisodeRecord) -> str:
        if record.candidate:
            return "an episode of a calibration is not played again"
        for role, agent in self.team.agents.items():
            if isinstance(agent, HumanAgent | ReplayAgent):
                return f"no replay: the {role} is played by {agent.kind}"
        if self.team.digest != record.digests.get("team"):
            raise InputError("not the team of the episode", place=str(self.team.path),
                             got=self.team.digest, expected=record.digests.get("team", "none"),
                             hint="give the team as it was")  # fmt: skip
        return ""

    @contextmanager
    def _task(self, record: EpisodeRecord) -> Iterator[Task]:
        known = [task for task in self.tasks if task.id == record.task]
        if not known:
            raise InputError("no such task was given", place="--tasks", got=record.task)
        with image_starts(known, self.backend, granted=self.grants.task_image) as started:
            instances = generated_tasks(
                started,
                (record.seed,),
                self.backend,
                image=lambda task: self.grants.image(self.team, task),
                told=self.told,
            )
            task = instances(started[0], record.seed)
            if task.digest != record.digests.get("task"):
                raise InputError("not the task of the episode", place=str(task.directory),
                                 got=task.digest, expected=record.digests.get("task", "none"),
                                 hint="give the task as it was")  # fmt: skip
            yield task

    def _times(self, facts: Facts, variant: Variant) -> Replayed:
        return together([self._one(facts, variant, number) for number in range(self.repeat)])

    def _one(self, facts: Facts, variant: Variant, number: int) -> Replayed:
        record = facts.record
        if self.told:
            episode = f"{record.task}:{record.condition}:{record.trial}"
            self.told(f"{episode}: playing it again: {variant.change}")
        plan = self._plan(record, variant)
        name = f"{variant.change}-{number + 1}" if number else variant.change
        directory = self.run.path / BLAME / record.key / name
        _hold(self.run.path, directory)
        _ready(plan, directory)
        with storage(directory):
            directory.parent.mkdir(parents=True, exist_ok=True)
        run_plan(plan, directory)
        played = open_run(directory)
        (made,) = played.records
        files = read_files(played, made)
        place = str(directory.relative_to(self.run.path))
        return showed(facts, variant.change, files, variant.task, place)

    def _plan(self, record: EpisodeRecord, variant: Variant) -> Plan:
        plan = make_plan(
            variant.team,
            [variant.task],
            (record.condition,),
            self.backend,
            seed=record.seed,
            grants=self.grants,
            handoff=variant.arm,
        )
        (episode,) = plan.episodes
        if variant.reads_spec:
            episode = replace(episode, policy=_reading(episode.policy))
        info = plan.info.model_copy(update={"shown": self.shown})
        return replace(plan, episodes=(episode,), info=info)


def _reading(policy: Policy) -> Policy:
    """``policy`` with the specification before the executor."""
    access = {role: dict(column) for role, column in policy.access.items()}
    if access["executor"]["spec"] is Access.HIDDEN:
        access["executor"]["spec"] = Access.READ
    return replace(policy, access=access)


def _plain(facts: Facts) -> str:
    """Why there is nothing to try: what the executor is told, or does, would change nothing."""
    if facts.harmed:
        return "the work passed before the verifier's turn"
    if facts.failure == "forbidden" and not facts.by_executor:
        return f"what was forbidden was carried out by the {' and the '.join(facts.actors)}"
    return ""


def _wanted(facts: Facts, change: str, done: Sequence[Replayed]) -> bool:
    """Whether a further change can tell more: after the first that turned fail into pass none
    can, but what a verifier makes of work that nobody touched."""
    passed = next((one.change for one in done if one.passed), None)
    if facts.failure == "verdict":
        return passed != "same"
    if change == "untouched":
        row = facts.judged
        return passed == "reference" and row is not None and row.verdict == "approve"
    return passed is None


def _hold(run: Path, directory: Path) -> None:
    """Refuse a way there that leads elsewhere: whoever prepared the run would choose what is
    written to and removed."""
    for path in (directory, *directory.parents):
        if path == run:
            break
        if path.is_symlink() or (os.path.lexists(path) and not path.is_dir()):
            raise InputError("not what a run has there", place=str(path), expected="a directory")


def _ready(plan: Plan, directory: Path) -> None:
    """Remove replays of other code, or of other files: what is there is kept and read."""
    if not directory.exists():
        return
    try:
        same = set(read_info(directory).keys) == set(plan.info.keys)
    except RecordError:
        same = False
    if not same:
        remove_tree(directory)


def chancy(team: Team, replays: Sequence[Replayed]) -> bool:
    """Whether a role plays that need not do the same again: one of a model, or that reaches
    anything beyond its box, which may be one, or that was seen not to."""
    open_ = any(agent.access is not None or agent.network for agent in team.agents.values())
    return open_ or any(0 < one.passes < one.times for one in replays)
