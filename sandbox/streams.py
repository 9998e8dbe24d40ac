"""A command's streams while it runs: output kept head and tail, input fed."""

from __future__ import annotations

import array
import fcntl
import os
import select
import selectors
import termios
import threading
from contextlib import suppress
from typing import IO

from rolewall.errors import StorageError
from rolewall.sandbox.guard import start_thread
from rolewall.sandbox.outlet import Outlet
from rolewall.sandbox.protocol import Output

__all__ = ["Collector", "Feeder", "Forwarder", "register"]

CHUNK = 64 * 1024
# Only somebody else who takes the same input can keep a forwarder longer.
JOIN_SECONDS = 1.0


class Collector:
    """Reads one pipe. Keeps the first and the last half of ``limit`` bytes, and
    hands everything up to ``sink_limit`` bytes to ``sink``, as it comes. While the
    reader of a sink is behind, nothing is read: so the command waits, and nobody else.

    A sink that fails gets nothing more; ``trouble`` is then its error, for
    whoever runs the command to end it and raise.
    """

    def __init__(self, descriptor: int, limit: int, sink: IO[bytes] | None, sink_limit: int):
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self.open = True
        self.trouble: StorageError | None = None
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0
        self._sink = sink
        self._sink_left = sink_limit
        self._sink_truncated = False
        self._outlet = Outlet(sink)
        self._behind = False

    @property
    def awaits(self) -> tuple[int, int]:
        """What to wait for before the next ``read``: a descriptor and a selector's event."""
        if self._behind:
            return self._outlet.descriptor, selectors.EVENT_WRITE
        return self.descriptor, selectors.EVENT_READ

    def read(self, most: int = CHUNK) -> bool:
        """Take what is there, ``most`` bytes at most; False when there was nothing, or the
        sink's reader is behind."""
        most = min(most, self._outlet.room()) if self._hands_on else most
        self._behind = most == 0
        if self._behind:
            return False
        try:
            data = os.read(self.descriptor, most)
        except BlockingIOError:
            return False
        if not data:
            self.close()
            return False
        self.add(data)
        return True

    def drain(self, until: float) -> bool:
        """Take all that is there, of whoever still writes no more than that.

        The sink's reader is waited for ``until`` then, by the monotonic clock. What it
        has no room for is only kept and counted: False then.
        """
        left, kept_up = self._waiting(), True
        while left > 0 and self.open:
            if self._hands_on and not self._outlet.wait(until):
                self._sink_left, kept_up = 0, False
            before = self._size
            if not self.read(min(left, CHUNK)) and not self._behind:
                break
            left -= self._size - before
        return kept_up

    def _waiting(self) -> int:
        """Bytes in the pipe."""
        count = array.array("i", [0])
        if self.open:
            fcntl.ioctl(self.descriptor, termios.FIONREAD, count)
        return count[0]

    def add(self, data: bytes) -> None:
        """Take ``data`` as if the command had written it."""
        self._size += len(data)
        self._hand_on(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self._half + CHUNK:
            del self._tail[: len(self._tail) - self._half]

    @property
    def _hands_on(self) -> bool:
        return self._sink is not None and self.trouble is None and self._sink_left > 0

    def _hand_on(self, data: bytes) -> None:
        if self._sink is None or self.trouble:
            return
        self._sink_truncated = self._sink_truncated or len(data) > self._sink_left
        if self._sink_left <= 0:
            return
        try:
            self._sink.write(data[: self._sink_left])
            self._sink.flush()
        except (OSError, ValueError) as error:  # ValueError: the sink was closed
            name = getattr(self._sink, "name", None)
            self.trouble = StorageError(
                f"a command's output cannot be handed on: {getattr(error, 'strerror', error)}",
                place=name if isinstance(name, str) else None,
            )
            self.trouble.__cause__ = error
        self._sink_left -= len(data)

    def close(self) -> None:
        if self.open:
            self.open = False
            self._outlet.close()
            os.close(self.descriptor)

    def output(self) -> Output:
        kept = self._tail[-self._half :] if self._half else b""
        data = bytes(self._head + kept)
        return Output(data, self._size, len(data) < self._size, self._sink_truncated)


class Feeder:
    """Writes a command's standard input without waiting for it."""

    def __init__(self, descriptor: int, data: bytes) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self.open = True
        self._left = memoryview(data)
        if not data:
            self.close()

    @property
    def awaits(self) -> tuple[int, int]:
        return self.descriptor, selectors.EVENT_WRITE

    def write(self) -> None:
        try:
            self._left = self._left[os.write(self.descriptor, self._left[:CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # the command does not read its input
            self.close()
            return
        if not self._left:
            self.close()

    def close(self) -> None:
        if self.open:
            self.open = False
            os.close(self.descriptor)


class Forwarder:
    """Copies a descriptor of the harness's, such as its standard input, to a
    command's. A thread of its own: the source may be a terminal or a file, which
    no selector waits for.

    After ``close`` nothing more is taken from the source: what comes later is
    the next command's. The source's own flags are never changed, since others
    may share it.
    """

    def __init__(self, descriptor: int, source: int) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self.open = True
        self._lock = threading.Lock()
        self._woken, self._wake = os.pipe2(os.O_CLOEXEC)
        try:
            self._thread = start_thread(self._copy, source)
        except BaseException:
            os.close(self._wake)
            os.close(self._woken)
            raise

    def _copy(self, source: int) -> None:
        with suppress(OSError):
            while self._wait(source, select.POLLIN) and (data := os.read(source, CHUNK)):
                while data and self._wait(self.descriptor, select.POLLOUT):
                    data = data[self._write(data) :]
        self._end()
        os.close(self._woken)

    def _wait(self, descriptor: int, event: int) -> bool:
        """Wait until ``descriptor`` is ready or broken; False when closed meanwhile."""
        poller = select.poll()
        poller.register(self._woken, 0)  # its other end's closing is always reported
        poller.register(descriptor, event)
        return self._woken not in dict(poller.poll())

    def _write(self, data: bytes) -> int:
        with self._lock:
            if not self.open:
                raise BrokenPipeError
            try:
                return os.write(self.descriptor, data)
            except BlockingIOError:
                return 0

    def _end(self) -> None:
        with self._lock:
            if self.open:
                self.open = False
                os.close(self.descriptor)

    def close(self) -> None:
        """Stop copying and wait for the thread. Safe to call twice."""
        if self._wake >= 0:
            os.close(self._wake)
            self._wake = -1
        self._thread.join(JOIN_SECONDS)
        self._end()


def register(selector: selectors.BaseSelector, one: Collector | Feeder | Forwarder) -> None:
    if one.open and not isinstance(one, Forwarder):
        selector.register(*one.awaits, one)
