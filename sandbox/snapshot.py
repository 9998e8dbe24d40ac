"""Taking the manifest of a zone."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from dataclasses import dataclass, replace

from rolewall.sandbox.beneath import Location, opened, proc_path, reopen, storage
from rolewall.sandbox.blobs import BlobStore, Collision
from rolewall.sandbox.content import BLOCKS_ABOVE, Changed, digest
from rolewall.sandbox.manifest import Entry, Manifest, Stamp
from rolewall.sandbox.names import escape
from rolewall.sandbox.walker import Node, walk

__all__ = ["ManifestLimits", "take"]

_SETTLED_NS = 100_000_000  # file times advance at least every 10 ms
_MIB = 1024 * 1024
_SHORT_XATTR = 64


@dataclass(frozen=True, slots=True)
class ManifestLimits:
    """How much of a zone a manifest takes in; what exceeds it is said in the entry's note.

    Attributes:
        file_bytes: the largest file whose content is kept in the blob store, at
            most ``BLOCKS_ABOVE``.
        zone_bytes: all content kept of one zone.
        hash_bytes: all data read of one zone; holes are not read.
        entries: entries listed.
        path_bytes: the longest path that is entered.
        names_bytes: all paths together.
    """

    file_bytes: int = BLOCKS_ABOVE
    zone_bytes: int = 2048 * _MIB
    hash_bytes: int = 16384 * _MIB
    entries: int = 1_000_000
    path_bytes: int = 16384
    names_bytes: int = 256 * _MIB


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
    run, saves reading what has not changed since (see ``Stamp``). Hostile
    content never fails: what cannot be read, hashed or kept is noted.

    Raises StorageError when the zone itself or the disk fails, or a mount lies
    inside the zone.
    """
    return _Taker(zone, store, previous, limits or ManifestLimits()).run()


class _Taker:
    def __init__(
        self,
        zone: Location,
        store: BlobStore | None,
        previous: Manifest | None,
        limits: ManifestLimits,
    ) -> None:
        self._zone = zone
        self._store = store
        self._previous = previous.by_path if previous else {}
        self._limits = limits
        self._entries: list[Entry] = []
        self._linked: dict[tuple[int, int], Entry] = {}
        self._zone_left = limits.zone_bytes
        self._hash_left = limits.hash_bytes
        self._names_left = limits.names_bytes
        self._places: dict[bytes, int] = {}  # unfinished directories: index into entries

    def run(self) -> Manifest:
        with storage(self._zone):
            for node in walk(self._zone):
                if node.leaving:
                    self._leave(node)
                elif self._has_room(node):
                    self._visit(node)
                else:
                    self._note(0, "not walked: entries")
                    break
        return Manifest(tuple(self._entries))

    def _has_room(self, node: Node) -> bool:
        self._names_left -= len(node.path)
        return len(self._entries) < self._limits.entries and self._names_left >= 0

    def _note(self, index: int, note: str) -> None:
        self._entries[index] = replace(self._entries[index], note=note)

    def _leave(self, node: Node) -> None:
        index = self._places.pop(node.path)
        if node.skip:
            self._note(index, "unreadable")

    def _visit(self, node: Node) -> None:
        entry = self._entry(node)
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
        entry = Entry(
            path=node.path,
            kind=node.kind,
            mode=stat.S_IMODE(status.st_mode),
            uid=status.st_uid,
            gid=status.st_gid,
            mtime_ns=status.st_mtime_ns,
            xattrs=_xattrs(node.fd),
        )
        if node.kind == "file":
            return self._file(node, status, entry)
        if node.kind == "link":
            return replace(entry, target=os.readlink(b"", dir_fd=node.fd))
        if node.kind in ("char", "block"):
            return replace(entry, rdev=status.st_rdev)
        return entry

    def _file(self, node: Node, status: os.stat_result, bare: Entry) -> Entry:
        identity = (status.st_dev, status.st_ino)
        bare = replace(bare, size=status.st_size, nlink=status.st_nlink, stamp=_stamp(status))
        known = self._linked.get(identity)
        if known is not None:
            content = (known.digest, known.oid, known.note)
        else:
            content = self._content(node, bare)
        value, oid, note = content
        entry = replace(
            bare, digest=value, oid=oid, note=note, first=known.path if known is not None else None
        )
        if status.st_nlink > 1 and known is None:
            self._linked[identity] = entry
        return entry

    def _content(self, node: Node, bare: Entry) -> tuple[str, str, str]:
        """Digest, id in the store, and note."""
        keep, note = self._keeps(bare.size)
        before = self._previous.get(bare.path)
        if before is not None and self._unchanged(before, bare, keep):
            return before.digest, before.oid, before.note
        try:
            fd = reopen(node.fd, os.O_RDONLY | os.O_NONBLOCK)
        except PermissionError:
            return "", "", "unreadable"
        except BlockingIOError:  # somebody alive holds a lease; waiting would be at their mercy
            return "", "", "unreadable: leased"
        with opened(fd), storage(escape(bare.path)):
            try:
                return self._read(fd, bare.size, keep, note)
            except Changed:
                return "", "", "not hashed: changed while it was read"

    def _keeps(self, size: int) -> tuple[bool, str]:
        if self._store is None:
            return False, ""
        if size > min(self._limits.file_bytes, BLOCKS_ABOVE):
            return False, "not kept: size"
        if size > self._zone_left:
            return False, "not kept: zone is full"
        self._zone_left -= size
        return True, ""

    @staticmethod
    def _unchanged(before: Entry, now: Entry, keep: bool) -> bool:
        stamp = before.stamp
        if stamp is None or now.stamp is None or not stamp.settled or not before.digest:
            return False
        return bool(before.oid) == keep and stamp == replace(now.stamp, settled=True)

    def _read(self, fd: int, size: int, keep: bool, note: str) -> tuple[str, str, str]:
        if keep and self._store is not None and size <= self._hash_left:
            self._hash_left -= size
            try:
                stored = self._store.put_file(fd, size)
            except Collision as collision:
                return f"sha256:{collision.sha256}", "", "not kept: collision"
            return f"sha256:{stored.sha256}", stored.oid, ""
        value = digest(fd, size, self._hash_left)
        if not value:
            return "", "", "not hashed: size"
        self._hash_left -= min(size, os.fstat(fd).st_blocks * 512)
        return value, "", note


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(
        dev=status.st_dev,
        ino=status.st_ino,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns,
        settled=time.time_ns() - status.st_ctime_ns > _SETTLED_NS,
    )


def _xattrs(fd: int) -> tuple[tuple[str, str], ...]:
    """An attribute that may not be read is recorded by name."""
    path = proc_path(fd)
    try:
        names = os.listxattr(path)
    except OSError:
        return ()  # this file system or type of entry has none
    return tuple(sorted((escape(os.fsencode(name)), _xattr(path, name)) for name in names))


def _xattr(path: str, name: str) -> str:
    try:
        value = os.getxattr(path, name)
    except OSError:
        return "unreadable"
    if len(value) <= _SHORT_XATTR:
        return f"={escape(value)}"
    return f"sha256:{hashlib.sha256(value).hexdigest()}"
