"""The files of ``blobs.git``: each must be what its name says.

A loose object is named by its content, a pack by its checksum, and what else a
bare repository needs is known to the byte. So a change of any of these files is
found, whether or not a manifest names what is in it.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from rolewall._files import open_regular
from rolewall.audit.findings import Finding, entries_of, unexpected, unreadable
from rolewall.sandbox import STORE_LAYOUT, may_be_pack

__all__ = ["StoreFiles"]

BLOCK = 1 << 20
SHA1 = 20
TOP = dict.fromkeys(STORE_LAYOUT, "file") | dict.fromkeys(("objects", "refs"), "directory")
PACK = re.compile(r"pack-([0-9a-f]{40})\.(pack|idx)")
FAN, OBJECT = re.compile("[0-9a-f]{2}"), re.compile("[0-9a-f]{38}")
TEMPORARY = re.compile("(obj|tmp_).*")


class _Damaged(Exception):
    """A file is not what its name says; the words."""


class StoreFiles:
    """The files of one store.

    Attributes:
        readable: whether it can be opened as a store.
        loose: object id → SHA-256 of the content, of every sound loose object.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.loose: dict[bytes, bytes] = {}
        self.readable = entries_of(path / "objects").get("pack") == "directory"

    def check(self) -> Iterator[Finding]:
        """What does not hold. Fills ``loose``."""
        if not os.path.lexists(self.path) or self.path.is_symlink():
            return
        yield from unexpected(self.path, TOP)
        for name, text in STORE_LAYOUT.items():
            if _head(self.path / name) != text.encode():
                yield Finding("altered", str(self.path / name), "gone, or not as it was written")
        yield from self._empty("refs", {"heads": "directory", "tags": "directory"})
        for below in ("refs/heads", "refs/tags", "objects/info"):
            yield from self._empty(below, {})
        yield from self._objects()
        yield from self._packs()

    def _empty(self, below: str, allowed: dict[str, str]) -> Iterator[Finding]:
        if os.path.lexists(self.path / below):
            yield from unexpected(self.path / below, allowed)

    def _objects(self) -> Iterator[Finding]:
        place = self.path / "objects"
        kinds = entries_of(place)
        left = {n for n, kind in kinds.items() if kind == "file" and TEMPORARY.fullmatch(n)}
        fans = {name for name in kinds if FAN.fullmatch(name)}
        for name in sorted(left):
            yield Finding("left", str(place / name), "left by a run that was killed")
        yield from unexpected(
            place, dict.fromkeys({*fans, "info", "pack"}, "directory") | dict.fromkeys(left, "file")
        )
        for fan in sorted(name for name in fans if kinds[name] == "directory"):
            yield from self._fan(place / fan)

    def _fan(self, place: Path) -> Iterator[Finding]:
        kinds = entries_of(place)
        named = [name for name in kinds if OBJECT.fullmatch(name)]
        yield from unexpected(place, dict.fromkeys(named, "file"))
        for name in sorted(n for n in named if kinds[n] == "file"):
            try:
                self.loose[bytes.fromhex(place.name + name)] = _loose(place / name)
            except _Damaged as error:
                yield Finding("altered", str(place / name), str(error))

    def _packs(self) -> Iterator[Finding]:
        place = self.path / "objects" / "pack"
        if unreadable(place):
            yield Finding("altered", str(place), unreadable(place))
        kinds = entries_of(place)
        named = {name: found for name in kinds if (found := PACK.fullmatch(name))}
        yield from unexpected(place, dict.fromkeys(named, "file"))
        for name, found in sorted(named.items()):
            try:
                if kinds[name] == "file":
                    _pack(place / name, bytes.fromhex(found[1]), found[2])
            except _Damaged as error:
                yield Finding("altered", str(place / name), str(error))
        for stem in sorted({name.rpartition(".")[0] for name in named}):
            # A kill between the two leaves a pack without its index, which holds nothing.
            if f"{stem}.pack" not in named:
                yield Finding("altered", str(place / f"{stem}.pack"), "gone: its index is there")
            elif f"{stem}.idx" not in named:
                words = "without an index: a kill left it so, or the index was removed"
                yield Finding("left", str(place / f"{stem}.pack"), words)


def _blocks(path: Path, kind: str = "") -> Iterator[bytes]:
    """A file's bytes; of a pack or an index, ``kind``, only where it can be one by its size."""
    try:
        with open(open_regular(path), "rb") as file:
            if kind and not may_be_pack(kind, os.fstat(file.fileno()).st_size):
                raise _Damaged("a pack is damaged: no pack of a store has its size")
            while block := file.read(BLOCK):
                yield block
    except OSError as error:
        raise _Damaged(f"cannot be read: {error.strerror}") from None


def _head(path: Path) -> bytes:
    try:
        return next(_blocks(path), b"")
    except _Damaged:
        return b""


def _loose(path: Path) -> bytes:
    """SHA-256 of the content of a loose object."""
    sha1, sha256 = hashlib.sha1(usedforsecurity=False), hashlib.sha256()
    head = b""
    for piece in _unpacked(path):
        sha1.update(piece)
        if b"\0" in head:
            sha256.update(piece)
        else:
            head += piece
            sha256.update(head.partition(b"\0")[2])
    if sha1.hexdigest() != path.parent.name + path.name:
        raise _Damaged("a stored content is damaged: it is not what its name says")
    return sha256.digest()


def _unpacked(path: Path) -> Iterator[bytes]:
    unpacker = zlib.decompressobj()
    try:
        for block in _blocks(path):
            pending = block
            while pending and not unpacker.eof:
                yield unpacker.decompress(pending, BLOCK)
                pending = unpacker.unconsumed_tail
            if pending:
                raise _Damaged("a stored content is damaged: something follows it")
        yield unpacker.flush()
    except zlib.error:
        raise _Damaged("a stored content is damaged") from None
    if unpacker.unused_data or not unpacker.eof:
        raise _Damaged("a stored content is damaged: it does not end as it should")


def _pack(path: Path, checksum: bytes, kind: str) -> None:
    """Hold a pack or an index against its own checksum, and both against the name."""
    sha1, tail, end = hashlib.sha1(usedforsecurity=False), b"", b""
    for block in _blocks(path, kind):
        sha1.update((tail + block)[:-SHA1])
        tail, end = (tail + block)[-SHA1:], (end + block)[-2 * SHA1 :]
    if sha1.digest() != tail:
        raise _Damaged("a pack is damaged: it does not have its checksum")
    if (tail if kind == "pack" else end[:SHA1]) != checksum:
        raise _Damaged("a pack is not what its name says")
