"""Walking a directory that a hostile role could write.

The walk holds descriptors, not paths: entries may lie deeper than PATH_MAX,
names are bytes, no link is followed and no mount crossed. It is iterative and
keeps a bounded number of descriptors open, so neither depth nor width can
exhaust it. While a process that can write the directory is alive, the walk
still reaches nothing outside, but what it sees is of no single moment.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from rolewall.errors import StorageError
from rolewall.sandbox.beneath import Location, directory, open_entry, opened, reopen, storage

__all__ = ["KINDS", "Node", "walk"]

KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "dir",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "char",
    stat.S_IFBLK: "block",
}

_OPEN_FRAMES = 64  # directories held open on the way down; the others are found by ".."


@dataclass(slots=True)
class Node:
    """One entry, while the walk stands at it.

    Attributes:
        path: relative to the start, ``b""`` for the start itself; without
            ``paths=True`` only the name.
        name: the last part of the path, ``b""`` for the start.
        parent: descriptor of the directory that holds it, -1 for the start.
        fd: ``O_PATH`` descriptor of the entry, -1 where it could not be looked
            at; valid until the walk goes on.
        stat: what ``fstat`` says, None where it could not be looked at.
        kind: one of ``KINDS``'s values, ``unknown`` where it could not be looked at.
        leaving: the second visit of a directory, after all it holds.
        skip: set by the consumer on a first visit: do not go in. Set by the
            walk on the visit that follows, when the directory could not be read.
    """

    path: bytes
    name: bytes
    parent: int
    fd: int
    stat: os.stat_result | None
    kind: str
    leaving: bool = False
    skip: bool = False


@dataclass(slots=True)
class _Frame:
    node: Node
    names: list[bytes] = field(default_factory=list)  # still to visit, last first


def walk(where: Location, *, paths: bool = True) -> Iterator[Node]:
    """Visit every entry beneath ``where``, each directory before and after what it holds.

    Order is by the bytes of the names. A consumer may change or remove the
    entry it stands at, and set ``node.skip``. An unreadable directory is
    visited twice in a row, the second time with ``skip`` set.

    Raises StorageError, also when a mount lies inside.
    """
    with directory(where) as root, storage(where):
        yield from _Walk(paths).run(root)


class _Walk:
    def __init__(self, paths: bool) -> None:
        self._paths = paths
        self._frames: list[_Frame] = []
        self._first_open = 0

    def run(self, root: int) -> Iterator[Node]:
        try:
            yield from self._enter(_look(os.dup(root), b"", b"", -1))
            while self._frames:
                frame = self._frames[-1]
                if frame.names:
                    yield from self._visit(frame)
                else:
                    yield from self._leave(frame)
        finally:
            for frame in self._frames[self._first_open :]:
                os.close(frame.node.fd)

    def _visit(self, frame: _Frame) -> Iterator[Node]:
        name = frame.names.pop()
        parent = frame.node.fd
        path = self._join(frame.node.path, name)
        try:
            fd = open_entry(parent, name)
        except PermissionError:
            yield Node(path, name, parent, -1, None, "unknown")
            return
        except FileNotFoundError:  # gone since the directory was listed
            return
        node = _look(fd, path, name, parent)
        if node.kind == "dir":
            yield from self._enter(node)
        else:
            with opened(fd):
                yield node

    def _join(self, above: bytes, name: bytes) -> bytes:
        return above + b"/" + name if above and self._paths else name

    def _enter(self, node: Node) -> Iterator[Node]:
        frame = _Frame(node)
        self._frames.append(frame)
        yield node
        if node.skip:
            node.skip = False
        else:
            frame.names, node.skip = _names(node.fd)
        if len(self._frames) - self._first_open > _OPEN_FRAMES:
            os.close(self._frames[self._first_open].node.fd)
            self._first_open += 1

    def _leave(self, frame: _Frame) -> Iterator[Node]:
        index = len(self._frames) - 1
        if index > 0:
            self._hold_parent(index)
            frame.node.parent = self._frames[index - 1].node.fd
        frame.node.leaving = True
        yield frame.node
        self._frames.pop()
        os.close(frame.node.fd)
        self._first_open = min(self._first_open, len(self._frames))

    def _hold_parent(self, index: int) -> None:
        """Open the directory above again by "..", and see that it is the one left."""
        if index > self._first_open:
            return
        above, here = self._frames[index - 1].node, self._frames[index].node
        fd = os.open("..", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=here.fd)
        above.fd, self._first_open = fd, index - 1
        found, known = os.fstat(fd), above.stat
        if known is None or (found.st_dev, found.st_ino) != (known.st_dev, known.st_ino):
            raise StorageError("a directory moved during the walk", place=repr(above.name))


def _look(fd: int, path: bytes, name: bytes, parent: int) -> Node:
    status = os.fstat(fd)
    kind = KINDS.get(stat.S_IFMT(status.st_mode), "unknown")
    return Node(path, name, parent, fd, status, kind)


def _names(fd: int) -> tuple[list[bytes], bool]:
    try:
        listing = reopen(fd, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        return [], True
    with opened(listing):
        return sorted(map(os.fsencode, os.listdir(listing)), reverse=True), False
