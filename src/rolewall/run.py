"""Running a plan: a pool of episodes, a directory that resumes, an orderly end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path

from rolewall._validate import shorten
from rolewall.attest import KeySigner, RunSeals, is_signed
from rolewall.code import code_version
from rolewall.episode import RecordedEpisode, Setting, run_episode
from rolewall.errors import BackendUnavailable, InfrastructureError, InputError
from rolewall.interruption import Interruption
from rolewall.layout import hold_layout, locked
from rolewall.plan import Episode, Plan
from rolewall.programs import check_programs
from rolewall.record import EpisodeRecord
from rolewall.rundir import Run, RunInfo, open_run, read_info, write_run_info
from rolewall.runmodels import RunModels
from rolewall.sandbox import (
    Backend,
    BlobStore,
    close_left,
    interrupt_all,
    remove_tree,
    storage,
)
from rolewall.storage import is_partial
from rolewall.watching import Supervisors

__all__ = ["run_plan"]

POLL_SECONDS = 0.2
# Fields of run.json that make its episodes, the plainest reason first.
COMPARED = ("team", "backend", "image", "conditions", "trials", "seed", "tasks", "team_digest",
            "planned", "shown", "replay")  # fmt: skip
CALLED = {"shown": "directories of --show", "team_digest": "files of the team"}
Progress = Callable[[Episode, EpisodeRecord], None]


def run_plan(
    plan: Plan,
    directory: Path,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
    accepted: Callable[[int], None] | None = None,
    warn: Callable[[str], None] | None = None,
    signer: KeySigner | None = None,
    recorded: Mapping[str, RecordedEpisode] | None = None,
) -> Run:
    """Run what of ``plan`` has no record yet in ``directory``, and return the whole run.

    Episodes that ended in an infrastructure error are run again; all others
    are kept as they are.

    Args:
        progress: called after each episode.
        accepted: called before the first one, with the number of those that are there already.
        warn: called with what is no reason not to run.
        signer: signs what is sealed; without one nothing is signed.
        recorded: by episodes' keys, what is played again, and answers in place of models'
            endpoints.

    Raises:
        RecordError: what is there was altered since it was sealed.
        InputError: the directory holds another run, is in use by another harness, or is a file;
            or a variable that should hold a model's key does not.
        Interrupted: SIGINT, SIGTERM or SIGHUP. Finished episodes are kept.
    """
    directory = directory.absolute()
    models = RunModels(plan.team.endpoints, recorded)
    interruption = Interruption()
    with interruption.heeded(), locked(directory):
        begun = (directory / "run.json").exists()
        if not begun:
            # Before the directory is this run's: the next try may be another one.
            check_programs(plan, plan.episodes)
        _claim(plan, directory)
        try:
            with RunSeals(directory, read_info(directory).summary(), signer) as seals:
                todo = _prepare(plan, directory, seals)
                if begun:
                    check_programs(plan, todo)
                if warn and todo and not signer and is_signed(directory):
                    warn("this run is signed, and what it seals anew is not: give --sign again")
                if accepted:
                    accepted(len(plan.episodes) - len(todo))
                with interruption.abrupt():
                    _clean(plan.backend, warn)
                with seals.closing():
                    if todo:
                        with Supervisors() as supervisors, models:
                            pool = _Pool(
                                plan,
                                directory,
                                seals,
                                supervisors,
                                models,
                                interruption,
                                progress,
                                recorded or {},
                            )
                            pool.run(todo, jobs)
                    # A run that is complete and sealed holds nothing else.
                    remove_tree(directory / "scratch")
        finally:
            if not interruption.broken_off:
                close_left()
                # However it ends: it holds copies of work and of hidden tests.
                remove_tree(directory / "scratch")
        interruption.check()
        return open_run(directory)


def _claim(plan: Plan, directory: Path) -> None:
    """Make the directory this plan's run, or refuse it untouched."""
    hold_layout(directory)
    if (directory / "run.json").exists():
        _same(plan, directory)
    elif not all(path.name == ".lock" or is_partial(path) for path in directory.iterdir()):
        raise InputError("neither empty nor a run", place=str(directory), hint="give another -o")
    else:
        write_run_info(directory, plan.info)
    for path in filter(is_partial, list(directory.iterdir())):
        path.unlink()


def _prepare(plan: Plan, directory: Path, seals: RunSeals) -> list[Episode]:
    """The episodes still to run. What a killed run left half done is removed."""
    remove_tree(directory / "scratch")
    for name in ("episodes", "scratch"):
        (directory / name).mkdir(mode=0o755, exist_ok=True)
    (directory / "scratch").chmod(0o700)
    run = open_run(directory, sealed=False)
    seals.hold(run.digests)
    done = {record.key for record in run.records if not _again(record)}
    tries = {r.key: (*r.tries, r.error) for r in run.records if r.error and _again(r)}
    todo = [
        replace(episode, tries=tries.get(episode.key, ()))
        for episode in plan.episodes
        if episode.key not in done
    ]
    for episode in todo:
        seals.discard(episode.key)
        remove_tree(directory / "episodes" / episode.key)
    return todo


