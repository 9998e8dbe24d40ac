"""Taking the manifest of a zone."""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from json.encoder import encode_basestring_ascii

from rolewall.sandbox.batch import Batch, batch
from rolewall.sandbox.beneath import Location, directory, opened, proc_path, reopen, storage
from rolewall.sandbox.blobs import BlobStore
from rolewall.sandbox.content import BLOCKS_ABOVE, Changed, digest
from rolewall.sandbox.filesystem import notes_changes
from rolewall.sandbox.manifest import Entry, Follower, Manifest, Stamp
from rolewall.sandbox.names import escape
from rolewall.sandbox.objects import Collision
from rolewall.sandbox.walker import Node, walk
from rolewall.sandbox.xattrs import Xattrs, read_xattrs

__all__ = ["ManifestLimits", "take"]

_SETTLED_NS = 100_000_000  # file times advance at least every 10 ms
_MIB = 1024 * 1024
_PLAIN = re.compile(rb"[ !#-\[\]-~]*")  # is written as it is


@dataclass(frozen=True, slots=True)
class ManifestLimits:
    """How much of a zone a manifest takes in; what exceeds it is said in the entry's note.

    Attributes:
        file_bytes: the largest file whose content is kept in the blob store, at
            most ``BLOCKS_ABOVE``.
        zone_bytes: all content kept of one zone; the further names of a file add none.
        hash_bytes: all data read of one zone; holes are not read.
        entries: entries listed.
        path_bytes: the longest path that is entered.
        names_bytes: all paths, targets of links and first names, as the manifest
            writes them: they are what its size and memory grow with.
    """

    file_bytes: int = BLOCKS_ABOVE
    zone_bytes: int = 2048 * _MIB
    hash_bytes: int = 16384 * _MIB
    entries: int = 2_000_000
    path_bytes: int = 16384
    names_bytes: int = 128 * _MIB


def take(
    zone: Location,
    store: BlobStore | None = None,
    previous: Manifest | None = None,
    limits: ManifestLimits | None = None,
) -> Manifest:
    """Record every entry of a zone, ``.git`` included, and keep the contents in ``store``.

    It is evidence only while no process that can write the zone is alive; with
    one alive it still leads nowhere outside, and notes the files that changed
    under it. ``previous``, a manifest of the same zone and store from this
    run, saves opening what has not changed since (see ``Stamp``); it is passed
    over where the file system may change a content in silence. Hostile
    content never fails: what cannot be read, hashed or kept is noted.

    Raises StorageError when the zone itself or the disk fails, or a mount lies
    inside the zone.
    """
    with batch(store) if store else nullcontext() as kept:
        return _Taker(zone, kept, previous, limits or ManifestLimits()).run()


