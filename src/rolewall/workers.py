"""Work on many things at once, that ends in order when the user asks it to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from rolewall.errors import Interrupted
from rolewall.interruption import Interruption
from rolewall.sandbox import close_left, interrupt_all, stoppable

__all__ = ["each"]

POLL_SECONDS = 0.2
T = TypeVar("T")
R = TypeVar("R")


def each(items: Sequence[T], work: Callable[[T], R], *, jobs: int) -> list[R]:
    """``work`` of every item, ``jobs`` at a time, in the order of ``items``.

    The first that raises ends the boxes of all others, and is what is raised.

    Raises:
        Interrupted: SIGINT, SIGTERM or SIGHUP.
    """
    interruption = Interruption()

    def one(item: T) -> R:
        if interruption.stopping.is_set():
            raise Interrupted("interrupted")
        with stoppable(interruption.stopping.is_set):
            return work(item)

    with interruption.heeded():
        pool = ThreadPoolExecutor(jobs, "work")
        try:
            futures = [pool.submit(one, item) for item in items]
            try:
                _wait(futures, interruption)
                return [future.result() for future in futures]
            except BaseException:
                interruption.stopping.set()
                _end(futures, interruption)
                raise
        finally:
            pool.shutdown(wait=not interruption.broken_off)
            if not interruption.broken_off:
                close_left()


def _wait(futures: Sequence[Future[R]], interruption: Interruption) -> None:
    waiting = set(futures)
    while waiting:
        finished, waiting = wait(waiting, POLL_SECONDS, FIRST_COMPLETED)
        if interruption.stopping.is_set():
            raise Interrupted("interrupted")
        for future in finished:
            future.result()


def _end(futures: Sequence[Future[R]], interruption: Interruption) -> None:
    """End the boxes until nothing works any more: one may have just been opening one."""
    for future in futures:
        future.cancel()
    while True:
        interrupt_all()
        if interruption.broken_off or not wait(futures, POLL_SECONDS).not_done:
            return
