"""The attempt: a system call by a role that would change something, or look at the hidden."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from rolewall.errors import RecordError

__all__ = ["Attempt", "Effect", "Kind", "Observe", "Outcome"]

Observe = Literal["changes", "reads"]
"""What the tap sees: calls that would change something, or opens for reading as well."""


class Kind(StrEnum):
    """What an attempt was aimed at.

    ``edit`` is a cross-role edit, ``incidental`` a blocked cache write or a call
    that cannot change anything in another's zone; ``own`` stays in the role's own
    and private zones, ``outside`` is no zone at all, ``privileged`` would change
    the box itself. A ``peek`` is an open for reading, or an execution, of what is
    hidden from the role; it is known where reads are observed. ``forbidden`` is what an
    open condition forbids the role in a zone of its own, or to look at; in another's zone
    a change stays an ``edit``, and ``why`` names the condition.
    """

    EDIT = "edit"
    INCIDENTAL = "incidental"
    OWN = "own"
    OUTSIDE = "outside"
    PRIVILEGED = "privileged"
    PEEK = "peek"
    FORBIDDEN = "forbidden"


class Outcome(StrEnum):
    """What became of it, as far as mounts and mode bits tell."""

    BLOCKED = "blocked"
    ALLOWED = "allowed"
    DENIED = "denied-by-tap"
    UNKNOWN = "unknown"


class Effect(StrEnum):
    """What the call would do.

    ``write`` needs an existing file, ``create`` a free name; ``create-write``
    works with either, and ``create-unnamed`` needs a directory. ``read`` and
    ``exec`` change nothing.
    """

    CREATE = "create"
    WRITE = "write"
    CREATE_WRITE = "create-write"
    CREATE_UNNAMED = "create-unnamed"
    TRUNCATE = "truncate"
    RENAME = "rename"
    LINK = "link"
    UNLINK = "unlink"
    MODE = "mode"
    OWNER = "owner"
    TIMES = "times"
    XATTR = "xattr"
    ATTR = "attr"
    EXEC = "exec"
    READ = "read"
    MOUNT = "mount"
    NAMESPACE = "namespace"
    FOREIGN = "foreign"
    PRIVILEGED = "privileged"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt, as it stands in the ledger.

    ``time`` is seconds since the epoch; ``pid`` is the process id inside the
    box. ``paths`` are canonical paths in the box, as ``escape`` and ``shorten``
    write them; empty where the call names no file or the path could not be read.
    ``zone`` and ``owner`` are empty where no zone is touched.
    """

    time: float
    role: str
    phase: int
    pid: int
    comm: str
    exe: str
    syscall: str
    effect: Effect
    paths: tuple[str, ...]
    flags: tuple[str, ...]
    zone: str
    owner: str
    kind: Kind
    outcome: Outcome
    why: str

    def to_line(self) -> dict[str, Any]:
        """The ledger line, without the chain's own fields."""
        return {"type": "attempt", **{key: getattr(self, key) for key in self.__slots__}}

    @classmethod
    def from_line(cls, line: Mapping[str, Any], *, place: str = "attempt") -> Attempt:
        """The attempt of a ledger line.

        Raises:
            RecordError: a key is missing or unknown, or a value has the wrong type.
        """
        values = {key: line[key] for key in line if key not in ("type", "seq", "prev")}
        expected = set(cls.__slots__)
        if set(values) != expected:
            odd = sorted(set(values) ^ expected)
            raise RecordError("keys missing or unknown", place=place, got=odd)
        try:
            return cls(**_typed(values))
        except (TypeError, ValueError, OverflowError) as error:
            raise RecordError(f"not an attempt: {error}", place=place) from None


def _typed(values: dict[str, Any]) -> dict[str, Any]:
    typed = dict(values)
    typed["time"] = _number(values["time"])
    for key in ("role", "comm", "exe", "syscall", "zone", "owner", "why"):
        _check(values[key], str, key)
    for key in ("phase", "pid"):
        _check(values[key], int, key)
    for key in ("paths", "flags"):
        _check(values[key], list, key)
        for item in values[key]:
            _check(item, str, key)
        typed[key] = tuple(values[key])
    typed["effect"] = Effect(values["effect"])
    typed["kind"] = Kind(values["kind"])
    typed["outcome"] = Outcome(values["outcome"])
    return typed


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("time is no number")
    if not math.isfinite(number := float(value)):
        raise ValueError("time is not finite")
    return number


def _check(value: object, kind: type, key: str) -> None:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{key} is no {kind.__name__}")
