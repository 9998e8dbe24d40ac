"""What a person typed, written down once the box has said whether it was to be seen."""

from __future__ import annotations

import io
import time
from collections import deque
from collections.abc import Callable

from rolewall.roles.humanterminal import Size

__all__ = ["Typed"]

FAILED = b"x"
HIDDEN = ord("h")
MOST_WORDS = 300
_When = dict[str, float]


class Typed(io.RawIOBase):
    """A sink for the marks of ``rolewall-init pty``: one byte for each frame that was typed,
    and what was wrong where nothing was started.

    Args:
        called: told of each call of the session: ``keys``, ``hidden``, ``size``.
        shown: says how many bytes the terminal has shown.

    Attributes:
        failure: why nothing was started; empty where the shell was.
    """

    def __init__(
        self, called: Callable[[str, dict[str, object]], None], shown: Callable[[], int]
    ) -> None:
        self.failure = ""
        self._called = called
        self._shown = shown
        self._began = time.monotonic()
        self._waiting: deque[tuple[_When, bytes | Size]] = deque()

    def keys(self, data: bytes) -> None:
        """This is about to be typed."""
        self._waiting.append((self._now, data))

    def resized(self, size: Size) -> None:
        self._waiting.append((self._now, size))

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        marks = bytes(data)  # type: ignore[call-overload]
        if self.failure or marks[:1] == FAILED:
            words = self.failure + marks.removeprefix(FAILED).decode("utf-8", "replace")
            self.failure = words.strip()[:MOST_WORDS]
            return len(marks)
        for mark in marks:
            self.end()
            if self._waiting:
                self._typed(*self._waiting.popleft(), hidden=mark == HIDDEN)
        return len(marks)

    def end(self) -> None:
        """Write down what needs no mark: the sizes that come before the next keys."""
        while self._waiting and not isinstance(self._waiting[0][1], bytes):
            when, (rows, columns) = self._waiting.popleft()
            self._called("size", {**when, "rows": rows, "columns": columns})

    @property
    def _now(self) -> _When:
        at = round(time.monotonic() - self._began, 3)
        return {"at": at, "shown": self._shown()}

    def _typed(self, when: _When, keys: bytes | Size, *, hidden: bool) -> None:
        assert isinstance(keys, bytes)
        if hidden:
            self._called("hidden", {**when})
            return
        try:
            self._called("keys", {**when, "text": keys.decode()})
        except UnicodeDecodeError:
            self._called("keys", {**when, "hex": keys.hex()})
