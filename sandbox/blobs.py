"""Contents, by digest: a bare git repository of the harness's own.

Objects are written and read directly, without filters, attributes, hooks or
any git command. Content passes through in chunks; only files of up to
``_WHOLE`` bytes are held in memory whole. Objects stay loose: git may read
the repository, nothing ever repacks it.
"""

from __future__ import annotations

import ctypes
import hashlib
import io
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from gitdb import IStream, LooseObjectDB, OStream
from gitdb.exc import BadObject
from gitdb.pack import PackEntity

from rolewall.errors import StorageError
from rolewall.sandbox.beneath import make_directory, storage
from rolewall.sandbox.content import Changed, read_exactly

__all__ = ["BlobStore", "Collision", "Stored", "object_id"]

_WHOLE = 4 * 1024 * 1024
_CHUNK = 1024 * 1024
_DAMAGED = (OSError, BadObject, ValueError, AssertionError, zlib.error)


@dataclass(frozen=True, slots=True)
class Stored:
    """A content in the store: SHA-256 in hex, git object id in hex, bytes."""

    sha256: str
    oid: str
    size: int


class Collision(StorageError):
    """Two contents with one git id (SHA-1): the second is not kept.

    Such a pair can be made on purpose, so a content is always checked by its
    SHA-256.
    """

    def __init__(self, oid: str, sha256: str) -> None:
        super().__init__("two contents with one git object id", got=oid)
        self.sha256 = sha256


def object_id(kind: bytes, data: bytes) -> str:
    """The id that git gives to an object."""
    return hashlib.sha1(_header(kind, len(data)) + data, usedforsecurity=False).hexdigest()


def _header(kind: bytes, size: int) -> bytes:
    return b"%b %d\0" % (kind, size)


