"""What a file holds, as a digest that does not depend on how it is stored.

Up to ``BLOCKS_ABOVE`` bytes the digest is ``sha256:`` of the content. Above,
it is ``blocks:``, the SHA-256 of the size and of every aligned 64 KiB block
that is not all zero, each after its offset. Holes are skipped by
``SEEK_DATA``, so a sparse terabyte takes no longer than the data in it, and
its copy has the same digest wherever its holes lie.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator

from rolewall.errors import StorageError

__all__ = ["BLOCKS_ABOVE", "Changed", "data_extents", "digest", "read_exactly"]

BLOCKS_ABOVE = 256 * 1024 * 1024
_BLOCK = 64 * 1024
_CHUNK = 1024 * 1024


class Changed(StorageError):
    """A file was not as long as it was said to be: somebody writes it."""

    def __init__(self, found: int, size: int) -> None:
        super().__init__("a file changed while it was read", got=found, expected=f"{size} bytes")


def digest(fd: int, size: int, allowance: int) -> str:
    """The digest of an open file of ``size`` bytes.

    ``""`` when more than ``allowance`` bytes would have to be read. Raises
    Changed when the file is not ``size`` bytes long, OSError when it cannot be
    read.
    """
    if size > BLOCKS_ABOVE:
        return _blocks(fd, size, allowance)
    if size > allowance:
        return ""
    hasher = hashlib.sha256()
    offset = 0
    while data := os.pread(fd, _CHUNK, offset):
        hasher.update(data)
        offset += len(data)
    _check(offset, size)
    return f"sha256:{hasher.hexdigest()}"


def read_exactly(fd: int, size: int) -> bytes:
    """The whole content of a small file; Changed when it is not ``size`` bytes long."""
    data = os.pread(fd, size + 1, 0)
    while 0 < len(data) < size and (more := os.pread(fd, size + 1 - len(data), len(data))):
        data += more
    _check(len(data), size)
    return data


def _check(found: int, size: int) -> None:
    if found != size:
        raise Changed(found, size)


def _blocks(fd: int, size: int, allowance: int) -> str:
    hasher = hashlib.sha256(size.to_bytes(8, "big"))
    zero = bytes(_BLOCK)
    done = 0  # blocks before this offset have been read: two extents may share one
    for start, end in data_extents(fd, size):
        offset = max(done, start - start % _BLOCK)
        while offset < end:
            block = os.pread(fd, _BLOCK, offset)
            if not block:
                raise Changed(offset, size)
            allowance -= len(block)
            if allowance < 0:
                return ""
            if block != zero[: len(block)]:
                hasher.update(offset.to_bytes(8, "big") + block)
            offset += _BLOCK
        done = offset
    return f"blocks:{hasher.hexdigest()}"


def data_extents(fd: int, size: int) -> Iterator[tuple[int, int]]:
    """Start and end of each stretch of a file that is not a hole."""
    offset = 0
    while offset < size:
        try:
            start = os.lseek(fd, offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole is left
                return
            raise
        offset = os.lseek(fd, start, os.SEEK_HOLE)
        yield start, offset
