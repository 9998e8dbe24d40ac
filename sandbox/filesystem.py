"""Which file systems can be trusted with the times of a file."""

from __future__ import annotations

import ctypes
import os

__all__ = ["notes_changes"]

_EXT, _XFS, _BTRFS = 0xEF53, 0x58465342, 0x9123683E
_STATFS_BYTES = 256  # more than struct statfs has on any architecture; f_type, a long, is first

_libc = ctypes.CDLL(None, use_errno=True)


def notes_changes(fd: int) -> bool:
    """Whether each change of a file's content sets its ctime, on the file system of ``fd``.

    On tmpfs a store into a shared mapping sets no time once the page was read, and of a
    file system that is not known here no promise is known. Ioctls that swap blocks
    without a trace are the tap's to refuse. Raises OSError.
    """
    found = ctypes.create_string_buffer(_STATFS_BYTES)
    if _libc.fstatfs(fd, found) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    kind = ctypes.c_long.from_buffer(found).value & 0xFFFFFFFF
    return kind in (_EXT, _XFS, _BTRFS)
