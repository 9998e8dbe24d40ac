"""What of an answer can be handed on: of a size that can be looked through, without a key.

All phases of a run share one gateway, and a parser takes a thousand times as long for a value as
for a letter: what has too many is not parsed, and what takes long is done beside the loop.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rolewall._files import load_json
from rolewall.errors import InputError
from rolewall.roles.gateway.keys import Scrubber
from rolewall.roles.gateway.parsing import rough_count, too_many
from rolewall.roles.gateway.reply import NoAnswer, TooMuch
from rolewall.roles.gateway.streams import Splitter, event_data
from rolewall.roles.gateway.withholding import Sieve

__all__ = ["MAX_ANSWER", "Sifted", "Sifter", "Whole"]

MAX_ANSWER = 32 << 20
MAX_EVENT = 8 << 20
MAX_VALUES = 200_000
"""Of an answer at once, or of one event."""
MAX_STREAM_VALUES = 4_000_000
"""Of all events of a stream; a token is some 15."""
MAX_DEPTH = 200
OF_AN_EVENT = 5  # an event takes as long as so many values

Sifted = tuple[list[tuple[bytes, Any]], NoAnswer | None]
"""Events that may be handed on, each with what it says; and why no more are."""


@dataclass(frozen=True)
class Whole:
    """An answer that is handed on at once: as it goes, as JSON or None, and for the record."""

    data: bytes
    body: Any
    recorded: bytes
    kind: str


class Sifter:
    """For one answer: ``feed`` its pieces and ``rest`` at its end, or all of it to ``whole``."""

    def __init__(self, scrubber: Scrubber) -> None:
        self._scrubber = scrubber
        self._splitter = Splitter()
        self._sieve = Sieve(scrubber.forms)
        self._values = 0

    @property
    def held(self) -> int:
        """Bytes of an event that has no end yet."""
        return self._splitter.held

    def feed(self, chunk: bytes) -> Sifted:
        ready, broken = self._sift(self._splitter.feed(chunk))
        if broken is None and self.held > MAX_EVENT:
            broken = _too_large()
        return ready, broken

    def rest(self) -> Sifted:
        rest = self._splitter.rest()
        ready, broken = self._sift([rest] if rest else [])
        if broken is None:
            try:
                ready += self._sieve.rest()
            except NoAnswer as error:
                broken = error
        return ready, broken

    def _sift(self, events: Iterable[bytes]) -> Sifted:
        ready: list[tuple[bytes, Any]] = []
        try:
            for event in events:
                self._weigh(event)
                ready += self._sieve.feed(*self._cleaned(event))
        except NoAnswer as error:
            return ready, error
        return ready, None

    def _weigh(self, event: bytes) -> None:
        if len(event) > MAX_EVENT:
            raise _too_large()
        if too_many(event, MAX_VALUES):
            raise TooMuch(f"an event of the answer has more than {MAX_VALUES:,} values")
        self._values += rough_count(event) + OF_AN_EVENT
        if self._values > MAX_STREAM_VALUES:
            raise TooMuch(f"the answer has more than {MAX_STREAM_VALUES:,} values")

    def _cleaned(self, event: bytes) -> tuple[bytes, Any]:
        event = self._scrubber.clean(event)
        said = event_data(event)
        if said is not None and self._scrubber.holds(json.dumps(said)):
            event = _rewritten(event, self._scrubber.clean(json.dumps(said).encode()))
            said = event_data(event)
        return event, said

    def whole(self, data: bytes) -> Whole:
        """Raises NoAnswer."""
        if too_many(data, MAX_VALUES):
            raise TooMuch(f"the answer has more than {MAX_VALUES:,} values")
        data = self._scrubber.clean(data)
        body, text = _parse(data)
        if text is None and self._scrubber.holds(json.dumps(body)):
            # JSON has many ways to write a letter: what was hidden in one is taken out of all.
            data = self._scrubber.clean(json.dumps(body).encode())
            body, text = _parse(data)
        self._sieve.check(data)
        kind = "application/json" if text is None else "text/plain"
        return Whole(data, body, json.dumps(body if text is None else text).encode(), kind)


def _too_large() -> TooMuch:
    return TooMuch(f"an event of the answer is larger than {MAX_EVENT >> 20} MiB")


def _rewritten(event: bytes, data: bytes) -> bytes:
    """``event`` with other data."""
    kept = [line for line in event.splitlines() if line and not line.startswith(b"data:")]
    return b"\n".join([*kept, b"data: " + data, b"", b""])


def _parse(data: bytes) -> tuple[Any, str | None]:
    """JSON, or the text that it is not."""
    try:
        body = load_json(data, "the answer", max_bytes=MAX_ANSWER * 2, max_depth=MAX_DEPTH)
        return body, None
    except InputError:
        return None, data.decode("utf-8", "replace")
