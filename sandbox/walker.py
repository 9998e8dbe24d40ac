"""Walking a directory that a hostile role could write.

The walk holds descriptors, not paths: entries may lie deeper than PATH_MAX,
names are bytes, no link is followed and no mount crossed. It is iterative and
keeps a bounded number of descriptors open, so neither depth nor width can
exhaust it. While a process that can write the directory is alive, the walk
still reaches nothing outside, but what it sees is of no single moment.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from rolewall.errors import StorageError
from rolewall.sandbox.beneath import Location, directory, open_entry, opened, reopen, storage
from rolewall.sandbox.stopping import check_stop

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
        fd: ``O_PATH`` descriptor of the entry, valid until the walk goes on; -1
            where it could not be looked at or was left unopened.
        stat: what ``fstat`` says (of an entry left unopened, ``stat`` of its
            name), None where it could not be looked at.
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


Unopened = Callable[[bytes, os.stat_result], bool]


def walk(
    where: Location, *, paths: bool = True, unopened: Unopened | None = None
) -> Iterator[Node]:
    """Visit every entry beneath ``where``, each directory before and after what it holds.

    Order is by the bytes of the names. A consumer may change or remove the
    entry it stands at, and set ``node.skip``. An unreadable directory is
    visited twice in a row, the second time with ``skip`` set.

    ``unopened`` is asked, with path and ``stat``, about every entry that is no
    directory: where it says yes, the entry is visited without being opened,
    which spares most of a visit's time.

    Raises StorageError, also when a mount lies inside (on an entry left
    unopened it is not seen); Interrupted in a block that is ``stoppable``.
    """
    with directory(where) as root, storage(where):
        yield from _Walk(paths, unopened).run(root)


class _Walk:
    def __init__(self, paths: bool, unopened: Unopened | None) -> None:
        self._paths = paths
        self._unopened = unopened
        self._frames: list[_Frame] = []
        self._first_open = 0

    def run(self, root: int) -> Iterator[Node]:
        try:
            yield from self._enter(_look(os.dup(root), b"", b"", -1))
            for number in itertools.count():
                if not self._frames:
                    break
                check_stop(number)
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
            if self._unopened is not None and (glance := self._glance(path, name, parent)):
                yield glance
                return
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

    def _glance(self, path: bytes, name: bytes, parent: int) -> Node | None:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        kind = _kind(status)
        if kind == "dir" or self._unopened is None or not self._unopened(path, status):
            return None
        return Node(path, name, parent, -1, status, kind)

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
            gone = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            raise StorageError(
                "a directory moved during the walk", place=repr(above.name)
            ) from gone


def _look(fd: int, path: bytes, name: bytes, parent: int) -> Node:
    status = os.fstat(fd)
    return Node(path, name, parent, fd, status, _kind(status))


def _kind(status: os.stat_result) -> str:
    return KINDS.get(stat.S_IFMT(status.st_mode), "unknown")


def _names(fd: int) -> tuple[list[bytes], bool]:
    try:
        listing = reopen(fd, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        return [], True
    with opened(listing):
        return sorted(map(os.fsencode, os.listdir(listing)), reverse=True), False
