"""An archive from elsewhere, unpacked so that nothing of it is followed.

Directories and files are made first, links last: while anything is written, no name on the
way to it can be a link. Owners are the caller's; of modes only the right to execute is kept.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rolewall.errors import InputError
from rolewall.sandbox.beneath import directory, open_beneath, opened, storage
from rolewall.sandbox.names import escape

__all__ = ["MOST_BYTES", "MOST_ENTRIES", "stream", "unpack"]

MOST_BYTES = 8 << 30
MOST_ENTRIES = 500_000
_CHUNK = 1 << 20
_DIRECTORY = os.O_PATH | os.O_DIRECTORY
_Make = Callable[[int, bytes], None]


class _Pieces(io.RawIOBase):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._held and (piece := next(self._pieces, None)) is not None:
            self._held = memoryview(piece)
        into = memoryview(buffer).cast("B")
        size = min(len(into), len(self._held))
        into[:size], self._held = self._held[:size], self._held[size:]
        return size


def stream(pieces: Iterator[bytes]) -> io.BufferedReader:
    """Pieces of bytes, as a file that can be read once."""
    return io.BufferedReader(_Pieces(pieces))


def unpack(archive: tarfile.TarFile, into: Path, place: str) -> list[str]:
    """Write what lies below the archive's one top directory into ``into``, new and empty.

    Args:
        place: what the archive is of, for messages.

    Returns:
        what was left out, a line each: devices, FIFOs.

    Raises:
        InputError: a name leads out, is there twice as different things, or the whole is
            too large.
        StorageError: it cannot be written.
    """
    with directory(into) as root, storage(into):
        return _Unpacking(archive, root, place).run()


class _Unpacking:
    def __init__(self, archive: tarfile.TarFile, root: int, place: str) -> None:
        self._archive = archive
        self._root = root
        self._place = place
        self._links: list[tuple[bytes, bytes]] = []
        self._left: list[str] = []
        self._bytes = 0

    def run(self) -> list[str]:
        for number, member in enumerate(self._archive):
            if number > MOST_ENTRIES:
                raise self._refused("too many files", f"at most {MOST_ENTRIES}")
            self._member(member)
        for path, target in self._links:
            self._make(path, partial(_link, target))
        return self._left

    def _member(self, member: tarfile.TarInfo) -> None:
        path = self._path(member.name)
        if not path:
            return
        if member.isdir():
            self._make(path, lambda at, name: os.mkdir(name, 0o755, dir_fd=at), again=True)
        elif member.isfile():
            self._make(path, lambda at, name: self._file(member, at, name))
        elif member.issym():
            self._links.append((path, os.fsencode(member.linkname)))
        elif member.islnk():
            source = self._path(member.linkname)
            self._make(path, lambda at, name: self._same(source, at, name))
        else:
            self._left.append(f"{escape(path)}: not a file, directory or link")

    def _path(self, name: str) -> bytes:
        """A member's path below the top directory, which has the archive's own name."""
        parts = [part for part in os.fsencode(name).split(b"/") if part not in (b"", b".")]
        if b".." in parts or name.startswith("/"):
            raise self._refused("a name leads out", "names below its directory", name)
        return b"/".join(parts[1:])

    def _make(self, path: bytes, make: _Make, *, again: bool = False) -> None:
        above, _, name = path.rpartition(b"/")
        try:
            with opened(open_beneath(self._root, above, _DIRECTORY)) as at:
                make(at, name)
        except FileExistsError:
            if not again:
                raise self._refused("a name is there twice", "each once", escape(path)) from None
        except (FileNotFoundError, NotADirectoryError):
            expected = "a directory above each file"
            raise self._refused("a file in no directory", expected, escape(path)) from None

    def _file(self, member: tarfile.TarInfo, at: int, name: bytes) -> None:
        self._bytes += member.size
        if self._bytes > MOST_BYTES:
            raise self._refused("too large", f"at most {MOST_BYTES >> 30} GiB")
        source = self._archive.extractfile(member)
        mode = 0o755 if member.mode & 0o111 else 0o644
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(name, flags, mode, dir_fd=at), "wb") as file:
            while source and (piece := source.read(_CHUNK)):
                file.write(piece)
            file.flush()
            os.utime(file.fileno(), (member.mtime, member.mtime))

    def _same(self, source: bytes, at: int, name: bytes) -> None:
        above, _, original = source.rpartition(b"/")
        with opened(open_beneath(self._root, above, _DIRECTORY)) as there:
            os.link(original, name, src_dir_fd=there, dst_dir_fd=at, follow_symlinks=False)

    def _refused(self, why: str, expected: str, got: str | None = None) -> InputError:
        return InputError(
            f"{self._place} of the image cannot be used: {why}", got=got, expected=expected
        )


def _link(target: bytes, at: int, name: bytes) -> None:
    os.symlink(target, name, dir_fd=at)
