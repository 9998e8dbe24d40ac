"""Checking the graders of many tasks, several gradings at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from rolewall.checkgrader.candidate import Bench, Candidate, Graded
from rolewall.checkgrader.checking import Checking, Extent
from rolewall.checkgrader.findings import GraderCheck
from rolewall.errors import InputError, Interrupted
from rolewall.interruption import Interruption
from rolewall.sandbox import (
    Backend,
    BlobStore,
    close_left,
    interrupt_all,
    make_directory,
    temporary_directory,
)
from rolewall.tasks import Task

__all__ = ["check_graders", "grade_images"]

POLL_SECONDS = 0.2
Done = Callable[[GraderCheck], None]


def grade_images(tasks: Sequence[Task], *, granted: bool) -> dict[str, str]:
    """The image of each task's grade box: ``host``, or the task's own if that is granted.

    Raises:
        InputError: a task asks for an image and none is granted.
    """
    for task in tasks:
        if task.image and not granted:
            raise InputError(
                "the task asks for an image of its own",
                place=str(task.directory / task.file),
                got=task.image,
                hint="--allow-task-image grants it",
            )
    return {task.id: task.image or "host" for task in tasks}


def check_graders(
    tasks: Sequence[Task],
    backend: Backend,
    extent: Extent,
    *,
    jobs: int = 1,
    images: Mapping[str, str],
    done: Done | None = None,
) -> list[GraderCheck]:
    """Check the grader of each task; results in the order of ``tasks``.

    Args:
        jobs: gradings at the same time.
        images: the image of each task's grade box, by id; see ``grade_images``.
        done: called with each result as it comes.

    Raises:
        TaskError: a task cannot be read, or changed meanwhile.
        Interrupted: SIGINT, SIGTERM or SIGHUP.
    """
    interruption = Interruption()
    checking = [Checking(task, extent) for task in tasks]
    with interruption.heeded(), temporary_directory() as scratch:
        store = BlobStore(scratch / "blobs.git")
        benches = []
        for number, task in enumerate(tasks):
            place = scratch / f"task-{number}"
            make_directory(place)
            benches.append(Bench(task, backend, place, store, images[task.id]))
        try:
            _Gradings(list(zip(checking, benches, strict=True)), interruption, done).run(jobs)
        except Interrupted:
            raise Interrupted("interrupted; no check is kept") from None
        finally:
            close_left()
    return [one.result() for one in checking]


class _Gradings:
    """Gradings of all tasks in one pool, so that no job waits for another task's last one."""

    def __init__(
        self,
        work: list[tuple[Checking, Bench]],
        interruption: Interruption,
        done: Done | None,
    ) -> None:
        self._work = work
        self._interruption = interruption
        self._done = done
        self._running: dict[Future[Graded], tuple[Checking, Bench, Candidate]] = {}

    def run(self, jobs: int) -> None:
        pool = ThreadPoolExecutor(jobs, "grading")
        try:
            for checking, bench in self._work:
                self._submit(pool, checking, bench, checking.first())
            while self._running:
                finished, _ = wait(self._running, POLL_SECONDS, FIRST_COMPLETED)
                for future in finished:
                    self._take(pool, future)
                self._interruption.check()
        except BaseException:
            self._end()
            raise
        finally:
            pool.shutdown(wait=not self._interruption.broken_off)

    def _submit(
        self,
        pool: ThreadPoolExecutor,
        checking: Checking,
        bench: Bench,
        candidates: Iterable[Candidate],
    ) -> None:
        for candidate in candidates:
            future = pool.submit(bench.grade, candidate)
            self._running[future] = (checking, bench, candidate)

    def _take(self, pool: ThreadPoolExecutor, future: Future[Graded]) -> None:
        checking, bench, candidate = self._running.pop(future)
        further = checking.take(candidate, future.result())
        self._submit(pool, checking, bench, further)
        if checking.over and self._done:
            self._done(checking.result())

    def _end(self) -> None:
        """End the boxes until nothing is graded: one may have just been opening one."""
        running = set(self._running)
        for future in running:
            future.cancel()
        while True:
            interrupt_all()
            if self._interruption.broken_off or not wait(running, POLL_SECONDS).not_done:
                return
