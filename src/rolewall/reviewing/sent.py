"""Whether the model that approved a change was sent it.

A tool that cuts its output, or a context that is full, cuts a change without a word; what a
model was not sent it did not judge. The gateway's record has every request. ``wanted`` is what
must have been sent, ``conversed`` what was, ``matching`` finds the one in the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rolewall._files import load_json, open_regular
from rolewall.errors import RecordError
from rolewall.reviewing.conversed import asked, speaks_of, texts
from rolewall.reviewing.matching import Found
from rolewall.reviewing.runs import Steps, Tired
from rolewall.reviewing.wanted import Wanted, read_diff
from rolewall.sandbox import storage

__all__ = ["unsent_lines"]

MAX_LINE, MAX_DEPTH = 160 << 20, 256
MOST_SEEN = 100_000  # texts that are known again; of more, some are looked through once more
MOST_STEPS = 40_000_000  # lines read and compared for one review: a minute at most
MOST_MODELS = 8


def unsent_lines(exchanges: Path, diff: str) -> int:
    """How many lines of ``diff`` the model whose answer led to the verdict was not sent.

    That model is the one that last spoke of a verdict, or else the last that was asked; what
    others were sent does not count. Of a request counts its conversation, if a model answered it
    to its end, with room for at least 128 tokens, and nothing lets the endpoint cut it. A hunk
    has to stand in it in order, as ``matching`` says: in the diff, or in the new file and, where
    it takes lines away, in the old one. Of what content does not show (modes, links, empty and
    binary files, a whole file that goes) the head in the diff, or the line that the brief or
    ``git diff --summary`` has for it, must be there.

    No more than one exchange is held at a time. What is beyond the limits of the search was not
    sent.

    Raises:
        StorageError: the record cannot be read.
        RecordError: a line of it is no exchange.
    """
    wanted = read_diff(diff)
    if wanted is None:
        return max(1, diff.count("\n"))
    if not wanted.blocks and not wanted.heads:
        return 0
    found = _Models(wanted)
    for exchange in _exchanges(exchanges):
        if asked(exchange):
            found.take(exchange)
    return found.unsent()


class _Models:
    """What each model was sent, and which of them judged."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._steps = Steps(MOST_STEPS)
        self._tired = False
        self._sent: dict[str, Found] = {}
        self._seen: set[bytes] = set()
        self._last = self._judge = ""

    def take(self, exchange: Mapping[str, Any]) -> None:
        model = str(exchange["request"].get("model", ""))
        self._last = model
        if speaks_of("verdict", exchange.get("response")):
            self._judge = model
        if model not in self._sent and len(self._sent) < MOST_MODELS:
            self._sent[model] = Found(self._wanted, self._steps)
        if (found := self._sent.get(model)) and not self._tired:
            try:
                for text, number in self._new(model, exchange):
                    found.look(text, number)
            except Tired:
                self._tired = True

    def _new(self, model: str, exchange: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
        """Requests repeat what was said before, and that comes once."""
        for text in texts(exchange):
            digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
            number = int.from_bytes(digest.digest(), "big")
            digest.update(b"\0" + model.encode("utf-8", "surrogatepass"))
            if digest.digest() not in self._seen:
                if len(self._seen) < MOST_SEEN:
                    self._seen.add(digest.digest())
                yield text, number

    def unsent(self) -> int:
        found = self._sent.get(self._judge or self._last)
        return (found or Found(self._wanted, self._steps)).unsent()


def _exchanges(path: Path) -> Iterator[Mapping[str, Any]]:
    with storage(path):
        if not path.exists():
            return
        with open(open_regular(path), "rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), 1):
                yield _exchange(line, f"{path}:{number}")


def _exchange(line: bytes, place: str) -> Mapping[str, Any]:
    found = load_json(line, place, error=RecordError, max_bytes=MAX_LINE, max_depth=MAX_DEPTH)
    if not isinstance(found, dict):
        raise RecordError("no recorded exchange", place=place, got=type(found).__name__)
    return found
