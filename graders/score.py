"""Reading ``score.json`` out of a directory that the work could write."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolewall._files import load_json, read_beneath
from rolewall.errors import RolewallError

__all__ = ["Score", "ScoreError", "read_score"]

LIMIT = 1 << 20
PARTIAL_PLACES = (("secondary", "partial_score"), ("partial_score",), ("partial",), ("score",))


class ScoreError(Exception):
    """``score.json`` is absent or says nothing; the text says which."""


@dataclass(frozen=True)
class Score:
    """``partial`` is the first of ``secondary.partial_score``, ``partial_score``,
    ``partial``, ``score`` that is there; ``failure_modes`` may be empty in a fail."""

    passed: bool
    partial: float | None
    failure_modes: tuple[str, ...]


def read_score(reports: Path) -> Score:
    """Read ``reports/score.json``; call only when no process of the box lives.

    Raises:
        ScoreError: absent, a link, no regular file, too large, not JSON, or without
            a truth value under ``pass``.
    """
    data = _parse(_bytes(reports, "score.json"))
    passed = data.get("pass")
    if not isinstance(passed, bool):
        raise ScoreError(f"score.json: `pass` is {passed!r}, not true or false")
    return Score(passed, _partial(data), _failure_modes(data))


def _bytes(directory: Path, name: str) -> bytes:
    if not os.path.lexists(directory / name):
        raise ScoreError(f"the grader wrote no {name}")
    try:
        return read_beneath(directory, name, LIMIT)
    except RolewallError as error:
        raise ScoreError(str(error)) from None


def _parse(content: bytes) -> dict[str, Any]:
    try:
        data = load_json(content, "score.json")
    except RolewallError as error:
        raise ScoreError(str(error)) from None
    if not isinstance(data, dict):
        raise ScoreError("score.json is not an object")
    return data


def _partial(data: dict[str, Any]) -> float | None:
    for path in PARTIAL_PLACES:
        value: Any = data
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            return _number(value, ".".join(path))
    return None


def _number(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ScoreError(f"score.json: `{place}` is {value!r}, not a number")
    number = float(value) if abs(value) < 1e300 else math.inf
    if not math.isfinite(number):
        raise ScoreError(f"score.json: `{place}` is not a finite number")
    return number


def _failure_modes(data: dict[str, Any]) -> tuple[str, ...]:
    value = data.get("failure_modes")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(mode, str) for mode in value):
        raise ScoreError("score.json: `failure_modes` is not a list of texts")
    return tuple(value)