class BlobStore:
    """Contents of files, and the trees made of them, of a whole run.

    Safe for several threads and processes at once: an object is written to a
    temporary file and renamed into place. All methods raise StorageError.
    """

    def __init__(self, path: Path) -> None:
        """Open the repository at ``path``, making it if there is none."""
        self.path = path
        with storage(path):
            _make_bare(path)
        self._objects = LooseObjectDB(os.fspath(path / "objects"))
        self._seen: dict[str, str] = {}  # object id -> SHA-256, verified by this process

    def put(self, stream: BinaryIO, size: int) -> Stored:
        """Keep ``size`` bytes of ``stream``; Changed when it holds fewer."""
        if size <= _WHOLE:
            return self.put_bytes(self._whole(stream, size))
        reader = _Hashing(stream, size)
        with self._guard("a content cannot be kept"):
            oid: str = self._objects.store(IStream(b"blob", size, reader)).hexsha.decode()
        if reader.left:
            raise Changed(size - reader.left, size)
        stored = Stored(reader.sha256.hexdigest(), oid, size)
        self._verify(stored)
        return stored

    def put_file(self, fd: int, size: int) -> Stored:
        """Keep the content of an open file from its beginning."""
        if size <= _WHOLE:
            return self.put_bytes(read_exactly(fd, size))
        with open(fd, "rb", buffering=0, closefd=False) as stream:
            return self.put(stream, size)

    def put_bytes(self, data: bytes, kind: bytes = b"blob") -> Stored:
        """Keep a content, or another git object, that is in memory."""
        stored = Stored(hashlib.sha256(data).hexdigest(), object_id(kind, data), len(data))
        if not self._has(stored.oid) or not self._verify(stored):
            with self._guard("a content cannot be kept"):
                self._objects.store(IStream(kind, len(data), io.BytesIO(data)))
            self._seen[stored.oid] = stored.sha256
        return stored

    def get(self, oid: str, sha256: str = "") -> bytes:
        """A content in memory; with ``sha256``, checked against it."""
        return b"".join(self.chunks(oid, sha256))

    def chunks(self, oid: str, sha256: str = "") -> Iterator[bytes]:
        """A content piece by piece; a mismatch raises after the last piece."""
        hasher = hashlib.sha256()
        with self._guard("a content cannot be read", oid):
            stream = self._objects.stream(bytes.fromhex(oid))
            left = int(stream.size)
            while left > 0 and (piece := stream.read(min(_CHUNK, left))):
                left -= len(piece)
                hasher.update(piece)
                yield piece
        if left or (sha256 and hasher.hexdigest() != sha256):
            raise StorageError("a stored content is damaged", place=f"{self.path}: {oid}")

    def write_pack(
        self, oids: Iterable[str], extra: dict[str, tuple[bytes, bytes]], pack: Path, index: Path
    ) -> None:
        """Write stored blobs and ``extra`` objects (id: kind, data) into one git pack."""
        wanted = sorted(set(oids))
        with storage(pack), open(pack, "xb") as file, open(index, "xb") as index_file:
            writers: tuple[Callable[..., Any], Callable[..., Any]] = (file.write, index_file.write)
            with self._guard("a pack cannot be written"):
                objects = self._pack_objects(wanted, extra)
                PackEntity.write_pack(objects, *writers, object_count=len(wanted) + len(extra))

    def flush(self) -> None:
        """Have everything written so far on the disk: to be called before a record counts."""
        libc = ctypes.CDLL(None, use_errno=True)
        with storage(self.path):
            fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                if libc.syncfs(fd) != 0:
                    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            finally:
                os.close(fd)

    def _pack_objects(
        self, oids: list[str], extra: dict[str, tuple[bytes, bytes]]
    ) -> Iterator[OStream]:
        for oid, (kind, data) in sorted(extra.items()):
            yield OStream(bytes.fromhex(oid), kind, len(data), io.BytesIO(data))
        for oid in oids:
            yield self._objects.stream(bytes.fromhex(oid))

    def _has(self, oid: str) -> bool:
        return oid in self._seen or (self.path / "objects" / oid[:2] / oid[2:]).exists()

    def _verify(self, stored: Stored) -> bool:
        """Whether the object that stands in the store under this id is this very content.

        A damaged one, as a crash may leave it, is removed; raises Collision
        for a sound one that differs.
        """
        known = self._seen.get(stored.oid) or self._digest_of(stored.oid)
        if known == stored.sha256:
            self._seen[stored.oid] = known
            return True
        if known:
            raise Collision(stored.oid, stored.sha256)
        with storage(self.path):
            (self.path / "objects" / stored.oid[:2] / stored.oid[2:]).unlink(missing_ok=True)
        return False

    def _digest_of(self, oid: str) -> str:
        """SHA-256 of a stored object's content, "" where it is not what its id says."""
        sha256 = hashlib.sha256()
        try:
            stream = self._objects.stream(bytes.fromhex(oid))
            sha1 = hashlib.sha1(_header(stream.type, stream.size), usedforsecurity=False)
            while piece := stream.read(_CHUNK):
                sha256.update(piece)
                sha1.update(piece)
        except _DAMAGED:
            return ""
        return sha256.hexdigest() if sha1.hexdigest() == oid else ""

    def _whole(self, stream: BinaryIO, size: int) -> bytes:
        with storage(self.path):
            data = stream.read(size)
            while len(data) < size and (more := stream.read(size - len(data))):
                data += more
        if len(data) != size:
            raise Changed(len(data), size)
        return data

    @contextmanager
    def _guard(self, message: str, oid: str = "") -> Iterator[None]:
        place = f"{self.path}: {oid}" if oid else str(self.path)
        try:
            with storage(place):
                yield
        except (BadObject, ValueError, AssertionError, zlib.error) as error:
            raise StorageError(message, place=place) from error


class _Hashing:
    """A stream of at most ``left`` bytes, hashed as it is read."""

    def __init__(self, stream: BinaryIO, left: int) -> None:
        self._stream = stream
        self.left = left
        self.sha256 = hashlib.sha256()

    def read(self, size: int) -> bytes:
        """Exactly ``size`` bytes while there are as many: the writer takes less for the end."""
        wanted = min(size, self.left)
        data = self._stream.read(wanted)
        while len(data) < wanted and (more := self._stream.read(wanted - len(data))):
            data += more
        self.left -= len(data)
        self.sha256.update(data)
        return data


_LAYOUT = {
    "HEAD": "ref: refs/heads/main\n",
    "config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
    "[gc]\n\tauto = 0\n",
}


def _make_bare(path: Path) -> None:
    make_directory(path)
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
        (path / name).mkdir(parents=True, exist_ok=True)
    for name, text in _LAYOUT.items():
        with suppress(FileExistsError), open(path / name, "x", encoding="ascii") as file:
            file.write(text)
