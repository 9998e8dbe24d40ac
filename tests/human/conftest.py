"""A person at a terminal, played by a test: keys go in, and what is shown comes out."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

DEADLINE = 60.0
Command = tuple[object, ...]


class Person:
    """Somebody who runs ``rolewall`` at a terminal of 30 rows and 100 columns.

    Attributes:
        seen: all that the terminal was told to show.
    """

    def __init__(self, arguments: Command, cwd: Path, **more: Any) -> None:
        self.seen = b""
        self._from = 0
        self._outer, self._inner = pty.openpty()
        self.resize(30, 100)
        self._before = termios.tcgetattr(self._inner)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rolewall", *map(str, arguments)],
            stdin=self._inner,
            stdout=self._inner,
            stderr=self._inner,
            cwd=cwd,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
            **more,
        )

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._outer, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def types(self, text: str | bytes) -> None:
        os.write(self._outer, text.encode() if isinstance(text, str) else text)

    def sees(self, text: str | bytes) -> bytes:
        """Wait for ``text``, beyond what was waited for before; what was shown until then."""
        wanted = text.encode() if isinstance(text, str) else text
        until = time.monotonic() + DEADLINE
        while (found := self.seen.find(wanted, self._from)) < 0:
            if not self._reads(until - time.monotonic()):
                raise AssertionError(f"{wanted!r} was not shown, but {self.seen[self._from :]!r}")
        shown = self.seen[self._from : found]
        self._from = found + len(wanted)
        return shown

    def does(self, *lines: str) -> None:
        """Type commands, one after the other, each when the shell is ready for it."""
        for line in lines:
            self.sees("$ ")
            self.types(f"{line}\r")

    def ends(self) -> int:
        """Wait for the end of the command; its exit code."""
        until = time.monotonic() + DEADLINE
        while self.process.poll() is None and time.monotonic() < until:
            self._reads(0.1)
        while self._reads(0):
            pass
        return self.process.wait(1)

    @property
    def restored(self) -> bool:
        """Whether the terminal is as it was before."""
        return termios.tcgetattr(self._inner) == self._before

    def _reads(self, seconds: float) -> bool:
        if not select.select([self._outer], [], [], max(0.0, seconds))[0]:
            return False
        with suppress(OSError):
            data = os.read(self._outer, 65536)
            self.seen += data
            return bool(data)
        return False

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        os.close(self._outer)
        os.close(self._inner)


Sit = Callable[..., Person]


@pytest.fixture
def sit(tmp_path: Path) -> Iterator[Sit]:
    people: list[Person] = []

    def sit_down(*arguments: object, **more: Any) -> Person:
        people.append(Person(arguments, tmp_path, **more))
        return people[-1]

    yield sit_down
    for person in people:
        person.close()