def _clean(backend: Backend, warn: Callable[[str], None] | None) -> None:
    """Remove what dead harnesses left. What of it is stuck stands in nobody's way."""
    try:
        backend.clean()
    except BackendUnavailable:
        raise
    except InfrastructureError as error:
        if warn:
            warn(f"not all that dead harnesses left is removed: {error}")


def _same(plan: Plan, directory: Path) -> None:
    known, asked = read_info(directory), plan.info
    if set(known.keys) == set(asked.keys) and known.shown == asked.shown:
        return
    for name in COMPARED:
        has, wants = _values(known, name), _values(asked, name)
        if has != wants:
            there = ", ".join(sorted(has - wants)) or "none of these"
            here = ", ".join(sorted(wants - has)) or "none of these"
            raise InputError(
                f"the directory holds a run with other {CALLED.get(name, name)}",
                place=str(directory),
                got=shorten(there),
                expected=shorten(here),
                hint="give another -o",
            )
    if known.calibration and asked.calibration and known.calibration.salt != asked.calibration.salt:
        raise InputError("another calibration was begun there meanwhile", place=str(directory),
                         hint="give another -o")  # fmt: skip
    raise InputError(
        "the directory holds another shard of the same run, or one that was begun by other code"
        " of rolewall or with other images of tasks",
        place=str(directory),
        got=f"shard {known.shard[0]}/{known.shard[1]}, begun by rolewall {known.rolewall}",
        hint="give another -o",
    )


def _values(info: RunInfo, name: str) -> set[str]:
    value = getattr(info, name)
    if name == "tasks":
        return {
            f"{task.id} ({digest[:12]})"
            for task in info.tasks
            for digest in (task.digest, *task.instances)
        }
    return set(value) if isinstance(value, tuple) else {str(value)}


def _again(record: EpisodeRecord) -> bool:
    return record.error is not None and record.error.kind not in ("grader", "manifest-alarm")


class _Pool:
    def __init__(
        self,
        plan: Plan,
        directory: Path,
        seals: RunSeals,
        supervisors: Supervisors,
        models: RunModels,
        interruption: Interruption,
        progress: Progress | None,
        recorded: Mapping[str, RecordedEpisode],
    ) -> None:
        self._plan = plan
        self._directory = directory
        self._seals = seals
        self._supervisors = supervisors
        self._models = models
        self._interruption = interruption
        self._progress = progress
        self._recorded = recorded
        self._store = BlobStore(directory / "blobs.git")
        self._store.sweep()

    def run(self, todo: list[Episode], jobs: int) -> None:
        pool = ThreadPoolExecutor(jobs, "episode")
        try:
            futures = {pool.submit(self._one, episode): episode for episode in todo}
            try:
                self._collect(futures)
            except BaseException:
                self._interruption.stopping.set()
                for future in futures:
                    future.cancel()
                self._end(set(futures))
                raise
        finally:
            pool.shutdown(wait=not self._interruption.broken_off)
        self._store.sweep()  # what a full disk left

    def _collect(self, futures: dict[Future[EpisodeRecord], Episode]) -> None:
        """Wait for all. What is over is forgotten: its record is on disk."""
        while futures:
            finished, _ = wait(futures, POLL_SECONDS, FIRST_COMPLETED)
            for future in finished:
                episode, record = futures.pop(future), future.result()
                if self._progress:
                    self._progress(episode, record)
            self._interruption.check()

    def _end(self, futures: set[Future[EpisodeRecord]]) -> None:
        """End the boxes until no episode runs: one may have just been opening one."""
        while True:
            interrupt_all()
            self._models.interrupt()
            if self._interruption.broken_off or not wait(futures, POLL_SECONDS).not_done:
                return

    def _one(self, episode: Episode) -> EpisodeRecord:
        directory = self._directory / "episodes" / episode.key
        with storage(directory):
            directory.mkdir(mode=0o755)
        return run_episode(
            Setting(
                key=episode.key,
                task=episode.task,
                team=self._plan.team,
                policy=episode.policy,
                condition=episode.condition,
                trial=episode.trial,
                seed=episode.seed,
                image=episode.image,
                backend=self._plan.backend,
                supervise=self._supervisors.one,
                store=self._store,
                directory=directory,
                scratch=self._directory / "scratch" / episode.key,
                digests={
                    "task": episode.task.digest,
                    "team": self._plan.team.digest,
                    "code": code_version(),
                },
                seals=self._seals,
                stopping=self._interruption.stopping,
                work=episode.work,
                models=self._models.of(episode.key),
                recorded=self._recorded.get(episode.key),
                tries=episode.tries,
                shown=tuple(map(Path, self._plan.info.shown)),
            )
        )
