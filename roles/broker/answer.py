"""What a call of a tool comes to, as whoever asked is told."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["MAX_RESULT", "Answer", "Origin", "Ran", "Refused"]

MAX_RESULT = 1 << 20
"""Bytes of one result; of more, the answer says that it is cut."""

Origin = Literal["live", "cached", "failed"]


@dataclass(frozen=True)
class Ran:
    """A tool that was run. ``raw`` are the bytes that it gave, and ``result`` the same as a
    value of JSON; ``why`` says what was wrong, and is empty where nothing was. ``steered``: what
    answered had been called before in the same phase, and may answer as it was told to."""

    started: float
    ended: float
    result: Any = None
    raw: bytes = b""
    truncated: bool = False
    why: str = ""
    steered: bool = False

    @property
    def ok(self) -> bool:
        return not self.why


class Refused(Exception):
    """A call that no tool was run for. ``word`` says why, in one of: tool, role, arguments,
    held, room, over; ``conditions`` are those that hold the tool."""

    def __init__(self, word: str, message: str, conditions: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.word = word
        self.message = message
        self.conditions = conditions


@dataclass(frozen=True)
class Answer:
    """The one answer of a call.

    Attributes:
        origin: ``live``: got for this call; ``cached``: got for another, and still fresh;
            ``failed``: not got.
        time: when it was got, or tried, in seconds since the epoch.
        fresh_until: until when the tool's owner calls it fresh; None for what was not got.
        asked_by: the phase for which it was got.
        raw: the bytes that the tool gave.
        why: what was wrong; empty where nothing was.
        refused: of a call that no tool was run for: why, in a word; else empty.
        conditions: those that hold the tool.
    """

    origin: Origin
    time: float
    asked_by: str
    fresh_until: float | None = None
    result: Any = None
    raw: bytes = b""
    truncated: bool = False
    why: str = ""
    refused: str = ""
    conditions: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.origin != "failed"

    @property
    def digest(self) -> str | None:
        """The SHA-256 of what the tool gave; None where it gave nothing."""
        return hashlib.sha256(self.raw).hexdigest() if self.ok else None

    def told(self) -> dict[str, Any]:
        """As it is said to whoever asked."""
        return {
            "ok": self.ok,
            "origin": self.origin,
            "time": self.time,
            "fresh_until": self.fresh_until,
            "asked_by": self.asked_by,
            "result": self.result,
            "truncated": self.truncated,
            "why": self.why,
            "refused": self.refused,
            "conditions": list(self.conditions),
        }

    def text(self) -> str:
        """One line of JSON."""
        return json.dumps(self.told(), ensure_ascii=False)
