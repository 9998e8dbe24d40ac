"""SIGINT, SIGTERM and SIGHUP: asked to stop, a run ends in order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rolewall.errors import Interrupted

__all__ = ["SIGNALS", "Interruption"]

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """Whether the user asked to stop.

    Attributes:
        stopping: set by the first signal, for all threads to see.
    """

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self._abrupt = False

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Note signals, when this is the main thread, and leave it to the block to look.

        What is ignored stays ignored: ``nohup`` wants it so.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        heard = [n for n in SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self._note) for number in heard}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def abrupt(self) -> Iterator[None]:
        """In here a signal also ends the block at once: it waits on others, and leaves
        nothing half done that a later start does not mend."""
        self._abrupt = True
        try:
            self.check()
            yield
        finally:
            self._abrupt = False

    def check(self) -> None:
        """Raises Interrupted if the user asked to stop."""
        if self.stopping.is_set():
            raise Interrupted("interrupted; finished episodes are kept")

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.stopping.set()
        if self._abrupt:
            self._abrupt = False
            raise KeyboardInterrupt
