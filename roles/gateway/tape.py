"""The recorded exchanges of a phase, to be given again in place of an endpoint's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from rolewall._files import load_json, open_regular
from rolewall.errors import RecordError
from rolewall.roles.gateway.admission import Asked
from rolewall.roles.gateway.exchange import MAX_FILE, MAX_LINE
from rolewall.roles.gateway.reply import NoAnswer, Reply, Withheld

__all__ = ["Tape", "read_tape"]

MAX_DEPTH = 220
_OF_A_SESSION = frozenset({"metadata", "client_metadata", "prompt_cache_key", "user",
                           "safety_identifier"})  # fmt: skip


@dataclass(frozen=True)
class _Taken:
    """One exchange that went out, as it was recorded."""

    path: str
    request: bytes
    status: int | None
    data: bytes
    streamed: bool
    seconds: float
    failed: str
    paid: bool
    withheld: bool


class Tape:
    """Gives each recorded answer once.

    An answer to the very same request comes first, so that agents that ask several things at
    once find their own; else the oldest that is left of that path is given, and counted as
    drifted.

    Attributes:
        drifted: how many were given to another request than the recorded one.
    """

    def __init__(self, exchanges: list[_Taken]) -> None:
        self._left = exchanges
        self.drifted = 0

    @asynccontextmanager
    async def ask(self, asked: Asked) -> AsyncIterator[Reply]:
        """Raises NoAnswer."""
        taken = self._take(asked)
        if taken is None:
            # A status that no program asks again for: a recording gets no further answer.
            raise NoAnswer("the recording has no further answer", 410, paid=False)
        if taken.status is None:
            raise _no_answer(taken)
        yield Reply(
            taken.status,
            taken.streamed,
            _once(taken.data),
            seconds=taken.seconds,
            failed=taken.failed,
            withheld=taken.withheld,
        )

    def _take(self, asked: Asked) -> _Taken | None:
        request = _same(json.loads(asked.payload))
        fitting = [one for one in self._left if one.path == asked.target.path]
        same = [one for one in fitting if one.request == request]
        if not fitting:
            return None
        found = (same or fitting)[0]
        self.drifted += not same
        self._left.remove(found)
        return found


def _no_answer(taken: _Taken) -> NoAnswer:
    why = taken.failed or "the recorded exchange has no answer"
    error = Withheld(why) if taken.withheld else NoAnswer(why)
    error.paid = taken.paid
    return error


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


def read_tape(path: Path, sha256: str) -> Tape:
    """The tape in a file of exchanges; what was refused then is no part of it.

    Raises:
        RecordError: it cannot be read, is none, or not the one with this digest.
    """
    found: list[tuple[int, _Taken]] = []
    try:
        with open(open_regular(path), "rb") as file:
            _check_digest(file, path, sha256)
            file.seek(0)
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), 1):
                _line(line, f"{path}:{number}", found)
    except OSError as error:
        raise RecordError(f"cannot read: {error.strerror}", place=str(path)) from error
    return Tape([taken for _, taken in sorted(found, key=lambda pair: pair[0])])


def _check_digest(file: BinaryIO, path: Path, sha256: str) -> None:
    """Before anything is made of what it says."""
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
        if file.tell() > 2 * MAX_FILE:
            raise RecordError("too large", place=str(path))
    if digest.hexdigest() != sha256:
        raise RecordError("not what was recorded", place=str(path), got=digest.hexdigest(),
                          expected=sha256)  # fmt: skip


def _line(line: bytes, place: str, found: list[tuple[int, _Taken]]) -> None:
    value = load_json(line, place, error=RecordError, max_bytes=MAX_LINE, max_depth=MAX_DEPTH)
    try:
        if not value["refused"]:
            found.append((int(value["n"]), _taken(value)))
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise RecordError(f"no recorded exchange: {problem}", place=place) from None


def _taken(value: dict[str, Any]) -> _Taken:
    events = value.get("events")
    data = events if events is not None else _text(value["response"])
    if not isinstance(data, str):
        raise TypeError("events are no text")
    return _Taken(
        path=str(value["path"]),
        request=_same(value["request"]),
        status=_status(value["status"]),
        data=data.encode(),
        streamed=events is not None,
        seconds=max(0.0, _time(value["ended"]) - _time(value["started"])),
        failed=str(value["failed"]),
        paid=bool(value.get("paid", True)),
        withheld=bool(value.get("withheld", False)),
    )


def _status(status: object) -> int | None:
    if status is None:
        return None
    if isinstance(status, bool) or not isinstance(status, int) or not 100 <= status <= 599:
        raise ValueError(f"{status!r:.100} is no status of HTTP's")
    return status


def _time(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r:.100} is no time")
    return float(value)


def _text(response: object) -> str:
    return response if isinstance(response, str) else json.dumps(response)


def _same(request: object) -> bytes:
    """Requests that ask the same give equal bytes. What programs draw anew for each session,
    to tell it from others, is no part of what they ask."""
    if isinstance(request, dict):
        request = {key: value for key, value in request.items() if key not in _OF_A_SESSION}
        if isinstance(items := request.get("input"), list):
            request["input"] = [_without_id(item) for item in items]
    return json.dumps(request, sort_keys=True, separators=(",", ":")).encode()


def _without_id(item: object) -> object:
    if not isinstance(item, dict):
        return item
    return {key: value for key, value in item.items() if key != "id"}
