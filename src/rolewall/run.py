"""Running a plan: a pool of episodes, a directory that resumes, an orderly end."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from rolewall._validate import shorten
from rolewall.code import code_version
from rolewall.episode import Setting, run_episode
from rolewall.errors import InputError, Interrupted
from rolewall.plan import Episode, Plan
from rolewall.record import EpisodeRecord
from rolewall.rundir import Run, RunInfo, open_run, read_info, write_run_info
from rolewall.sandbox import BlobStore, Supervisor, interrupt_all, remove_tree, storage

__all__ = ["run_plan"]

POLL_SECONDS = 0.2
# Fields of run.json that make its episodes, the plainest reason first.
COMPARED = ("team", "backend", "image", "conditions", "trials", "seed", "tasks", "team_digest",
            "planned")  # fmt: skip
Progress = Callable[[Episode, EpisodeRecord], None]


def run_plan(
    plan: Plan,
    directory: Path,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
    accepted: Callable[[int], None] | None = None,
) -> Run:
    """Run what of ``plan`` has no record yet in ``directory``, and return the whole run.

    Episodes that ended in an infrastructure error are run again; all others
    are kept as they are.

    Args:
        progress: called after each episode.
        accepted: called before the first one, with the number of those that are there already.

    Raises:
        InputError: the directory holds another run, is in use by another harness, or is a file.
        Interrupted: SIGINT or SIGTERM. Finished episodes are kept.
    """
    directory = directory.absolute()
    with _locked(directory):
        _claim(plan, directory)
        try:
            todo = _prepare(plan, directory)
            if accepted:
                accepted(len(plan.episodes) - len(todo))
            plan.backend.clean()
            if todo:
                with Supervisor() as supervisor:
                    _Pool(plan, directory, supervisor, progress).run(todo, jobs)
        finally:
            # However it ends: it holds copies of work and of hidden tests.
            remove_tree(directory / "scratch")
        return open_run(directory)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    for path in (directory, *directory.parents):
        if path.exists() and not path.is_dir():
            raise InputError("not a directory", place=str(path), hint="give another -o")
    with storage(directory):
        directory.mkdir(parents=True, exist_ok=True)
        lock = os.open(directory / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                "another rolewall is running here", place=str(directory), hint="give another -o"
            ) from None
        yield
    finally:
        os.close(lock)


def _claim(plan: Plan, directory: Path) -> None:
    """Make the directory this plan's run, or refuse it untouched."""
    if (directory / "run.json").exists():
        _same(plan, directory)
    elif any(path.name != ".lock" for path in directory.iterdir()):
        raise InputError("neither empty nor a run", place=str(directory), hint="give another -o")
    else:
        write_run_info(directory, plan.info)


def _prepare(plan: Plan, directory: Path) -> list[Episode]:
    """The episodes still to run. What a killed run left half done is removed."""
    remove_tree(directory / "scratch")
    for name in ("episodes", "scratch"):
        (directory / name).mkdir(mode=0o755, exist_ok=True)
    (directory / "scratch").chmod(0o700)
    run = open_run(directory)
    done = {record.key for record in run.records if not _again(record)}
    todo = [episode for episode in plan.episodes if episode.key not in done]
    for episode in todo:
        remove_tree(directory / "episodes" / episode.key)
    return todo


def _same(plan: Plan, directory: Path) -> None:
    known, asked = read_info(directory), plan.info
    if set(known.keys) == set(asked.keys):
        return
    for name in COMPARED:
        has, wants = _values(known, name), _values(asked, name)
        if has != wants:
            there = ", ".join(sorted(has - wants)) or "fewer"
            here = ", ".join(sorted(wants - has)) or "fewer"
            raise InputError(
                f"the directory holds a run with other {name}",
                place=str(directory),
                got=shorten(there),
                expected=shorten(here),
                hint="give another -o",
            )
    raise InputError(
        "the directory holds another shard, or a run of another version of rolewall's code"
        " or with other images of tasks",
        place=str(directory),
        got=known.rolewall,
        hint="give another -o",
    )


def _values(info: RunInfo, name: str) -> set[str]:
    value = getattr(info, name)
    if name == "tasks":
        return {f"{task.id} ({task.digest[:12]})" for task in info.tasks}
    return set(value) if isinstance(value, tuple) else {str(value)}


def _again(record: EpisodeRecord) -> bool:
    return record.error is not None and record.error.kind not in ("grader", "manifest-alarm")


class _Pool:
    def __init__(
        self, plan: Plan, directory: Path, supervisor: Supervisor, progress: Progress | None
    ) -> None:
        self._plan = plan
        self._directory = directory
        self._supervisor = supervisor
        self._progress = progress
        self._store = BlobStore(directory / "blobs.git")
        self._stopping = threading.Event()

    def run(self, todo: list[Episode], jobs: int) -> None:
        with _signals(self._stopping), ThreadPoolExecutor(jobs, "episode") as pool:
            futures = {pool.submit(self._one, episode): episode for episode in todo}
            try:
                self._collect(futures)
            except BaseException:
                self._stopping.set()
                for future in futures:
                    future.cancel()
                self._end(set(futures))
                raise
        if self._stopping.is_set():
            raise Interrupted("interrupted; finished episodes are kept")

    def _collect(self, futures: dict[Future[EpisodeRecord], Episode]) -> None:
        left = set(futures)
        while left:
            finished, left = wait(left, POLL_SECONDS, FIRST_COMPLETED)
            for future in finished:
                record = future.result()
                if self._progress:
                    self._progress(futures[future], record)
            if self._stopping.is_set():
                raise Interrupted("interrupted; finished episodes are kept")

    def _end(self, futures: set[Future[EpisodeRecord]]) -> None:
        """End the boxes until no episode runs: one may have just been opening one."""
        while True:
            interrupt_all()
            if not wait(futures, POLL_SECONDS).not_done:
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
                supervisor=self._supervisor,
                store=self._store,
                directory=directory,
                scratch=self._directory / "scratch" / episode.key,
                digests={
                    "task": episode.task.digest,
                    "team": self._plan.team.digest,
                    "code": code_version(),
                },
                stopping=self._stopping,
            )
        )


@contextmanager
def _signals(stopping: threading.Event) -> Iterator[None]:
    """SIGINT and SIGTERM ask for an orderly end, when this is the main thread."""

    def stop(number: int, frame: FrameType | None) -> None:
        stopping.set()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
