"""The terminal of the person who plays a role: what is typed there, and what it shows."""

from __future__ import annotations

import io
import os
import select
import struct
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Self

from rolewall.errors import InputError
from rolewall.roles.humanshown import ScreenFilter

__all__ = ["Keys", "Screen", "Size", "frame_keys", "frame_size", "require_terminal"]

Size = tuple[int, int]
LOOK_SECONDS = 0.2  # how often the window's size is looked at
STUCK_SECONDS = 1.0  # what a screen does not take for so long, it is not shown
MOST_KEYS = 1024
PLAIN: Size = (24, 80)
JOIN_SECONDS = 5.0


def require_terminal(place: str) -> None:
    """Raises InputError where nobody can type to this process, or see what it shows."""
    for stream, name in ((sys.__stdin__, "input"), (sys.__stdout__, "output")):
        with suppress(OSError, ValueError):
            if stream is not None and stream.isatty():
                continue
        raise InputError(
            "a person plays a role, and needs a terminal",
            place=place,
            got=f"a standard {name} that is none",
            hint="run it from a terminal, without a pipe",
        )


def frame_keys(data: bytes) -> bytes:
    """For ``rolewall-init pty``: ``data`` is typed."""
    return b"I" + struct.pack("<H", len(data)) + data


def frame_size(size: Size) -> bytes:
    """For ``rolewall-init pty``: the window has another size, in rows and columns."""
    return b"W" + struct.pack("<HHH", 4, *size)


class Keys:
    """Reads the person's keys, raw, while it is entered, and hands frames on to a pipe.

    Ctrl-C and the like are keys as all others: they are for the shell in the box.

    Args:
        typed: called with what was read, before it is handed on.
        resized: called with a new size of the window, before it is handed on.

    Attributes:
        reader: the end of the pipe that has the frames. When the terminal is gone, so is
            the other end.
    """

    def __init__(self, typed: Callable[[bytes], None], resized: Callable[[Size], None]) -> None:
        self._terminal = sys.__stdin__.fileno() if sys.__stdin__ else 0
        self._typed = typed
        self._resized = resized
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="rolewall-keys", daemon=True)
        self.size = _size(self._terminal) or PLAIN
        self.reader, self._writer = os.pipe2(os.O_CLOEXEC)

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._terminal)
        try:
            tty.setraw(self._terminal)
            self._thread.start()
        except BaseException:
            self._restore()
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        self._stop.set()
        os.close(self.reader)  # whoever waits to write there waits no more
        self._thread.join(JOIN_SECONDS)
        self._restore()

    def _restore(self) -> None:
        """As it was; what was typed and not read, or sent by the terminal itself as the
        answer to a question from the box, must not become a command of the user's shell."""
        with suppress(termios.error):
            termios.tcsetattr(self._terminal, termios.TCSAFLUSH, self._before)

    def _serve(self) -> None:
        with suppress(OSError, termios.error):
            while not self._stop.is_set():
                self._look()
                ready, _, _ = select.select([self._terminal], [], [], LOOK_SECONDS)
                if not ready or self._stop.is_set():
                    continue
                data = os.read(self._terminal, MOST_KEYS)
                if not data:
                    break
                self._typed(data)
                self._send(frame_keys(data))
        os.close(self._writer)

    def _look(self) -> None:
        size = _size(self._terminal)
        if size and size != self.size:
            self.size = size
            self._resized(size)
            self._send(frame_size(size))

    def _send(self, frame: bytes) -> None:
        while frame:
            frame = frame[os.write(self._writer, frame) :]


class Screen(io.RawIOBase):
    """A sink that writes to the transcript, whole up to ``limit`` bytes, and to the person's
    screen without control strings.

    Attributes:
        cut: whether the transcript has not all of it.
        size: how many bytes there were.
    """

    def __init__(self, transcript: IO[bytes], limit: int) -> None:
        self.cut = False
        self.size = 0
        self._transcript = transcript
        self._left = limit
        self._filter = ScreenFilter()
        self._screen = _own(sys.__stdout__.fileno() if sys.__stdout__ else 1)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        """Of the screen: while it is behind, the command waits."""
        return self._screen

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        kept = piece[: max(0, self._left)]
        self._left -= len(kept)
        self.size += len(piece)
        self.cut = self.cut or len(kept) < len(piece)
        self._transcript.write(kept)
        self._transcript.flush()
        self.show(self._filter(piece))
        return len(piece)

    def show(self, data: bytes) -> None:
        """Show what the harness has to say itself, or what was found harmless."""
        until = time.monotonic() + STUCK_SECONDS
        with suppress(OSError):  # a screen that is gone shows nothing
            while data and (left := until - time.monotonic()) > 0:
                if select.select([], [self._screen], [], left)[1]:
                    with suppress(BlockingIOError):
                        data = data[os.write(self._screen, data[: select.PIPE_BUF]) :]

    def close(self) -> None:
        if not self.closed:
            self.show(self._filter.end())
            os.close(self._screen)
        super().close()


def _own(terminal: int) -> int:
    """The same terminal, opened anew where that is possible: made non-blocking it is so for
    nobody else."""
    with suppress(OSError):
        return os.open(os.ttyname(terminal), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    return os.dup(terminal)


def _size(terminal: int) -> Size | None:
    with suppress(OSError):
        found = os.get_terminal_size(terminal)
        if found.lines and found.columns:
            return min(found.lines, 0xFFFF), min(found.columns, 0xFFFF)
    return None
