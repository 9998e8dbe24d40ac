"""What the harness saw of a role's tools: each use of one, and what it gave back.

Evidence is sealed with the handoff; the results themselves are files named by their
SHA-256, so that what is handed on is what was seen.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from rolewall._validate import Strict
from rolewall.roles.handoff import Sha256
from rolewall.sandbox import storage

__all__ = [
    "MOST_RESULT",
    "MOST_RESULTS",
    "Evidence",
    "Kept",
    "Origin",
    "Results",
]

MOST_RESULT = 1 << 20
"""Bytes that are kept of one result: the first half and the last half of so many."""

MOST_RESULTS = 64 << 20
"""Bytes that are kept of all results of an episode."""

MOST_FILES = 10_000

Origin = Literal["live", "cached", "failed"]


class Evidence(Strict):
    """One use of a tool that the harness saw.

    ``arguments`` are canonical JSON values; of those that could not be read there are none, and
    ``unread`` is their SHA-256. Times are seconds since the epoch. ``result`` is the SHA-256 of
    what is kept of what the tool returned, for a command its standard output, and ``stderr``
    that of its standard error, where it wrote any. ``size`` is how many bytes the result had;
    ``truncated`` says that not all of it, or of ``stderr``, is kept.
    ``origin`` says whether it was fetched then (``live``), earlier (``cached``) or not at all
    (``failed``); ``fresh_until`` is when it is out of date, None where nobody said.
    ``source`` is where the tool ran: in the role's own box, where it could read what the role
    may, or at the ``broker``, which sees no zone.
    """

    id: str
    role: str
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    started: float
    ended: float
    ok: bool
    result: Sha256 | None = None
    fresh_until: float | None = None
    origin: Origin = "live"
    stderr: Sha256 | None = None
    size: Annotated[int, Field(ge=0)] | None = None
    truncated: bool = False
    source: Literal["box", "broker"] = "box"
    unread: Sha256 | None = None

    def asks_same(self, other: Evidence) -> bool:
        """Whether ``other`` is a use of the same tool with the same arguments."""
        return (self.tool, self.arguments, self.unread) == (
            other.tool, other.arguments, other.unread)  # fmt: skip

    @model_serializer(mode="wrap")
    def _as_sealed(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A seal is over what was written: what says nothing is not written, as it was not
        before there was such a field."""
        found: dict[str, Any] = dump(self)
        return {k: v for k, v in found.items() if k not in _QUIET or v != _QUIET[k]}


_QUIET: Mapping[str, object] = {
    "stderr": None, "size": None, "truncated": False, "source": "box", "unread": None,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a result: the SHA-256 of the part that is kept, its whole size, and
    whether anything of it is not kept."""

    sha256: str
    size: int
    truncated: bool


class Results:
    """The results of one episode, as files of a directory that are named by their SHA-256.

    The directory is made when there is something to keep. May be used by several threads.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._files, self._bytes = 0, 0
        if directory.is_dir():
            with storage(directory):
                sizes = [entry.stat().st_size for entry in os.scandir(directory)]
            self._files, self._bytes = len(sizes), sum(sizes)

    def keep(self, data: bytes, *, size: int | None = None) -> Kept:
        """Keep ``data``, as far as there is room for it.

        Args:
            size: of the whole result, where ``data`` is not all of it.

        Raises:
            StorageError: it cannot be written.
        """
        size = len(data) if size is None else size
        part = data
        if len(data) > MOST_RESULT:
            part = data[: MOST_RESULT // 2] + data[-MOST_RESULT // 2 :]
        digest = hashlib.sha256(part).hexdigest()
        with self._lock:
            there = self._put(digest, part)
        return Kept(digest, size, not there or len(part) < size)

    def _put(self, digest: str, data: bytes) -> bool:
        path = self._directory / digest
        with storage(path):
            if path.exists():
                return True
            if self._files >= MOST_FILES or self._bytes + len(data) > MOST_RESULTS:
                return False
            self._directory.mkdir(mode=0o755, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o644)
        self._files += 1
        self._bytes += len(data)
        return True
