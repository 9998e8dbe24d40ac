"""Contents, by digest: a bare git repository of the harness's own.

Objects are written and read directly, without filters, attributes, hooks or
any git command. Content passes through in chunks; only files of up to
``WHOLE`` bytes are held in memory whole. What is kept one by one becomes a
loose object each; see ``batch`` for many. Git may read the repository, nothing
ever repacks it.
"""

from __future__ import annotations

import ctypes
import hashlib
import io
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from gitdb import IStream, LooseObjectDB
from gitdb.exc import BadObject

from rolewall.errors import StorageError
from rolewall.sandbox.barestore import make_store, sweep_store
from rolewall.sandbox.beneath import storage
from rolewall.sandbox.content import Changed, read_exactly
from rolewall.sandbox.objects import Collision, HashingStream, Stored, object_head, object_id
from rolewall.sandbox.packs import Packs
from rolewall.sandbox.packwriter import WHOLE, PackWriter

__all__ = ["BlobStore"]

_CHUNK = 1024 * 1024
_SEEN_MOST = 4096
_DAMAGED = (BadObject, ValueError, AssertionError, IndexError, zlib.error)


class BlobStore:
    """Contents of files, and the trees made of them, of a whole run.

    Safe for several threads and processes at once: what is written has its
    name only when it is whole. All methods raise StorageError.
    """

    def __init__(self, path: Path, *, make: bool = True) -> None:
        """Open the repository at ``path``; with ``make``, what is absent is made first."""
        self.path = path
        with storage(path):
            if make:
                make_store(path)
            self.packs = Packs(path / "objects" / "pack")
        self._objects = LooseObjectDB(os.fspath(path / "objects"))
        self._seen: dict[str, str] = {}  # object id -> SHA-256, of some that were verified

    def put(self, stream: BinaryIO, size: int) -> Stored:
        """Keep ``size`` bytes of ``stream``; Changed when it holds fewer."""
        if size <= WHOLE:
            return self.put_bytes(self._whole(stream, size))
        reader = HashingStream(stream, size)
        with self._guard("a content cannot be kept"):
            oid: str = self._objects.store(IStream(b"blob", size, reader)).hexsha.decode()
        if reader.left:
            raise Changed(size - reader.left, size)
        stored = Stored(reader.sha256.hexdigest(), oid, size)
        self.holds(stored)
        return stored

    def put_file(self, fd: int, size: int) -> Stored:
        """Keep the content of an open file from its beginning."""
        if size <= WHOLE:
            return self.put_bytes(read_exactly(fd, size))
        with open(fd, "rb", buffering=0, closefd=False) as stream:
            return self.put(stream, size)

    def put_bytes(self, data: bytes, kind: bytes = b"blob") -> Stored:
        """Keep a content, or another git object, that is in memory."""
        stored = Stored(hashlib.sha256(data).hexdigest(), object_id(kind, data), len(data))
        if not self.holds(stored):
            with self._guard("a content cannot be kept"):
                self._objects.store(IStream(kind, len(data), io.BytesIO(data)))
            self._remember(stored)
        return stored

    def get(self, oid: str, sha256: str = "") -> bytes:
        """A content in memory; with ``sha256``, checked against it."""
        return b"".join(self.chunks(oid, sha256))

    def chunks(self, oid: str, sha256: str = "") -> Iterator[bytes]:
        """A content piece by piece; a mismatch raises after the last piece."""
        hasher = hashlib.sha256()
        with self._guard("a content cannot be read", oid):
            _, size, pieces = self._open(oid)
            for piece in pieces:
                size -= len(piece)
                hasher.update(piece)
                yield piece
        if size or (sha256 and hasher.hexdigest() != sha256):
            raise StorageError("a stored content is damaged", place=f"{self.path}: {oid}")

    def write_pack(
        self, oids: Iterable[str], extra: dict[str, tuple[bytes, bytes]], pack: Path, index: Path
    ) -> None:
        """Write stored blobs and ``extra`` objects (id: kind, data) into one git pack."""
        guard = self._guard("a pack cannot be written")
        with storage(pack), open(pack, "x+b", buffering=_CHUNK) as file, guard:
            writer = PackWriter(file)
            for oid, (kind, data) in sorted(extra.items()):
                writer.add(bytes.fromhex(oid), kind, data)
            for name in self.packs.copy(map(bytes.fromhex, sorted(set(oids))), writer):
                kind, size, pieces = self._open(name.hex())
                writer.add_chunks(name, kind, size, pieces)
            index.write_bytes(writer.finish()[1])

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

    def sweep(self) -> None:
        """Remove what writers that were killed left unfinished; nobody may be writing."""
        sweep_store(self.path)

    def holds(self, stored: Stored) -> bool:
        """Whether this very content stands in the store, whole, under its id.

        A damaged one, as a crash may leave it, is none; raises Collision for
        a sound one that differs.
        """
        known = self._seen.get(stored.oid, "")
        if not known:
            if not self._has(stored.oid):
                return False
            known = self._digest_of(stored.oid)
        if known == stored.sha256:
            self._remember(stored)
            return True
        if known:
            raise Collision(stored.oid, stored.sha256)
        with storage(self.path), suppress(FileNotFoundError):
            os.unlink(self._loose(stored.oid))
        return False

    def _remember(self, stored: Stored) -> None:
        if len(self._seen) >= _SEEN_MOST:
            self._seen = {}
        self._seen[stored.oid] = stored.sha256

    def _loose(self, oid: str) -> str:
        return f"{self.path}/objects/{oid[:2]}/{oid[2:]}"

    def _has(self, oid: str) -> bool:
        return _is_plain(self._loose(oid)) or self.packs.find(bytes.fromhex(oid)) is not None

    def _open(self, oid: str) -> tuple[bytes, int, Iterable[bytes]]:
        """Kind, size and pieces of an object.

        A loose one comes first: it replaces a damaged one in a pack, which
        cannot be taken out of it.
        """
        name = bytes.fromhex(oid)
        if _is_plain(self._loose(oid)):
            stream = self._objects.stream(name)
            return stream.type, int(stream.size), _pieces(stream, int(stream.size))
        found = self.packs.find(name)
        if found is None:
            self.packs.look()
            found = self.packs.find(name)
        if found is None:
            raise BadObject(name)
        kind, data = found[0].read(found[1])
        return kind, len(data), (data,)

    def _digest_of(self, oid: str) -> str:
        """SHA-256 of a stored object's content, "" where it is not what its id says."""
        sha256 = hashlib.sha256()
        try:
            kind, size, pieces = self._open(oid)
            sha1 = hashlib.sha1(object_head(kind, size), usedforsecurity=False)
            for piece in pieces:
                sha256.update(piece)
                sha1.update(piece)
        except (OSError, *_DAMAGED):
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
        except _DAMAGED as error:
            raise StorageError(message, place=place) from error


def _is_plain(path: str) -> bool:
    """Whether a regular file is there: a FIFO in a stranger's run would be waited for."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _pieces(stream: BinaryIO, left: int) -> Iterator[bytes]:
    while left > 0 and (piece := stream.read(min(_CHUNK, left))):
        left -= len(piece)
        yield piece
