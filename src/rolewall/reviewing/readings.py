"""The lines of a text as numbers, once for each prefix that tools may have put before them.

Before each line of a run a tool may have put one prefix, the same for all of them: nothing; or
blanks, an ``L`` or none, a number, and a tab, ``→``, ``|``, ``│`` or ``:``; behind the last three
one blank or none. The numbers count up by one. The signs of a diff are none of these: they
belong to the diff as a form. All else of a line, its indentation too, is the line. A carriage
return at its end is a terminal's where the change has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rolewall.reviewing.wanted import Wanted, place_of

__all__ = ["AROUND", "readings"]

AROUND = 10  # lines of a tool's own before and behind what it shows
UNKNOWN = -1
NUMBERED = re.compile(r"[ \t]*L?([0-9]{1,9})([\t→|│:])(.*)", re.S)
INDEX = re.compile(r"index [0-9a-f]+\.\.[0-9a-f]+( [0-7]{6})?")
NO_NEWLINE = "\\ No newline at end of file"
LEFT_OUT = re.compile(r"^\[[0-9]+ of [0-9]+ bytes left out\]$", re.M)


def readings(text: str, wanted: Wanted) -> Iterator[list[int]]:
    """Of each reading the numbers of ``wanted``, -1 for what is no line of the change. What a
    chat agent has cut in the middle is read as two."""
    if not wanted.returns:
        text = text.replace("\r\n", "\n")
    for part in LEFT_OUT.split(text):
        lines = part.split("\n")
        plain = [_number(line, wanted.ids) for line in lines if not _unsaid(line)]
        if any(number >= 0 for number in plain):
            yield plain
        yield from _numbered(lines, wanted.ids)


def _number(line: str, ids: Mapping[str, int]) -> int:
    found = ids.get(line, UNKNOWN)
    if found < 0 and line.startswith("@@ -"):
        return ids.get(place_of(line), UNKNOWN)
    return found


def _unsaid(line: str) -> bool:
    """Lines of a diff that say nothing by themselves, and differ with git's settings."""
    return line == NO_NEWLINE or (line.startswith("index ") and INDEX.fullmatch(line) is not None)


def _numbered(lines: Sequence[str], ids: Mapping[str, int]) -> Iterator[list[int]]:
    found: dict[str, list[int]] = {}
    before: dict[str, tuple[int, int]] = {}  # where the last one stands, and its number
    for at, line in enumerate(lines):
        parts = NUMBERED.match(line)
        if parts is None:
            continue
        number = int(parts[1])
        for prefix, rest in _rests(parts[2], parts[3]):
            read = found.setdefault(prefix, [])
            was, count = before.get(prefix, (-1, number - 1))
            read += _missing(at - was - 1, number != count + 1)
            if not _unsaid(rest):
                read.append(_number(rest, ids))
            before[prefix] = at, number
    for prefix, read in found.items():
        if any(number >= 0 for number in read):
            yield [*read, *_missing(len(lines) - before[prefix][0] - 1, False)]


def _missing(lines: int, jumps: bool) -> list[int]:
    """What stands between two numbered lines, as far as it matters how much that is."""
    return [UNKNOWN] * max(min(lines, AROUND + 1), int(jumps))


def _rests(sign: str, text: str) -> Iterator[tuple[str, str]]:
    yield sign, text
    if sign not in "\t→" and text[:1] in ("", " "):
        yield f"{sign} ", text[1:]
