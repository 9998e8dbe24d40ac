"""Where lines of a text stand in a row as in a form of the change."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rolewall.reviewing.readings import AROUND
from rolewall.reviewing.wanted import FEW, Form

__all__ = ["Run", "Steps", "Tired", "runs"]

ENOUGH = 40  # characters of a run that are no blanks
CHOICES = 8  # places that a run is tried at, of those behind the last one and of all


class Tired(Exception):
    """More was compared than is compared for one review."""


class Steps:
    """How much may still be compared."""

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self, number: int) -> None:
        """Raises Tired."""
        self._left -= number
        if self._left < 0:
            raise Tired


class Run(NamedTuple):
    """From the place ``begin`` of a form to its ``end``, both of it. ``first``: the text begins
    with it, the tool's own words aside; ``last``: it ends so."""

    begin: int
    end: int
    first: bool
    last: bool


def runs(form: Form, read: Sequence[int], steps: Steps) -> Iterator[Run]:
    """The runs that count, one for each stretch of a text: the longest that can be had.

    It takes time in proportion to ``read``: no more than some places are tried, and what is
    passed is not gone back over but once. Raises Tired.
    """
    at, floor, last, size = 0, 0, -1, len(read)
    while at < size:
        best, length, back = -1, 0, 0
        for place in _places(form, read, at, last) if read[at] >= 0 else ():
            ahead = _length(form.lines, place, read, at)
            behind = _back(form.lines, place, read, at, floor)
            steps.take(ahead + behind)
            if ahead + behind > length + back:
                best, length, back = place, ahead, behind
        if not length:
            at += 1
            continue
        begin, last = best - back, best + length - 1
        if _counts(form, begin, last):
            yield Run(begin, last, at - back <= AROUND, size - at - length <= AROUND)
        at, floor = at + length, at - back


def _counts(form: Form, begin: int, end: int) -> bool:
    # It has lines enough, since it was found by so many.
    named = end > begin and form.names[end + 1] > form.names[begin]
    return named or form.chars[end + 1] - form.chars[begin] >= ENOUGH


def _places(form: Form, read: Sequence[int], at: int, last: int) -> Iterator[int]:
    """Where a run may begin: first behind the last one, since files are read downwards."""
    for few in range(FEW, 0, -1):
        found = form.grams.get(tuple(read[at : at + few]))
        if found:
            behind = bisect_right(found, last)
            yield from found[behind : behind + CHOICES]
            yield from found[: min(behind, CHOICES)]


def _length(lines: Sequence[int], place: int, read: Sequence[int], at: int) -> int:
    length, most = 0, len(read) - at
    while length < most and lines[place + length] == read[at + length]:
        length += 1
    return length


def _back(lines: Sequence[int], place: int, read: Sequence[int], at: int, floor: int) -> int:
    back, most = 0, min(place, at - floor)
    while back < most and lines[place - back - 1] == read[at - back - 1]:
        back += 1
    return back
