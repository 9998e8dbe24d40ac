"""How much a sink takes without making its writer wait."""

from __future__ import annotations

import array
import fcntl
import math
import os
import select
import stat
import termios
import time
from contextlib import suppress
from typing import IO

__all__ = ["Outlet"]

PLENTY = 64 * 1024
LONG = 1_000_000.0  # seconds; ``poll`` cannot count many more


class Outlet:
    """A sink that may be a pipe, a socket or a terminal, whose reader may be slow.

    Whoever serves a command must not wait for such a reader: the command's limits
    would wait too.

    Attributes:
        descriptor: of its own, for ``select`` to wait for room; -1 for a sink that
            never makes anybody wait, or that has no descriptor.
    """

    def __init__(self, sink: IO[bytes] | None) -> None:
        self.descriptor = -1
        self._poll = select.poll()
        with suppress(OSError, ValueError, AttributeError):  # no descriptor, or closed
            number = sink.fileno() if sink is not None else -1
            if number >= 0 and not stat.S_ISREG(os.fstat(number).st_mode):
                self.descriptor = os.dup(number)
                self._poll.register(self.descriptor, select.POLLOUT)

    def room(self) -> int:
        """Bytes that can be written at once; 0 when the reader is behind."""
        if self.descriptor < 0:
            return PLENTY
        if not self._poll.poll(0):
            return 0
        # A pipe with room for any takes this much; one that is empty, all it can hold.
        return PLENTY if self._empty() else select.PIPE_BUF

    def wait(self, until: float) -> bool:
        """Wait for room ``until`` then, by the monotonic clock; whether there is any."""
        if self.descriptor < 0:
            return True
        left = min(until - time.monotonic(), LONG)
        return bool(self._poll.poll(max(0, math.ceil(left * 1000)))) or left == LONG

    def _empty(self) -> bool:
        waiting = array.array("i", [-1])
        with suppress(OSError):
            if fcntl.fcntl(self.descriptor, fcntl.F_GETPIPE_SZ) >= PLENTY:
                fcntl.ioctl(self.descriptor, termios.FIONREAD, waiting)
        return waiting[0] == 0

    def close(self) -> None:
        """Safe to call twice."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
