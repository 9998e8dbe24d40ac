"""Copying work in and out: a task's start state into a zone, a manifest into a new box.

Copies share no inode with their source. Nothing of a source is followed,
executed or opened but regular files.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from typing import Literal

from rolewall.errors import InputError, StorageError
from rolewall.sandbox.beneath import (
    Location,
    directory,
    open_beneath,
    opened,
    proc_path,
    reopen,
    storage,
)
from rolewall.sandbox.blobs import BlobStore
from rolewall.sandbox.content import data_extents
from rolewall.sandbox.gittree import LeftOut
from rolewall.sandbox.manifest import Entry, Manifest, is_git
from rolewall.sandbox.names import escape
from rolewall.sandbox.sparing import FurtherNames, write_sparse
from rolewall.sandbox.stopping import heeding
from rolewall.sandbox.walker import Node, walk

__all__ = ["copy_tree", "export"]

_CHUNK = 1024 * 1024
_NO_COPY = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)
_DIRECTORY = os.O_PATH | os.O_DIRECTORY
_MOST_UP = 256
_SET_ID = stat.S_ISUID | stat.S_ISGID


@dataclass(slots=True)
class _Parent:
    """The directory entries are made in, kept open while it stays the same.

    The way to the next one starts from this one: from the root, a chain of
    thousands of directories would cost the square of its length.
    """

    root: int
    path: bytes = b""
    fd: int = -1

    def of(self, path: bytes) -> tuple[int, bytes]:
        """Descriptor of the directory that holds ``path``, and the name in it."""
        above, _, name = path.rpartition(b"/")
        if self.fd < 0 or above != self.path:
            fd = self._open(above)
            self.close()
            self.fd, self.path = fd, above
        return self.fd, name

    def _open(self, above: bytes) -> int:
        if self.fd < 0 or not above:
            return open_beneath(self.root, above, _DIRECTORY)
        up, rest = _way(self.path, above)
        if up > _MOST_UP:
            return open_beneath(self.root, above, _DIRECTORY)
        # ".." is safe: nobody else knows the directory that is being filled.
        with opened(os.open(b"../" * up or b".", _DIRECTORY | os.O_CLOEXEC, dir_fd=self.fd)) as fd:
            return open_beneath(fd, rest, _DIRECTORY)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _way(here: bytes, there: bytes) -> tuple[int, bytes]:
    """From one directory to another: how many up, and then which path down."""
    if not here or there.startswith(here + b"/"):
        return 0, there[len(here) + 1 :] if here else there
    if here.startswith(there + b"/"):
        return here.count(b"/", len(there)), b""
    common = 0
    old, new = here.split(b"/"), there.split(b"/")
    while old[common : common + 1] == new[common : common + 1]:
        common += 1
    return len(old) - common, b"/".join(new[common:])


def copy_tree(
    source: Location,
    dest: Location,
    *,
    git: bool = False,
    special: Literal["refuse", "leave out"] = "refuse",
    hard_links: bool = False,
) -> list[LeftOut]:
    """Copy a directory of the user's into ``dest``, an empty directory.

    Modes become 0755 or 0644, keeping only whether the owner may execute;
    times stay, links stay links, hard links only with ``hard_links``: without it
    each name is a file of its own, and the copy may take far more room than its
    source. The source's own ``.git`` is left out and reported unless ``git``, and
    so is a device, FIFO or socket where ``special`` says so.

    Raises InputError, with the name, for a device, FIFO or socket otherwise and
    for what cannot be read; StorageError when the copy cannot be written.
    """
    left: list[LeftOut] = []
    with directory(dest) as root, storage(f"copying {source} to {dest}"):
        parent, names = _Parent(root), FurtherNames(root)
        try:
            for node in walk(source):
                if node.path == b".git" and not git:
                    if not node.leaving:
                        left.append(LeftOut(node.path, "repository"))
                    node.skip = True
                    continue
                if special == "leave out" and node.kind not in ("file", "dir", "link"):
                    left.append(LeftOut(node.path, node.kind))
                    continue
                _copy(node, parent, f"{source}/{escape(node.path)}", names if hard_links else None)
        finally:
            names.close()
            parent.close()
    return left


def _copy(node: Node, parent: _Parent, place: str, names: FurtherNames | None) -> None:
    if node.stat is None or (node.leaving and node.skip):
        raise InputError("cannot be read", place=place, expected="readable files")
    if not node.path:
        return
    at, name = parent.of(node.path)
    if node.leaving:
        _times(at, name, node.stat.st_mtime_ns)
    elif node.kind == "dir":
        _make_dir(at, name)
    elif node.kind == "link":
        os.symlink(os.readlink(b"", dir_fd=node.fd), name, dir_fd=at)
        _times(at, name, node.stat.st_mtime_ns)
    elif node.kind == "file":
        known = (node.stat.st_dev, node.stat.st_ino)
        if not (names and node.stat.st_nlink > 1 and names.add(known, node.path, at, name)):
            _copy_file(node.fd, node.stat, at, name, place)
    else:
        raise InputError(
            "not a file, directory or link", place=place, got=node.kind, expected="no special files"
        )


def _times(at: int, name: bytes, mtime_ns: int) -> None:
    os.utime(name, ns=(mtime_ns, mtime_ns), dir_fd=at, follow_symlinks=False)


def _make_dir(at: int, name: bytes) -> None:
    os.mkdir(name, 0o700, dir_fd=at)
    with opened(open_beneath(at, name, os.O_PATH | os.O_DIRECTORY)) as fd:
        os.chmod(proc_path(fd), 0o755)


def _copy_file(entry: int, status: os.stat_result, at: int, name: bytes, place: str) -> None:
    try:
        fd = reopen(entry, os.O_RDONLY | os.O_NONBLOCK)
    except PermissionError as error:
        raise InputError("cannot be read", place=place) from error
    mode = 0o755 if status.st_mode & 0o100 else 0o644
    with opened(fd) as source, opened(_new_file(at, name)) as target:
        for start, end in data_extents(source, status.st_size):
            _copy_extent(source, target, start, end)
        os.ftruncate(target, status.st_size)
        os.fchmod(target, mode)
        os.utime(target, ns=(status.st_mtime_ns, status.st_mtime_ns))


def _new_file(at: int, name: bytes) -> int:
    return open_beneath(at, name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def _copy_extent(source: int, target: int, offset: int, end: int) -> None:
    while offset < end:
        try:
            done = os.copy_file_range(source, target, end - offset, offset, offset)
        except OSError as error:
            if error.errno not in _NO_COPY:
                raise
            done = os.pwrite(target, os.pread(source, min(_CHUNK, end - offset), offset), offset)
        if done == 0:
            raise StorageError("a file changed while it was copied", got=offset)
        offset += done


def export(
    manifest: Manifest, store: BlobStore, dest: Location, *, git: bool = False
) -> list[LeftOut]:
    """Write the files of a manifest into ``dest``, an empty directory, from the store alone.

    Contents, modes, times and links are exact, hard links too, but no file gets
    a set-id bit. A copy takes no more room than its directories, its names, and
    once for each file, however many names it has, the aligned 4 KiB blocks of it
    that are not all zero. Returns what was left out: special files, contents not
    kept, set-id bits. The zone's own ``.git`` is left out silently unless ``git``.

    Raises StorageError, also when a stored content is damaged.
    """
    entries = [e for e in manifest.entries if git or not is_git(e.path)]
    left: list[LeftOut] = []
    with directory(dest) as root, storage(dest):
        parent, names = _Parent(root), FurtherNames(root)
        try:
            for entry in heeding(entries):
                left.extend(_export(entry, store, parent, names))
            for entry in heeding(reversed(entries)):
                if entry.kind == "dir":
                    _finish_dir(root, parent, entry)
        finally:
            names.close()
            parent.close()
    return left


def _export(entry: Entry, store: BlobStore, parent: _Parent, names: FurtherNames) -> list[LeftOut]:
    left = [LeftOut(entry.path, "set-id bits")] if entry.mode & _SET_ID else []
    if entry.kind == "dir" and entry.note:
        left.append(LeftOut(entry.path, entry.note, lost=True))
    if not entry.path:
        return left
    if entry.kind not in ("file", "dir", "link") or (entry.kind == "file" and not entry.oid):
        lost = entry.kind in ("file", "unknown")
        return [LeftOut(entry.path, entry.note or entry.kind, lost)]
    at, name = parent.of(entry.path)
    if entry.kind == "dir":
        os.mkdir(name, 0o700, dir_fd=at)
        return left
    if entry.kind == "link":
        os.symlink(entry.target, name, dir_fd=at)
        _times(at, name, entry.mtime_ns)
        return left
    if entry.nlink > 1:
        # Beside a writer that is alive, two names of one file may be seen in two states.
        state = (entry.first or entry.path, entry.oid, entry.mode, entry.mtime_ns)
        if names.add(state, entry.path, at, name):
            return left
    with opened(_new_file(at, name)) as target:
        offset = 0
        for piece in store.chunks(entry.oid, entry.sha256):
            write_sparse(target, piece, offset)
            offset += len(piece)
        os.ftruncate(target, offset)
        os.fchmod(target, entry.mode & ~_SET_ID)
        os.utime(target, ns=(entry.mtime_ns, entry.mtime_ns))
    return left


def _finish_dir(root: int, parent: _Parent, entry: Entry) -> None:
    at, name = parent.of(entry.path) if entry.path else (root, b"")
    with opened(open_beneath(at, name, _DIRECTORY)) as fd:
        os.chmod(proc_path(fd), entry.mode & ~_SET_ID)
        os.utime(proc_path(fd), ns=(entry.mtime_ns, entry.mtime_ns))
