"""A command's output while it runs: head and tail kept, everything counted."""

from __future__ import annotations

import os
import selectors
import threading
from collections import deque
from contextlib import suppress
from typing import IO

from rolewall.sandbox.protocol import Output

__all__ = ["Collector", "Feeder", "Forwarder", "register"]

CHUNK = 64 * 1024


class Collector:
    """Reads one pipe. Keeps the first and the last half of ``limit`` bytes, and
    hands everything up to ``sink_limit`` bytes to ``sink``."""

    def __init__(self, descriptor: int, limit: int, sink: IO[bytes] | None, sink_limit: int):
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self.open = True
        self._half = limit // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._size = 0
        self._sink = sink
        self._sink_left = sink_limit

    def read(self) -> bool:
        """Take what is there; False when there was nothing."""
        try:
            data = os.read(self.descriptor, CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self.close()
            return False
        self._add(data)
        return True

    def _add(self, data: bytes) -> None:
        self._size += len(data)
        if self._sink and self._sink_left > 0:
            self._sink.write(data[: self._sink_left])
            self._sink_left -= len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail.append(data)
            self._tail_size += len(data)
            while self._tail_size - len(self._tail[0]) >= self._half:
                self._tail_size -= len(self._tail.popleft())

    def close(self) -> None:
        if self.open:
            self.open = False
            os.close(self.descriptor)

    def output(self) -> Output:
        kept = b"".join(self._tail)
        kept = kept[-self._half :] if self._half else b""
        data = bytes(self._head) + kept
        return Output(data, self._size, truncated=len(data) < self._size)


class Feeder:
    """Writes a command's standard input without waiting for it."""

    def __init__(self, descriptor: int, data: bytes) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self.open = True
        self._left = memoryview(data)
        if not data:
            self.close()

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
    no selector waits for."""

    def __init__(self, descriptor: int, source: int) -> None:
        self.descriptor = descriptor
        self.open = True
        self._lock = threading.Lock()
        threading.Thread(target=self._copy, args=(source,), daemon=True).start()

    def _copy(self, source: int) -> None:
        with suppress(OSError):
            while data := os.read(source, CHUNK):
                while data:
                    data = data[os.write(self.descriptor, data) :]
        self.close()

    def close(self) -> None:
        with self._lock:
            if self.open:
                self.open = False
                os.close(self.descriptor)


def register(selector: selectors.BaseSelector, one: Collector | Feeder | Forwarder) -> None:
    if one.open and not isinstance(one, Forwarder):
        event = selectors.EVENT_READ if isinstance(one, Collector) else selectors.EVENT_WRITE
        selector.register(one.descriptor, event, one)
