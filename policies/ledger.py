"""The ledger: one JSON object a line, each carrying the digest of the line before.

Line N has ``seq`` N (from 1) and ``prev``, the SHA-256 of line N-1's bytes
without its newline; line 1 has 64 zeros. The head is the digest of the last
line, so a head kept elsewhere (the episode record) fixes the whole file.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from rolewall._files import append_whole, open_regular
from rolewall.errors import RecordError, StorageError

__all__ = [
    "LINE_MAX",
    "ZERO",
    "Ledger",
    "LedgerCheck",
    "LedgerTail",
    "read_ledger",
    "verify_ledger",
]

ZERO = "0" * 64
LINE_MAX = 256 * 1024
"""Longest line in bytes, newline included; a longer one is refused."""

TYPES = frozenset({"attempt", "exec", "own", "read", "note"})


@dataclass(frozen=True, slots=True)
class LedgerCheck:
    """A ledger that verified: its number of lines, its head, lines by type."""

    lines: int
    head: str
    types: Mapping[str, int]


class Ledger:
    """A ledger open for appending, by one writer at a time.

    An existing file is verified, then continued. Where it is as long as the ``known``
    one, which this process wrote and closed, that is taken for it.

    Raises:
        RecordError: what exists does not verify, or is being written by another.
        StorageError: the file cannot be opened, as one that is not regular, written or synced.
    """

    def __init__(self, path: Path, known: Ledger | None = None) -> None:
        self.path = path
        self._fd = _open_exclusive(path)
        try:
            self._size = os.fstat(self._fd).st_size
            same = known is not None and known.path == path and known.size == self._size
            end = known if known is not None and same else verify_ledger(path)
        except BaseException:
            os.close(self._fd)
            raise
        self.head: str = end.head
        self.lines: int = end.lines

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._size

    def append(self, entry: Mapping[str, Any]) -> int:
        """Write one line; returns its number. ``entry['type']`` names its kind."""
        line = {**entry, "seq": self.lines + 1, "prev": self.head}
        raw = json.dumps(line, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
        self._check(entry, raw)
        self._write(raw + b"\n")
        self.lines += 1
        self.head = hashlib.sha256(raw).hexdigest()
        return self.lines

    def _check(self, entry: Mapping[str, Any], raw: bytes) -> None:
        if entry.get("type") not in TYPES:
            expected = "one of " + ", ".join(sorted(TYPES))
            raise RecordError(
                "not a line type", place=str(self.path), got=entry.get("type"), expected=expected
            )
        if len(raw) >= LINE_MAX:
            raise RecordError(
                "line too long",
                place=str(self.path),
                got=len(raw),
                expected=f"less than {LINE_MAX} bytes",
            )

    def _write(self, raw: bytes) -> None:
        try:
            append_whole(self._fd, raw, self._size)
        except OSError as error:
            raise StorageError(f"cannot write: {error.strerror}", place=str(self.path)) from None
        self._size += len(raw)

    def close(self) -> None:
        """Sync to disk and close. Safe to call twice."""
        if self._fd < 0:
            return
        fd, self._fd = self._fd, -1
        try:
            os.fsync(fd)
        except OSError as error:
            raise StorageError(f"cannot sync: {error.strerror}", place=str(self.path)) from None
        finally:
            os.close(fd)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _open_exclusive(path: Path) -> int:
    try:
        fd = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    except OSError as error:
        raise StorageError(f"cannot open: {error.strerror}", place=str(path)) from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise RecordError("is being written by another process", place=str(path)) from None
    return fd


def read_ledger(
    path: Path, *, head: str | None = None, lines: int | None = None
) -> Iterator[dict[str, Any]]:
    """Every line in order, the chain checked on the way, and its end against ``head`` and
    ``lines`` where given.

    Raises:
        RecordError: a line is broken, with ``FILE:LINE`` as its place; or, after the last
            line, how the end differs.
    """
    tail = LedgerTail(path)
    yield from tail.read()
    _end(tail, head, lines)


def _end(tail: LedgerTail, head: str | None, lines: int | None) -> None:
    place = str(tail.path)
    if lines is not None and tail.lines != lines:
        raise RecordError(
            "not the recorded number of lines", place=place, got=tail.lines, expected=lines
        )
    if head is not None and tail.head != head:
        raise RecordError(
            "does not end as recorded", place=f"{place}:{tail.lines}", got=tail.head, expected=head
        )


def verify_ledger(path: Path, *, head: str | None = None, lines: int | None = None) -> LedgerCheck:
    """Check the whole chain, and its end against ``head`` and ``lines`` where given.

    Raises:
        RecordError: the line that is wrong, or how the end differs.
    """
    tail, types = LedgerTail(path), dict.fromkeys(sorted(TYPES), 0)
    for line in tail.read():
        types[line["type"]] += 1
    _end(tail, head, lines)
    return LedgerCheck(tail.lines, tail.head, types)


class LedgerTail:
    """Reads a ledger in pieces, each line once.

    What was read before is taken as it was then: it is not looked at again.

    Attributes:
        offset, lines, head: where it is: bytes and lines read, the digest of the last line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset, self.lines, self.head = 0, 0, ZERO

    def read(self) -> Iterator[dict[str, Any]]:
        """Every line that was not read, the chain checked on the way.

        Raises:
            RecordError: a line is broken, with ``FILE:LINE`` as its place.
        """
        for raw in self._raw():
            number = self.lines + 1
            place = f"{self.path}:{number}"
            line = _parse(raw, place)
            _link(line, number, self.head, place)
            self.offset, self.lines = self.offset + len(raw) + 1, number
            self.head = hashlib.sha256(raw).hexdigest()
            yield line

    def _raw(self) -> Iterator[bytes]:
        try:
            with open(open_regular(self.path), "rb") as stream:
                stream.seek(self.offset)
                while raw := stream.readline(LINE_MAX):
                    if not raw.endswith(b"\n"):
                        what = "line too long" if len(raw) == LINE_MAX else "line is cut off"
                        raise RecordError(what, place=f"{self.path}:{self.lines + 1}")
                    yield raw[:-1]
        except OSError as error:
            raise RecordError(f"cannot read: {error.strerror}", place=str(self.path)) from None


def _parse(raw: bytes, place: str) -> dict[str, Any]:
    try:
        line = json.loads(raw, parse_constant=_no_number)
        canonical = json.dumps(line, sort_keys=True, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        raise RecordError("not a JSON line", place=place) from None
    if not isinstance(line, dict) or not _is_type(line.get("type")):
        raise RecordError("not a ledger line", place=place, expected="an object with a known type")
    if canonical != raw:
        raise RecordError("not in canonical form", place=place)
    return line


def _is_type(value: object) -> bool:
    return isinstance(value, str) and value in TYPES


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _link(line: dict[str, Any], number: int, head: str, place: str) -> None:
    if (seq := line.get("seq")) != number or type(seq) is not int:  # True is equal to 1
        raise RecordError("wrong sequence number", place=place, got=seq, expected=number)
    if line.get("prev") != head:
        raise RecordError(
            "does not follow the line before", place=place, got=line.get("prev"), expected=head
        )
