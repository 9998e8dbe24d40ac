"""The boxes of this process: those that are open, and what could not be removed of others.

Workers open boxes while the main thread ends all of them.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress
from typing import Protocol

from rolewall.errors import InfrastructureError
from rolewall.sandbox.protocol import Launched

__all__ = ["close_launched", "close_left", "interrupt_all", "register"]


class Interruptible(Protocol):
    """A box, as far as it matters here."""

    def interrupt(self) -> None: ...


_LOCK = threading.Lock()
_OPEN: weakref.WeakSet[Interruptible] = weakref.WeakSet()
_LEFT: list[Launched] = []


def register(box: Interruptible) -> None:
    """Have ``interrupt_all`` know of a box, for as long as somebody holds it."""
    with _LOCK:
        _OPEN.add(box)


def interrupt_all() -> None:
    """End every box of this process: whoever waits on one gets a BoxError."""
    with _LOCK:
        boxes = list(_OPEN)
    for box in boxes:
        box.interrupt()


def close_launched(launched: Launched) -> None:
    """Remove a box; one that cannot be removed is left to ``close_left``."""
    try:
        launched.close()
    except InfrastructureError:
        with _LOCK:
            _LEFT.append(launched)
        raise


def close_left() -> None:
    """Try once more to remove boxes that could not be removed, as when the engine was down.

    The first that fails again ends it, since each may wait for an engine that hangs. What
    is left goes with the next ``clean`` after this process.
    """
    with _LOCK:
        left = list(_LEFT)
    with suppress(InfrastructureError):
        for launched in left:
            launched.close()
            with _LOCK:
                _LEFT.remove(launched)
