"""Keeping many contents at once: one pack in place of a file each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rolewall.sandbox.beneath import storage
from rolewall.sandbox.blobs import BlobStore
from rolewall.sandbox.content import read_exactly
from rolewall.sandbox.objects import Collision, Stored, object_id
from rolewall.sandbox.packwriter import PACK_BYTES, PACK_OBJECTS, WHOLE, PackWriter

__all__ = ["Batch", "batch"]

_FEW = 512  # objects that stay loose: packs must not become many
_FEW_BYTES = 8 * 1024 * 1024


@contextmanager
def batch(store: BlobStore) -> Iterator[Batch]:
    """Keep contents in ``store``, where they can be read after the block.

    For one thread. After an error nothing half written is left. Raises
    StorageError.
    """
    kept = Batch(store)
    try:
        yield kept
        kept.finish()
    finally:
        kept.close()


class Batch:
    """What ``batch`` gives: the same as ``BlobStore``'s methods of these names."""

    def __init__(self, store: BlobStore) -> None:
        self._store = store
        self._few: dict[str, tuple[bytes, bytes]] = {}
        self._few_bytes = 0
        self._writer: PackWriter | None = None

    def put_file(self, fd: int, size: int) -> Stored:
        if size > WHOLE:
            return self._store.put_file(fd, size)
        return self.put_bytes(read_exactly(fd, size))

    def put_bytes(self, data: bytes, kind: bytes = b"blob") -> Stored:
        stored = Stored(hashlib.sha256(data).hexdigest(), object_id(kind, data), len(data))
        if not self._has(stored, data) and not self._store.holds(stored):
            self._keep(stored, kind, data)
        return stored

    def _has(self, stored: Stored, data: bytes) -> bool:
        name = bytes.fromhex(stored.oid)
        if stored.oid in self._few:
            before = self._few[stored.oid][1]
        elif self._writer is not None and name in self._writer:
            with storage(self._store.path):
                before = self._writer.read(name)
        else:
            return False
        if before != data:
            raise Collision(stored.oid, stored.sha256)
        return True

    def _keep(self, stored: Stored, kind: bytes, data: bytes) -> None:
        # What stands damaged in a pack is outranked by a loose object only.
        damaged = self._store.packs.find(bytes.fromhex(stored.oid)) is not None
        if damaged or len(data) > WHOLE:
            self._store.put_bytes(data, kind)
        elif self._writer is not None:
            self._add(self._writer, stored.oid, kind, data)
        else:
            self._few[stored.oid] = (kind, data)
            self._few_bytes += len(data)
            if len(self._few) > _FEW or self._few_bytes > _FEW_BYTES:
                self._pour()

    def _pour(self) -> None:
        """Move what has become many into a pack; loose, where there can be none."""
        with storage(self._store.path):
            self._writer = self._store.packs.begin()
        for oid, (kind, data) in self._few.items():
            if self._writer is None:
                self._store.put_bytes(data, kind)
            else:
                self._add(self._writer, oid, kind, data)
        self._few, self._few_bytes = {}, 0

    def _add(self, writer: PackWriter, oid: str, kind: bytes, data: bytes) -> None:
        with storage(self._store.path):
            writer.add(bytes.fromhex(oid), kind, data)
            if len(writer) >= PACK_OBJECTS or writer.size >= PACK_BYTES:
                self._store.packs.publish(writer)
                self.close()

    def finish(self) -> None:
        """Have all that was kept where it can be read."""
        for kind, data in self._few.values():
            self._store.put_bytes(data, kind)
        if self._writer is not None:
            with storage(self._store.path):
                self._store.packs.publish(self._writer)

    def close(self) -> None:
        """Drop a pack that was not finished."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with suppress(OSError):  # what it could not write out is dropped too
                writer.file.close()
