"""From the words of a command line to a finished run."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from rolewall.attest import KeySigner
from rolewall.checkgrader import marked
from rolewall.errors import InputError, Interrupted
from rolewall.figures import failures_text
from rolewall.grants import Grants
from rolewall.places import check_key, check_places
from rolewall.plan import Episode, Plan, make_plan
from rolewall.record import EpisodeRecord
from rolewall.roles import Team, load_team
from rolewall.run import run_plan
from rolewall.rundir import PlanRef, Run
from rolewall.sandbox import Backend, find_backend, storage
from rolewall.tally import unfinished_phases
from rolewall.tasks import Task, load_tasks
from rolewall.terminal import counted, say

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
    tasks = load_tasks(asked.tasks)
    backend = find_backend(asked.backend or team.backend)
    plan = (planner or _plan)(asked, team, tasks, backend)
    known = marked(plan.info.tasks, tasks, team.image, backend.name, asked.grader_checks)
    plan = replace(plan, info=plan.info.model_copy(update={"plan": asked.plan, "tasks": known}))
    out = asked.out or _new_directory(team, tasks)
    check_places(team, tasks, out)
    signer = _signer(asked.sign, team, tasks, out) if asked.sign else None
    with _progress(len(plan.episodes)) as progress, _resumable(out):
        run = run_plan(
            plan,
            out,
            jobs=asked.jobs,
            progress=progress,
            accepted=lambda there: _begin(plan, out, there, progress),
            warn=lambda what: say([f"warning: {what}"], sys.stderr),
            signer=signer,
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


def _plan(asked: Asked, team: Team, tasks: Sequence[Task], backend: Backend) -> Plan:
    return make_plan(
        team,
        tasks,
        asked.conditions,
        backend,
        trials=asked.trials,
        seed=asked.seed,
        shard=asked.shard,
        grants=asked.grants,
    )


def _signer(path: Path, team: Team, tasks: Sequence[Task], out: Path) -> KeySigner:
    """The key to sign with, from a place that no role is shown."""
    check_key(path, team, tasks, out)
    signer = KeySigner(path)
    say(signer.warnings, sys.stderr)
    return signer


def _new_directory(team: Team, tasks: Sequence[Task]) -> Path:
    """A run directory of this run alone: another may start here in the same second."""
    runs, name = Path("runs"), f"{team.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    check_places(team, tasks, runs / name)
    for number in itertools.count(1):
        found = runs / (name if number == 1 else f"{name}-{number}")
        with storage(found), suppress(FileExistsError):
            found.mkdir(parents=True)
            break
    return found


def _begin(plan: Plan, out: Path, there: int, progress: _Progress) -> None:
    progress.accept(there)
    planned = len(plan.episodes)
    episodes = counted(planned, "episode")
    lines = [f"team {plan.team.name}: {episodes} on {plan.backend.name}, run {out}"]
    if there:
        lines.append(f"{there} of {planned} were already there")
    notes = {f"{e.task.id}: {note}" for e in plan.episodes for note in e.task.notes}
    say([*lines, *sorted(notes)], sys.stderr)


class _Progress:
    """What is told of a run as it goes on; ``done`` are episodes that have a record."""

    def __init__(self, total: int) -> None:
        self.done, self.total = 0, total

    def accept(self, there: int) -> None:
        self.done = there

    def __call__(self, episode: Episode, record: EpisodeRecord) -> None:
        self.done += 1
        say([f"{self.done} of {self.total}: {_words(record)}"], sys.stderr)


class _Bar(_Progress):
    def __init__(self, total: int, advance: Callable[[int], None]) -> None:
        super().__init__(total)
        self._advance = advance

    def accept(self, there: int) -> None:
        self._advance(there)

    def __call__(self, episode: Episode, record: EpisodeRecord) -> None:
        self._advance(1)


@contextmanager
def _progress(total: int) -> Iterator[_Progress]:
    if not sys.stderr.isatty():
        yield _Progress(total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("episodes"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    task = progress.add_task("", total=total)
    progress.start()
    try:
        yield _Bar(total, lambda number: progress.advance(task, number))
    finally:
        with suppress(OSError):  # a terminal that has gone is no reason of the run's end
            progress.stop()


def _words(record: EpisodeRecord) -> str:
    name = f"{record.task} {record.condition} {record.trial}"
    if record.error:
        return f"{name}: error: {record.error.kind}: {record.error.message}"
    said = f"verdict {record.verdict}" if record.verified else "no verifier"
    words = f"{name}: {said}, grade {record.grade}"
    failed = unfinished_phases([record])
    return f"{words}, {failures_text(failed)}" if failed else words


def exit_code(records: Sequence[EpisodeRecord]) -> int:
    """0 when every episode can be counted, 3 when infrastructure failed, 4 for none at all."""
    if not records:
        return 4
    return 3 if any(record.status == "error" for record in records) else 0
