"""The episodes of a run, as many at a time as were asked for, and an orderly end of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from rolewall.attest import RunSeals
from rolewall.code import code_version
from rolewall.episode import RecordedEpisode, Setting, run_episode
from rolewall.interruption import Interruption
from rolewall.plan import Episode, Plan
from rolewall.record import EpisodeRecord
from rolewall.runmodels import RunModels
from rolewall.sandbox import BlobStore, interrupt_all, storage
from rolewall.watching import Supervisors

__all__ = ["Means", "Pool", "Progress"]

POLL_SECONDS = 0.2
Progress = Callable[[Episode, EpisodeRecord], None]


@dataclass(frozen=True)
class Means:
    """What all episodes of a run share."""

    plan: Plan
    directory: Path
    seals: RunSeals
    supervisors: Supervisors
    models: RunModels
    recorded: Mapping[str, RecordedEpisode]


class Pool:
    """Episodes of one run, several at a time."""

    def __init__(self, means: Means, interruption: Interruption, progress: Progress | None) -> None:
        self._means = means
        self._interruption = interruption
        self._progress = progress
        self._store = BlobStore(means.directory / "blobs.git")
        self._store.sweep()

    def run(self, todo: list[Episode], jobs: int) -> None:
        """Raises Interrupted, and whatever an episode raises; no episode runs any more then."""
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
            self._means.models.interrupt()
            if self._interruption.broken_off or not wait(futures, POLL_SECONDS).not_done:
                return

    def _one(self, episode: Episode) -> EpisodeRecord:
        means, plan = self._means, self._means.plan
        directory = means.directory / "episodes" / episode.key
        with storage(directory):
            directory.mkdir(mode=0o755)
        return run_episode(
            Setting(
                key=episode.key,
                task=episode.task,
                team=plan.team,
                policy=episode.policy,
                condition=episode.condition,
                trial=episode.trial,
                seed=episode.seed,
                image=episode.image,
                backend=plan.backend,
                supervise=means.supervisors.one,
                store=self._store,
                directory=directory,
                scratch=means.directory / "scratch" / episode.key,
                digests={
                    "task": episode.task.digest,
                    "team": plan.team.digest,
                    "code": code_version(),
                },
                seals=means.seals,
                stopping=self._interruption.stopping,
                work=episode.work,
                models=means.models.of(episode.key),
                recorded=means.recorded.get(episode.key),
                tries=episode.tries,
                shown=tuple(map(Path, plan.info.shown)),
                handoff=plan.info.handoff,
            )
        )
