"""Server-sent events: a stream of bytes, cut where one event ends and the next begins."""

from __future__ import annotations

import re
from typing import Any

from rolewall._files import load_json
from rolewall.errors import InputError

__all__ = ["Splitter", "event_data"]

# Two ends of lines, each in any of three ways: agents take all of them for an event's end.
_END = re.compile(rb"(?>\r\n|\n|\r)(?:\r\n|\n|\r)")
MAX_DEPTH = 200


class Splitter:
    """Hands out whole events, with what ends them."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._looked = 0

    @property
    def held(self) -> int:
        """Bytes of an event that has no end yet."""
        return len(self._held)

    def feed(self, data: bytes) -> list[bytes]:
        self._held += data
        found, start = [], 0
        # Three bytes of an end may have come already.
        for end in _END.finditer(self._held, max(0, self._looked - 3)):
            found.append(bytes(self._held[start : end.end()]))
            start = end.end()
        del self._held[:start]
        self._looked = len(self._held)
        return found

    def rest(self) -> bytes:
        """What came after the last whole event."""
        held, self._held, self._looked = bytes(self._held), bytearray(), 0
        return held


def event_data(event: bytes) -> Any:
    """The JSON in an event, ``"[DONE]"`` for OpenAI's last one, None for what has none."""
    lines = [line[5:].strip() for line in event.splitlines() if line.startswith(b"data:")]
    data = b"\n".join(lines)
    if not data:
        return None
    if data == b"[DONE]":
        return "[DONE]"
    try:
        return load_json(data, "an event", max_bytes=len(data), max_depth=MAX_DEPTH)
    except InputError:
        return None
