"""One small change of one file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Edit", "lines_of", "raw", "shifted", "short", "short_lines"]

_MOST_LINE = 2000
_NUMBER = re.compile(r"-?\d+")
_MOST_DIGITS = 18  # a longer one is no count that anybody is off by one in
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Edit:
    """``new`` in place of the bytes ``start`` to ``end``.

    Attributes:
        fault: the kind of fault, one word of those that ``docs/calibrate.md`` lists.
        line: where it begins, from 1.
        what: what was done, on one line, without the place.
    """

    fault: str
    line: int
    what: str
    start: int
    end: int
    new: bytes

    def on(self, data: bytes) -> bytes:
        return data[: self.start] + self.new + data[self.end :]


def lines_of(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Each line with its number, from 1, and its offset; the line's end belongs to it."""
    offset = 0
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        yield number, offset, line
        offset += len(line)


def short_lines(data: bytes) -> Iterator[tuple[int, int, str]]:
    """The same as text, without lines so long that a pattern could be long at them. ``raw``
    gives the bytes of such text back, also where they are not UTF-8."""
    for number, offset, line in lines_of(data):
        if len(line) <= _MOST_LINE:
            yield number, offset, line.decode("utf-8", "surrogateescape")


def raw(text: str) -> bytes:
    """The bytes of a part of a line of ``short_lines``."""
    return text.encode("utf-8", "surrogateescape")


def short(text: str) -> str:
    """``text`` on one line, cut to what a report shows."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def shifted(text: str, by: int) -> str | None:
    """``text`` with its last whole number changed by ``by``; None without one, and where
    it is too long to be counted with.

    Leading zeros stay: ``08`` becomes ``09``, as a version or a date would have it.
    """
    found = list(_NUMBER.finditer(text))
    if not found:
        return None
    last = found[-1]
    digits = last[0].lstrip("-")
    if len(digits) > _MOST_DIGITS:
        return None
    # In 2024-05 and 10-20 the sign is a dash between two numbers.
    dash = last[0].startswith("-") and last.start() > 0 and text[last.start() - 1].isalnum()
    number = int(digits if dash else last[0]) + by
    if dash and number < 0:
        return None
    sign = "-" if dash or number < 0 else ""
    return f"{text[: last.start()]}{sign}{abs(number):0{len(digits)}d}{text[last.end() :]}"
