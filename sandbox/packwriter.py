"""Writing a git pack: many contents in one file, without git.

A million small files as loose objects are a million inodes and as many
renames; as a pack they are two files. A pack here holds whole objects and no
deltas.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from array import array
from collections.abc import Iterable
from typing import BinaryIO

from rolewall.errors import StorageError

__all__ = ["KINDS", "PACK_BYTES", "PACK_OBJECTS", "RAW", "WHOLE", "PackWriter", "decode"]

WHOLE = 4 * 1024 * 1024
"""Bytes of the largest object that is read back whole."""

RAW = WHOLE + WHOLE // 8 + 64
"""More bytes than such an object has in a pack: some zlibs make nine bits of eight."""

PACK_BYTES = 1024 * 1024 * 1024
PACK_OBJECTS = 1 << 18
"""A pack of the store is finished once it has as many, of either."""

KINDS = {b"commit": 1, b"tree": 2, b"blob": 3}
_NAMES = {number: name for name, number in KINDS.items()}
_OFFSET_MAX = (1 << 31) - 1  # a greater one has another form in an index
_CHUNK = 1024 * 1024
_HEAD = 12
_LEVEL = 1  # speed: a content is written once and seldom read


def _object_head(kind: bytes, size: int) -> bytes:
    """Type and size as a pack has them: four bits of the size, then seven a byte."""
    first, size = KINDS[kind] << 4 | size & 15, size >> 4
    head = bytearray()
    while size:
        head.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    head.append(first)
    return bytes(head)


class PackWriter:
    """One pack being written to ``file``, which is empty and open for reading too.

    All methods raise OSError: the disk failed, and the file is worthless.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self._offsets = array("L")
        self._crcs = array("L")
        self._places: dict[bytes, int] = {}
        self._end = _HEAD
        file.write(bytes(_HEAD))

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, oid: bytes) -> bool:
        return oid in self._places

    @property
    def size(self) -> int:
        return self._end

    def add(self, oid: bytes, kind: bytes, data: bytes) -> None:
        self.add_raw(oid, _object_head(kind, len(data)) + zlib.compress(data, _LEVEL))

    def add_raw(self, oid: bytes, raw: bytes) -> None:
        """Add an object as another pack holds it."""
        self._begin(oid)
        self._append(raw)

    def add_chunks(self, oid: bytes, kind: bytes, size: int, chunks: Iterable[bytes]) -> None:
        """Add an object of any size piece by piece."""
        self._begin(oid)
        self._append(_object_head(kind, size))
        packer = zlib.compressobj(_LEVEL)
        for chunk in chunks:
            self._append(packer.compress(chunk))
        self._append(packer.flush())

    def _begin(self, oid: bytes) -> None:
        if self._end > _OFFSET_MAX:
            raise StorageError("a pack cannot be larger", got=self._end, expected=_OFFSET_MAX)
        self._places[oid] = len(self._offsets)
        self._offsets.append(self._end)
        self._crcs.append(0)

    def _append(self, raw: bytes) -> None:
        self.file.write(raw)
        self._crcs[-1] = zlib.crc32(raw, self._crcs[-1])
        self._end += len(raw)

    def read(self, oid: bytes) -> bytes:
        """The content of an object that has been added."""
        self.file.flush()
        place = self._places[oid]
        following = place + 1
        end = self._offsets[following] if following < len(self._offsets) else self._end
        start = self._offsets[place]
        return decode(os.pread(self.file.fileno(), end - start, start))[1]

    def finish(self) -> tuple[bytes, bytes]:
        """Complete the file and have it on the disk; its checksum, and its index."""
        self.file.flush()
        fd = self.file.fileno()
        os.pwrite(fd, b"PACK" + struct.pack(">LL", 2, len(self._places)), 0)
        checksum, offset = hashlib.sha1(usedforsecurity=False), 0
        while data := os.pread(fd, _CHUNK, offset):
            checksum.update(data)
            offset += len(data)
        os.pwrite(fd, checksum.digest(), offset)
        os.fsync(fd)
        return checksum.digest(), self._index(checksum.digest())

    def _index(self, checksum: bytes) -> bytes:
        oids = sorted(self._places)
        order = [self._places[oid] for oid in oids]
        fan, counts = bytearray(), [0] * 256
        for oid in oids:
            counts[oid[0]] += 1
        total = 0
        for count in counts:
            total += count
            fan += struct.pack(">L", total)
        data = b"\xfftOc" + struct.pack(">L", 2) + fan + b"".join(oids)
        data += struct.pack(f">{len(order)}L", *(self._crcs[place] for place in order))
        data += struct.pack(f">{len(order)}L", *(self._offsets[place] for place in order))
        data += checksum
        return data + hashlib.sha1(data, usedforsecurity=False).digest()


def decode(raw: bytes) -> tuple[bytes, bytes]:
    """Kind and content of an object as it lies in a pack. ValueError, zlib.error."""
    position, shift = 1, 4
    byte = raw[0]
    kind, size = _NAMES.get(byte >> 4 & 7), byte & 15
    while byte & 0x80:
        byte = raw[position]
        size |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
    if kind is None or size > WHOLE:
        raise ValueError("not an object of this store's own")
    data = zlib.decompressobj().decompress(raw[position:], size + 1)
    if len(data) != size:
        raise ValueError("not as long as it says")
    return kind, data
