"""Breaking off what takes long for its number of entries, once the user asked to stop.

Whoever walks or writes a million entries asks now and then. It holds for the thread
that entered ``stoppable``, and not for those that it starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

from rolewall.errors import Interrupted

__all__ = ["check_stop", "heeding", "stoppable", "to_the_end"]

EVERY = 256
T = TypeVar("T")


def _never() -> bool:
    return False


_ASKED: ContextVar[Callable[[], bool]] = ContextVar("asked", default=_never)


@contextmanager
def stoppable(asked: Callable[[], bool]) -> Iterator[None]:
    """Have long work in the block end with Interrupted soon after ``asked`` says so. What
    it was at is then half done."""
    token = _ASKED.set(asked)
    try:
        yield
    finally:
        _ASKED.reset(token)


def to_the_end() -> AbstractContextManager[None]:
    """Have work in the block go on whatever was asked: what cleans up is not broken off."""
    return stoppable(_never)


def check_stop(number: int) -> None:
    """Ask, once in a while as ``number`` counts up. Raises Interrupted."""
    if number % EVERY == 0 and _ASKED.get()():
        raise Interrupted("interrupted")


def heeding(items: Iterable[T]) -> Iterator[T]:
    """The same items, with ``check_stop`` on the way."""
    for number, item in enumerate(items):
        check_stop(number)
        yield item
