"""SIGINT, SIGTERM and SIGHUP: asked to stop, a run ends in order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rolewall.errors import Interrupted

__all__ = ["SIGNALS", "SPARED", "Interruption"]

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SPARED = 2
"""Which signal is only noted: what ends in order has deadlines of its own. The next one
breaks that off too."""


class Interruption:
    """Whether the user asked to stop.

    Attributes:
        stopping: set by the first signal, for all threads to see.
        broken_off: the user did not wait for an orderly end.
    """

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.broken_off = False
        self._abrupt = False
        self._came = 0

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Note signals, when this is the main thread, and leave it to the block to look.
        All beyond ``SPARED`` interrupt it as Ctrl-C does.

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
        self._came += 1
        self.stopping.set()
        self.broken_off = self._came > SPARED
        if self._abrupt or self.broken_off:
            self._abrupt = False
            raise KeyboardInterrupt
