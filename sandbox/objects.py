"""What a git object is: its name, and how a content is told to be the one that was meant."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import BinaryIO

from rolewall.errors import StorageError

__all__ = ["Collision", "HashingStream", "Stored", "object_head", "object_id"]


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


def object_head(kind: bytes, size: int) -> bytes:
    """What git hashes before a content."""
    return b"%b %d\0" % (kind, size)


def object_id(kind: bytes, data: bytes) -> str:
    """The id that git gives to an object."""
    return hashlib.sha1(object_head(kind, len(data)) + data, usedforsecurity=False).hexdigest()


class HashingStream:
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
