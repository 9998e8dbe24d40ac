"""The packs of the blob store: made, named and read without git."""

from __future__ import annotations

import errno
import os
import struct
import sys
import threading
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

from rolewall._files import open_regular
from rolewall.errors import StorageError
from rolewall.sandbox.packwriter import PACK_BYTES, PACK_OBJECTS, RAW, PackWriter, decode

__all__ = ["PackReader", "Packs", "may_be_pack"]

_CHUNK = 1024 * 1024
_HASH = 20
_FAN = 8 + 256 * 4  # bytes of an index before its names
_ENTRY = _HASH + 8  # a name, its CRC and where it begins
_INDICES = 1 << 30  # bytes of all indices that are held
_NO_NAMELESS = (errno.EOPNOTSUPP, errno.EISDIR)  # answers of file systems without O_TMPFILE


def may_be_pack(suffix: str, size: int) -> bool:
    """Whether a file of ``size`` bytes can be a pack (``pack``) of a store, or its index
    (``idx``): a stranger's, sparse, may be larger than can ever be read."""
    if suffix == "idx":
        count, rest = divmod(size - _FAN - 2 * _HASH, _ENTRY)
        return rest == 0 and 0 <= count <= PACK_OBJECTS
    return size <= PACK_BYTES + RAW + _HASH


class _Names:
    """The sorted names of an index, as ``bisect`` wants them."""

    __slots__ = ("_count", "_data")

    def __init__(self, data: bytes, count: int) -> None:
        self._data, self._count = data, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: int) -> bytes:
        start = _FAN + place * _HASH
        return self._data[start : start + _HASH]


class PackReader:
    """One finished pack. Only its index is held, and nothing stays open.

    Raises ValueError where the index is none, OSError where it cannot be read.
    """

    def __init__(self, index: Path) -> None:
        self.path = index.with_suffix(".pack")
        self._index = _read_index(index)
        if self._index[:8] != b"\xfftOc\0\0\0\2":
            raise ValueError("not an index of a pack")
        self._fan = struct.unpack_from(">256L", self._index, 8)
        count = self._fan[255]
        if self.size != _FAN + count * _ENTRY + 2 * _HASH:
            raise ValueError("an index of another length")
        if any(more < less for less, more in pairwise(self._fan)):
            raise ValueError("an index in no order")
        self._names = _Names(self._index, count)
        offsets = array("I", self._index[_FAN + count * (_HASH + 4) : -2 * _HASH])
        if sys.byteorder == "little":
            offsets.byteswap()
        self._offsets = offsets
        self._ends: array[int] | None = None

    @property
    def size(self) -> int:
        """Bytes of the index."""
        return len(self._index)

    def find(self, oid: bytes) -> int:
        """Where an object begins, -1 where this pack has none of that name."""
        first = oid[0]
        low = self._fan[first - 1] if first else 0
        high = self._fan[first]
        place = bisect_left(self._names, oid, low, high)
        return self._offsets[place] if place < high and self._names[place] == oid else -1

    def read(self, start: int) -> tuple[bytes, bytes]:
        """Kind and content of the object that begins there. ValueError, zlib.error, OSError."""
        with self.opened() as fd:
            return decode(self.raw(fd, start))

    @contextmanager
    def opened(self) -> Iterator[int]:
        fd = open_regular(self.path)
        try:
            yield fd
        finally:
            os.close(fd)

    def raw(self, fd: int, start: int) -> bytes:
        """An object's bytes as they lie in the pack, which is open as ``fd``.

        Raises ValueError where they are more than an object here ever has, or none.
        """
        if self._ends is None:
            self._ends = array("I", sorted(self._offsets))
        following = bisect_right(self._ends, start)
        last = following == len(self._ends)
        end = os.fstat(fd).st_size - _HASH if last else self._ends[following]
        if not 0 < end - start <= RAW:
            raise ValueError("not an object of this store's own")
        return os.pread(fd, end - start, start)


class Packs:
    """All finished packs in a directory. Safe for several threads."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._readers: dict[str, PackReader | None] = {}
        self._held = 0
        self._lock = threading.Lock()
        self.look()

    def look(self) -> None:
        """Find packs that another process made. One that is broken holds nothing, and one
        that cannot be opened is tried again the next time.

        Raises StorageError where the indices are more than can be held.
        """
        with self._lock:
            for name in sorted(os.listdir(self._directory)):
                if name.endswith(".idx") and name not in self._readers:
                    with suppress(OSError):
                        self._readers[name] = self._reader(name)

    def _reader(self, name: str) -> PackReader | None:
        try:
            reader = PackReader(self._directory / name)
        except ValueError:
            return None
        self._held += reader.size
        if self._held > _INDICES:
            raise StorageError(
                "more packs than can be held",
                place=str(self._directory),
                expected=f"indices of at most {_INDICES} bytes together",
            )
        return reader

    def find(self, oid: bytes) -> tuple[PackReader, int] | None:
        """The pack that holds an object, and where; the newest is asked first."""
        for reader in reversed(tuple(self._readers.values())):
            if reader is not None and (start := reader.find(oid)) >= 0:
                return reader, start
        return None

    def copy(self, oids: Iterable[bytes], target: PackWriter) -> list[bytes]:
        """Copy objects as they lie; those that are in no pack are returned."""
        places: dict[PackReader, list[tuple[int, bytes]]] = {}
        absent = []
        for oid in oids:
            found = self.find(oid)
            if found:
                places.setdefault(found[0], []).append((found[1], oid))
            else:
                absent.append(oid)
        for reader, starts in places.items():
            with reader.opened() as fd:
                for start, oid in sorted(starts):
                    target.add_raw(oid, reader.raw(fd, start))
        return absent

    def begin(self) -> PackWriter | None:
        """A new pack, which is nowhere to be found before ``publish``; its file is the
        caller's to close. None where the file system has no files without a name.

        Raises OSError.
        """
        flags = os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC
        try:
            fd = os.open(self._directory, flags, 0o444)
        except OSError as error:
            if error.errno in _NO_NAMELESS:
                return None
            raise
        return PackWriter(open(fd, "w+b", buffering=_CHUNK))

    def publish(self, writer: PackWriter) -> None:
        """Finish a pack of ``begin`` and give it its name. Raises OSError."""
        checksum, index = writer.finish()
        name = f"pack-{checksum.hex()}"
        self._give_name(writer.file.fileno(), f"{name}.pack")
        fd = os.open(self._directory, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o444)
        with open(fd, "wb") as file:
            file.write(index)
            file.flush()
            os.fsync(fd)
            self._give_name(fd, f"{name}.idx")
        self.look()

    def _give_name(self, fd: int, name: str) -> None:
        at = os.open(self._directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with suppress(FileExistsError):  # named by its content, it is the same one
                os.link(f"/proc/self/fd/{fd}", name, dst_dir_fd=at, follow_symlinks=True)
        finally:
            os.close(at)


def _read_index(path: Path) -> bytes:
    with open(open_regular(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not may_be_pack("idx", size):
            raise ValueError("an index of another length")
        data = file.read(size)
    if len(data) != size:
        raise ValueError("an index that shrinks")
    return data
