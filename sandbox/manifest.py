"""The state of a zone at a moment, entry by entry.

A manifest decides who changed what. It is pure data; ``take`` makes one from
a directory, ``difference.diff`` compares two.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from json.encoder import encode_basestring_ascii
from pathlib import Path

from rolewall.sandbox.beneath import storage
from rolewall.sandbox.names import escape, order

__all__ = ["Entry", "Follower", "Manifest", "Stamp", "is_git"]

VERSION = 1
_BUFFER = 1024 * 1024
_HEX = re.compile(r"(?:[a-z0-9]+:)?[0-9a-f]{40,64}")


@dataclass(frozen=True, slots=True)
class Stamp:
    """What identifies unchanged content within one run of the harness; never written down.

    The digest of a file is taken over only while device, inode, size, mtime
    and ctime are the same. No call sets a ctime; but not every change of a
    content does: see ``notes_changes`` for file systems where a store into a
    mapping does not, and ``SWAPS`` of the tap for ioctls that do not.
    ``settled`` is false when the ctime was so fresh that a later change could
    have carried the same one.
    """

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int
    settled: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a zone.

    Attributes:
        path: relative to the zone; ``b""`` is the zone itself.
        kind: ``file dir link fifo socket char block``, or ``unknown`` for one
            that could not be looked at.
        mode: permission bits with set-id and sticky.
        size: bytes of a file, 0 for anything else.
        digest: ``sha256:…`` or ``blocks:…`` (see ``content``) of a file, ``""``
            where it was not read.
        oid: id of the content in the blob store, ``""`` where it was not kept.
        target: of a link.
        rdev: device number of a device.
        nlink, first: for a file with several names, how many, and the first
            of them in this zone.
        xattrs: names with values, sorted; a value is ``=`` and the escaped
            bytes, or ``sha256:…`` of a long one.
        note: what is missing here and why: ``unreadable``, ``not kept: …``,
            ``not hashed: …``, ``not walked: …``.
    """

    path: bytes
    kind: str
    mode: int = 0
    uid: int = 0
    gid: int = 0
    mtime_ns: int = 0
    size: int = 0
    digest: str = ""
    oid: str = ""
    target: bytes = b""
    rdev: int = 0
    nlink: int = 1
    first: bytes | None = None
    xattrs: tuple[tuple[str, str], ...] = ()
    note: str = ""
    stamp: Stamp | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The path as printable text, reversible; ``.`` for the zone itself."""
        return escape(self.path) or "."

    @property
    def sha256(self) -> str:
        """The plain SHA-256 of the content in hex, ``""`` where there is none."""
        scheme, _, value = self.digest.partition(":")
        return value if scheme == "sha256" else ""


class Follower:
    """Entries in their order, looked up by paths that are asked for in that order too.

    A dictionary of a million paths would cost more than the entries' own list.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._next = 0

    def at(self, path: bytes) -> Entry | None:
        """The entry of ``path``; asking for the same one again is no step back."""
        place, wanted = self._next, None
        while place < len(self._entries):
            entry = self._entries[place]
            if entry.path == path:
                self._next = place
                return entry
            wanted = wanted or order(path)
            if order(entry.path) > wanted:
                break
            place += 1
        self._next = place
        return None


@dataclass(frozen=True)
class Manifest:
    """All entries of a zone, each directory directly before what it holds."""

    entries: tuple[Entry, ...]

    @cached_property
    def by_path(self) -> dict[bytes, Entry]:
        return {entry.path: entry for entry in self.entries}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the written manifest: every recorded property of every entry."""
        hasher = hashlib.sha256()
        for line in self.lines():
            hasher.update(line)
        return hasher.hexdigest()

    @cached_property
    def content_digest(self) -> str:
        """SHA-256 of paths, types, modes, contents and targets: the same for an exact copy."""
        hasher = hashlib.sha256()
        for e in self.entries:
            fields = (escape(e.path), e.kind, e.mode, e.size, e.digest, escape(e.target), e.rdev)
            hasher.update(json.dumps(fields, ensure_ascii=True).encode() + b"\n")
        return hasher.hexdigest()

    def with_git_of(self, other: Manifest) -> Manifest:
        """The same with ``other``'s ``.git`` in the place of its own."""
        kept = [e for e in self.entries if not is_git(e.path)]
        place = bisect_left(kept, [b".git"], key=lambda entry: order(entry.path))
        theirs = [e for e in other.entries if is_git(e.path)]
        return Manifest((*kept[:place], *theirs, *kept[place:]))

    def without(self, unwanted: Callable[[str], bool]) -> Manifest:
        """The same without the entries whose ``name`` is unwanted, and what lies below them."""
        kept: list[Entry] = []
        gone: set[bytes] = set()
        for entry in self.entries:
            if entry.path.rpartition(b"/")[0] in gone or (entry.path and unwanted(entry.name)):
                gone.add(entry.path)
            else:
                kept.append(entry)
        return Manifest(tuple(kept))

    def lines(self) -> Iterator[bytes]:
        """The canonical JSON Lines form: a header, then one object an entry."""
        yield _json({"entries": len(self.entries), "rolewall_manifest": VERSION})
        for entry in self.entries:
            yield _plain_line(entry) if _is_plain(entry) else _json(_record(entry))

    def dump(self, path: Path) -> str:
        """Write to a new or existing file; returns ``digest``. Raises StorageError."""
        hasher = hashlib.sha256()
        with storage(path), open(path, "wb", buffering=_BUFFER) as file:
            for line in self.lines():
                hasher.update(line)
                file.write(line)
        return hasher.hexdigest()


def is_git(path: bytes) -> bool:
    """Whether a path is the zone's own ``.git`` or lies in it."""
    return path == b".git" or path.startswith(b".git/")


def _json(value: dict[str, object]) -> bytes:
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def _is_plain(e: Entry) -> bool:
    """Whether an entry is a file as nearly all are, with nothing to be said beyond the usual."""
    return (
        e.kind == "file"
        and e.nlink == 1
        and not (e.note or e.xattrs or e.rdev or e.target)
        and e.first is None
        and _HEX.fullmatch(e.digest) is not None
        and _HEX.fullmatch(e.oid) is not None
    )


def _plain_line(e: Entry) -> bytes:
    """What ``_json(_record(e))`` gives, in a third of its time."""
    path = encode_basestring_ascii(escape(e.path))
    return (
        f'{{"digest":"{e.digest}","gid":{e.gid},"kind":"file","mode":"{e.mode:04o}",'
        f'"mtime_ns":{e.mtime_ns},"oid":"{e.oid}","path":{path},"size":{e.size},"uid":{e.uid}}}\n'
    ).encode("ascii")


def _record(e: Entry) -> dict[str, object]:
    """Only what says something: absent keys have the defaults of ``Entry``."""
    record: dict[str, object] = {"path": escape(e.path), "kind": e.kind}
    if e.kind != "unknown":
        record |= {"mode": f"{e.mode:04o}", "uid": e.uid, "gid": e.gid, "mtime_ns": e.mtime_ns}
    if e.kind == "file":
        record["size"] = e.size
    for key in ("digest", "oid", "rdev", "note"):
        if value := getattr(e, key):
            record[key] = value
    if e.kind == "link":
        record["target"] = escape(e.target)
    if e.nlink != 1:
        record["nlink"] = e.nlink
    if e.first is not None:
        record["first"] = escape(e.first)
    if e.xattrs:
        record["xattrs"] = dict(e.xattrs)
    return record
