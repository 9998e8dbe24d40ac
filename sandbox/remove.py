"""Removing what a role left: any depth, any mode, immutable or not.

No link is followed and no mount is crossed.
"""

from __future__ import annotations

import array
import errno
import fcntl
import os
import stat
from collections.abc import Callable
from pathlib import Path

from rolewall.sandbox.beneath import Location, open_entry, opened, proc_path, reopen, storage
from rolewall.sandbox.walker import Node, walk

__all__ = ["empty_directory", "remove_tree"]

_GETFLAGS, _SETFLAGS = 0x80086601, 0x40086602
_IMMUTABLE_APPEND = 0x10 | 0x20


def remove_tree(path: Path) -> None:
    """Remove a file, link or whole directory; nothing there is no error.

    Works as root, or as the owner of what is to be removed. Raises
    StorageError, when a mount lies inside too; what was removed by then stays
    removed.
    """
    with storage(path):
        try:
            parent = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        with opened(parent):
            remove_beneath(parent, os.fsencode(path.name))


def remove_beneath(parent: int, name: bytes) -> None:
    """The same for an entry of an open directory. Raises OSError or StorageError."""
    try:
        fd = open_entry(parent, name)
    except FileNotFoundError:
        return
    with opened(fd):
        is_dir = stat.S_ISDIR(os.fstat(fd).st_mode)
        if is_dir:
            empty_directory(fd)
        _unlink(parent, name, fd, is_dir)


def empty_directory(where: Location) -> None:
    """Remove all that a directory holds, and keep the directory itself."""
    with storage(where):
        for node in walk(where, paths=False, unopened=_by_name):
            if node.kind == "dir" and not node.leaving:
                _open_up(node)
            elif node.name:
                _unlink(node.parent, node.name, node.fd, node.kind == "dir")


def _open_up(node: Node) -> None:
    """Make a directory listable and its entries removable by its owner."""
    if node.stat is None or node.stat.st_mode & 0o700 == 0o700:
        return
    mode = stat.S_IMODE(node.stat.st_mode) | 0o700
    _insist(lambda: os.chmod(proc_path(node.fd), mode), node.fd)


def _by_name(_: bytes, status: os.stat_result) -> bool:
    """What is no directory goes without being opened."""
    return not stat.S_ISDIR(status.st_mode)


def _unlink(parent: int, name: bytes, fd: int, is_dir: bool) -> None:
    def remove() -> None:
        (os.rmdir if is_dir else os.unlink)(name, dir_fd=parent)

    try:
        remove()
    except PermissionError:
        with opened(open_entry(parent, name) if fd < 0 else os.dup(fd)) as entry:
            _insist(remove, parent, entry)


def _insist(action: Callable[[], None], *held: int) -> None:
    """Try; where the kernel refuses, clear the immutable and append-only flags and try again."""
    try:
        action()
    except OSError as error:
        if error.errno != errno.EPERM:
            raise
        cleared = [fd for fd in held if fd >= 0 and _clear_flags(fd)]
        if not cleared:
            raise
        action()


def _clear_flags(fd: int) -> bool:
    """Whether there were flags and they are gone. Only files and directories are opened."""
    mode = os.fstat(fd).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return False
    flags = array.array("l", [0])
    try:
        with opened(reopen(fd, os.O_RDONLY | os.O_NONBLOCK)) as file:
            fcntl.ioctl(file, _GETFLAGS, flags)
            if not flags[0] & _IMMUTABLE_APPEND:
                return False
            flags[0] &= ~_IMMUTABLE_APPEND
            fcntl.ioctl(file, _SETFLAGS, flags)
    except OSError:
        return False  # no flags here, or not ours to clear: the first error says more
    return True
