"""Reading single values of a grader's mapping, each refused with its place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from rolewall.errors import TaskError

__all__ = ["command", "mapping", "only_keys", "relative", "texts"]


def mapping(data: object, place: str) -> Mapping[str, object]:
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise TaskError("not a mapping", place=place, got=data, expected="a mapping with names")
    return data


def only_keys(body: Mapping[str, object], known: set[str], place: str) -> None:
    unknown = sorted(set(body) - known)
    if unknown:
        raise TaskError(
            "unknown key", place=f"{place}.{unknown[0]}", expected=f"one of {sorted(known)}"
        )


def texts(value: object, place: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise TaskError("not a list with something in it", place=place, got=value)
    for item in value:
        if not isinstance(item, str) or not item or "\0" in item:
            raise TaskError("not a text", place=place, got=item, expected="a text")
    if len(set(value)) != len(value) and not place.endswith(".run"):
        raise TaskError("named twice", place=place, got=value)
    return tuple(value)


def command(value: object, place: str) -> tuple[str, ...]:
    if isinstance(value, str):
        raise TaskError(
            "a command is a list",
            place=place,
            got=value,
            expected="such as [python3, /grader/check.py]",
        )
    return texts(value, place)


def relative(value: object, place: str) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise TaskError("not a path", place=place, got=value, expected="a path below grader/")
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or str(path) != value or value == ".":
        raise TaskError("not a plain path", place=place, got=value, expected="a path below grader/")
    return value
