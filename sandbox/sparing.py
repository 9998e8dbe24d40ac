"""Keeping a copy as small as what it is a copy of: holes and hard links cost nothing twice.

A role pays for blocks. A file of holes under a thousand names, written out name by
name, would fill the host's disk from a zone that holds next to nothing.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Hashable, Iterator

from rolewall.sandbox.beneath import open_beneath, proc_path

__all__ = ["FurtherNames", "write_sparse"]

_BLOCK = 4096
_ZERO = bytes(_BLOCK)


class FurtherNames:
    """Gives a file that is in the copy the further names that it had in its source."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._first: dict[Hashable, bytes] = {}  # what a file is known by -> its path in the copy
        self._last = b""
        self._fd = -1  # of the last one, since its names may be many and its path long

    def add(self, file: Hashable, path: bytes, at: int, name: bytes) -> bool:
        """Whether ``path``, ``name`` in the directory ``at``, is in the copy now; else
        it is to be written, as the first of the names of ``file``."""
        before = self._first.get(file)
        if before is not None and self._link(before, at, name):
            return True
        self._first[file] = path
        return False

    def _link(self, before: bytes, at: int, name: bytes) -> bool:
        if before != self._last:
            self.close()
            self._fd = open_beneath(self._root, before, os.O_PATH)
            self._last = before
        try:
            os.link(proc_path(self._fd), name, dst_dir_fd=at, follow_symlinks=True)
        except OSError as error:
            if error.errno != errno.EMLINK:
                raise
            return False
        return True

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._last = -1, b""


def write_sparse(fd: int, data: bytes, offset: int) -> None:
    """Write what is not zero of ``data`` to an empty file, at ``offset``."""
    view = memoryview(data)
    for start, end in _filled(data, offset):
        done = start
        while done < end:
            done += os.pwrite(fd, view[done:end], offset + done)


def _filled(data: bytes, offset: int) -> Iterator[tuple[int, int]]:
    """Start and end of each stretch of aligned blocks that are not all zero."""
    start = end = 0
    while end < len(data):
        here, end = end, min(len(data), end + _BLOCK - (offset + end) % _BLOCK)
        if data[here:end] == _ZERO[: end - here]:
            if start < here:
                yield start, here
            start = end
    if start < end:
        yield start, end
