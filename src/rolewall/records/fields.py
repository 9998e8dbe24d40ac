"""The fields of a record that a table may hold, and what their texts mean."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from rolewall.rows import alike

__all__ = ["FIELDS", "NAMES", "OUTCOMES", "REQUIRED", "WEIGHTY", "NotAccepted", "Parse"]

REQUIRED = ("task", "verdict", "grade")
NAMES = ("task", "condition", "team", "verifier", "model", "backend")
OUTCOMES = ("verdict", "grade", "error", "score", "attempts", "edits", "landed")
"""What came of an episode: records may not be chosen by it."""

WEIGHTY = ("error", "trust")
"""Fields that take a record out of the evidence: a column of theirs is never passed over."""

LONGEST_NAME = 1000
LONGEST_REASON = 200
LONGEST_COUNT = 18  # digits: what 64 bits hold

_COUNT = re.compile(r"\d+(?:\.0+)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)

Parse = Callable[[str], Any]


class NotAccepted(ValueError):
    """A text that a field does not take. ``expected`` says what it does take."""

    def __init__(self, expected: str, *, words: bool = False) -> None:
        super().__init__(expected)
        self.expected = expected
        self.words = words


def _one_of(words: Mapping[str, object]) -> Parse:
    *most, last = words
    expected = f"{', '.join(most)} or {last}"

    def parse(text: str) -> object:
        try:
            return words[text]
        except KeyError:
            raise NotAccepted(expected, words=True) from None

    return parse


def _name(text: str) -> str:
    if len(text) > LONGEST_NAME:
        raise NotAccepted(f"at most {LONGEST_NAME} characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotAccepted("text without half of a surrogate pair") from None
    if not alike(text):
        raise NotAccepted("a name of which something is shown")
    return text


def _reason(text: str) -> str:
    """What went wrong: a message of any length, of which the first line tells enough."""
    lines = [line for line in text.strip().splitlines() if alike(line)] or ["error"]
    return _name(lines[0][:LONGEST_REASON])


def _count(text: str) -> int:
    # A column of whole numbers with a gap in it is written with ".0" by many tools.
    whole = text.partition(".")[0]
    if not _COUNT.fullmatch(text) or len(whole) > LONGEST_COUNT:
        raise NotAccepted("a whole number, 0 or more")
    return int(whole)


def _number(text: str) -> float:
    number = float(text) if _NUMBER.fullmatch(text) and len(text) < 100 else math.nan
    if not math.isfinite(number):
        raise NotAccepted("a number")
    return number


def _seconds(text: str) -> float:
    number = _number(text)
    if number < 0:
        raise NotAccepted("a number, 0 or more")
    return number


_YES_NO = _one_of({"yes": True, "no": False, "true": True, "false": False})

FIELDS: Mapping[str, Parse] = {
    "task": _name,
    "verdict": _one_of({word: word for word in ("approve", "reject", "missing")}),
    "grade": _one_of({word: word for word in ("pass", "fail", "error")}),
    "condition": _name,
    "trial": _count,
    "error": _reason,
    "team": _name,
    "verifier": _name,
    "model": _name,
    "backend": _name,
    "trust": _one_of({word: word for word in ("outside", "in-process", "untrusted")}),
    "isolated": _YES_NO,
    "verified": _YES_NO,
    "attempts": _count,
    "edits": _count,
    "landed": _count,
    "score": _number,
    "seconds": _seconds,
}
"""Each parses a text that is not empty; an empty one is not known, in every field."""
