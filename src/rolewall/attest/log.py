"""``seals.jsonl``: which episodes of a run were sealed, counted and discarded, in order.

One JSON object a line, each with the SHA-256 of the line before, as in a
ledger. An episode is *sealed* before its record is put in place, which makes
it count, and *counted* after that: so a record that was never sealed, or is
gone, tells itself from an episode that a kill cut short.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from rolewall._files import load_json
from rolewall._validate import Strict, validate
from rolewall.errors import RecordError
from rolewall.storage import canonical_json, read_capped

__all__ = ["LOG_CAP", "ZERO", "Entry", "Line", "Log", "log_line", "read_log"]

ZERO = "0" * 64
LOG_CAP = 128 << 20
LINE_CAP = 4096
Name = Annotated[str, Field(pattern="^[0-9A-Za-z_-]{1,64}$")]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
State = Literal["sealed", "counted", "discarded"]
# What an episode may have been before; "" is nothing at all.
BEFORE = {
    "sealed": ("", "sealed", "discarded"),
    "counted": ("sealed",),
    "discarded": ("sealed", "counted"),
}


class Line(Strict):
    """One line. ``run`` is the SHA-256 of ``run.json``, ``seal`` that of an episode's
    ``seal.json``, ``episodes`` how many counted."""

    seq: Annotated[int, Field(ge=1)]
    prev: Sha256
    type: Literal["opened", "sealed", "counted", "discarded", "closed"]
    run: Sha256 | None = None
    episode: Name | None = None
    seal: Sha256 | None = None
    episodes: int | None = None


KEYS = {
    "opened": {"run"},
    "closed": {"episodes"},
    **{kind: {"episode", "seal"} for kind in BEFORE},
}


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of an episode, and its seal."""

    state: State
    seal: str


@dataclass
class Log:
    """A log as far as it is whole. ``cut`` is the number of bytes of an unfinished last
    line, as a kill may leave it, ``digest`` the SHA-256 of the whole lines."""

    lines: int = 0
    head: str = ZERO
    run: str = ""
    open: bool = False
    episodes: dict[str, Entry] = field(default_factory=dict)
    size: int = 0
    cut: int = 0
    digest: str = ""

    def counted(self) -> dict[str, str]:
        """Episodes that count → their seals. One that was sealed and no more may count or not."""
        return {key: e.seal for key, e in self.episodes.items() if e.state == "counted"}

    def add(self, raw: bytes, place: str) -> None:
        """Take in one line, without its newline. Raises RecordError."""
        line = _parse(raw, place)
        if (line.seq, line.prev) != (self.lines + 1, self.head):
            raise RecordError("does not follow the line before", place=place)
        self._take(line, place)
        self.lines, self.head = line.seq, hashlib.sha256(raw).hexdigest()
        self.size += len(raw) + 1

    def _take(self, line: Line, place: str) -> None:
        if line.type == "opened":
            if self.run not in ("", line.run):
                raise RecordError("opened for another run.json", place=place)
            self.run, self.open = line.run or "", True
        elif not self.open:
            raise RecordError(f"{line.type} where the run is not open", place=place)
        elif line.type == "closed":
            if line.episodes != len(self.counted()):
                raise RecordError(
                    "closed with another number of episodes",
                    place=place,
                    got=line.episodes,
                    expected=len(self.counted()),
                )
            self.open = False
        else:
            self._episode(line.type, line.episode or "", line.seal or "", place)

    def _episode(self, state: State, key: str, seal: str, place: str) -> None:
        before = self.episodes.get(key)
        if (before.state if before else "") not in BEFORE[state]:
            raise RecordError(f"{state} out of turn: episode {key}", place=place)
        if state != "sealed" and before and before.seal != seal:
            raise RecordError(f"{state} under another seal: episode {key}", place=place)
        self.episodes[key] = Entry(state, seal)


def log_line(log: Log, kind: str, **fields: object) -> bytes:
    """The next line of a log, without its newline."""
    return canonical_json({"seq": log.lines + 1, "prev": log.head, "type": kind, **fields})


def _parse(raw: bytes, place: str) -> Line:
    loaded = load_json(raw, place, error=RecordError, max_bytes=LINE_CAP)
    line = validate(Line, loaded, place, RecordError)
    wanted = {"seq", "prev", "type"} | KEYS[line.type]
    if set(loaded) != wanted or None in loaded.values() or canonical_json(loaded) != raw:
        raise RecordError("not a line as it was written", place=place)
    return line


def read_log(path: Path) -> Log:
    """Read ``seals.jsonl``, the chain checked on the way.

    Raises:
        RecordError: it is absent, or a line is wrong; ``place`` is ``FILE:LINE``.
    """
    data = read_capped(path, LOG_CAP)
    log = Log()
    for number, raw in enumerate(_whole(data), 1):
        log.add(raw, f"{path}:{number}")
    log.cut = len(data) - log.size
    log.digest = hashlib.sha256(data[: log.size]).hexdigest()
    return log


def _whole(data: bytes) -> Iterator[bytes]:
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield data[start:end]
        start = end + 1