class _Taker:
    def __init__(
        self,
        zone: Location,
        kept: Batch | None,
        previous: Manifest | None,
        limits: ManifestLimits,
    ) -> None:
        self._zone = zone
        self._kept = kept
        self._previous = Follower(previous.entries if previous else ())
        self._limits = limits
        self._entries: list[Entry] = []
        self._linked: dict[tuple[int, int], Entry] = {}
        self._zone_left = limits.zone_bytes
        self._hash_left = limits.hash_bytes
        self._names_left = limits.names_bytes
        self._places: dict[bytes, int] = {}  # unfinished directories: index into entries
        self._numbers: dict[int, int] = {}  # one object for what is equal in a million entries
        self._same: Entry | None = None  # what the entry at hand was, and still is

    def run(self) -> Manifest:
        with storage(self._zone):
            with directory(self._zone) as root:
                if not notes_changes(root):
                    self._previous = Follower(())
            for node in walk(self._zone, unopened=self._is_same):
                if node.leaving:
                    self._leave(node)
                elif self._has_room(node):
                    self._visit(node)
                else:
                    self._note(0, "not walked: entries")
                    break
        return Manifest(tuple(self._entries))

    def _has_room(self, node: Node) -> bool:
        self._names_left -= _written(node.path)
        return len(self._entries) < self._limits.entries and self._names_left >= 0

    def _note(self, index: int, note: str) -> None:
        self._entries[index] = replace(self._entries[index], note=note)

    def _leave(self, node: Node) -> None:
        index = self._places.pop(node.path)
        if node.skip:
            self._note(index, "unreadable")

    def _is_same(self, path: bytes, status: os.stat_result) -> bool:
        """Whether the entry is known from before in all that is recorded of it.

        A change of content, mode, owner, attributes or number of names sets
        the ctime (see ``notes_changes``). Which of its names comes first depends on other entries.
        """
        before = self._previous.at(path)
        if before is None or not _is_unchanged(before, status) or before.nlink > 1:
            return False
        if before.kind == "file":
            keep, _ = self._keeps(before.size)
            if not before.digest or bool(before.oid) != keep:
                return False
            self._zone_left -= before.size if keep else 0
        self._same = before
        return True

    def _visit(self, node: Node) -> None:
        entry = self._entry(node)
        self._names_left -= _written(entry.target) + _written(entry.first or b"")
        if node.kind == "dir":
            self._places[node.path] = len(self._entries)
            if len(node.path) > self._limits.path_bytes:
                node.skip = True
                entry = replace(entry, note="not walked: depth")
        self._entries.append(entry)

    def _entry(self, node: Node) -> Entry:
        status = node.stat
        if status is None:
            return Entry(node.path, "unknown", note="unreadable")
        if node.fd < 0 and self._same is not None:
            return self._same
        if node.kind == "file":
            return self._file(node, status)
        return Entry(
            path=node.path,
            kind=node.kind,
            mode=self._shared(stat.S_IMODE(status.st_mode)),
            uid=self._shared(status.st_uid),
            gid=self._shared(status.st_gid),
            mtime_ns=status.st_mtime_ns,
            xattrs=read_xattrs(proc_path(node.fd)),
            target=os.readlink(b"", dir_fd=node.fd) if node.kind == "link" else b"",
            rdev=status.st_rdev if node.kind in ("char", "block") else 0,
            stamp=None if node.kind == "dir" else self._stamp(status),
        )

    def _file(self, node: Node, status: os.stat_result) -> Entry:
        identity = (status.st_dev, status.st_ino)
        known = self._linked.get(identity) if status.st_nlink > 1 else None
        if known is not None:
            value, oid, note, xattrs = known.digest, known.oid, known.note, known.xattrs
        else:
            value, oid, note, xattrs = self._content(node, status)
        entry = Entry(
            path=node.path,
            kind="file",
            mode=self._shared(stat.S_IMODE(status.st_mode)),
            uid=self._shared(status.st_uid),
            gid=self._shared(status.st_gid),
            mtime_ns=status.st_mtime_ns,
            size=status.st_size,
            digest=value,
            oid=oid,
            nlink=status.st_nlink,
            first=known.path if known is not None else None,
            xattrs=xattrs,
            note=note,
            stamp=self._stamp(status),
        )
        if status.st_nlink > 1 and known is None:
            self._linked[identity] = entry
        return entry

    def _content(self, node: Node, status: os.stat_result) -> tuple[str, str, str, Xattrs]:
        """Digest, id in the store, note, and attributes."""
        keep, note = self._keeps(status.st_size)
        self._zone_left -= status.st_size if keep else 0
        before = self._previous.at(node.path)
        same = before is not None and _is_unchanged(before, status)
        if same and before is not None and before.digest and bool(before.oid) == keep:
            return before.digest, before.oid, before.note, before.xattrs
        try:
            fd = reopen(node.fd, os.O_RDONLY | os.O_NONBLOCK)
        except PermissionError:
            return "", "", "unreadable", read_xattrs(proc_path(node.fd))
        except BlockingIOError:  # somebody alive holds a lease; waiting would be at their mercy
            return "", "", "unreadable: leased", read_xattrs(proc_path(node.fd))
        with opened(fd):
            try:
                value, oid, note = self._read(fd, status.st_size, keep, note)
            except Changed:
                value, oid, note = "", "", "not hashed: changed while it was read"
            except OSError as error:
                with storage(escape(node.path)):
                    raise error
            return value, oid, note, read_xattrs(fd)

    def _keeps(self, size: int) -> tuple[bool, str]:
        if self._kept is None:
            return False, ""
        if size > min(self._limits.file_bytes, BLOCKS_ABOVE):
            return False, "not kept: size"
        if size > self._zone_left:
            return False, "not kept: zone is full"
        return True, ""

    def _read(self, fd: int, size: int, keep: bool, note: str) -> tuple[str, str, str]:
        if keep and self._kept is not None and size <= self._hash_left:
            self._hash_left -= size
            try:
                stored = self._kept.put_file(fd, size)
            except Collision as collision:
                return f"sha256:{collision.sha256}", "", "not kept: collision"
            return f"sha256:{stored.sha256}", stored.oid, ""
        value = digest(fd, size, self._hash_left)
        if not value:
            return "", "", "not hashed: size"
        self._hash_left -= min(size, os.fstat(fd).st_blocks * 512)
        return value, "", note

    def _stamp(self, status: os.stat_result) -> Stamp:
        return Stamp(
            dev=self._shared(status.st_dev),
            ino=status.st_ino,
            size=status.st_size,
            mtime_ns=status.st_mtime_ns,
            ctime_ns=status.st_ctime_ns,
            settled=time.time_ns() - status.st_ctime_ns > _SETTLED_NS,
        )

    def _shared(self, number: int) -> int:
        return self._numbers.setdefault(number, number)


def _written(name: bytes) -> int:
    """How many bytes a name takes in a written manifest."""
    return len(name) if _PLAIN.fullmatch(name) else len(encode_basestring_ascii(escape(name)))


def _is_unchanged(before: Entry, now: os.stat_result) -> bool:
    stamp = before.stamp
    return (
        stamp is not None
        and stamp.settled
        and stamp.ctime_ns == now.st_ctime_ns
        and stamp.ino == now.st_ino
        and stamp.dev == now.st_dev
        and stamp.size == now.st_size
        and stamp.mtime_ns == now.st_mtime_ns
    )
