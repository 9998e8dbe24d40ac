"""Opening what lies beneath a directory, with no link followed.

Task and team files are untrusted: ``spec.md`` may be a link to a private key.
Every open goes through ``openat2`` with ``RESOLVE_BENEATH|NO_SYMLINKS``, so the
kernel, and not a check before the open, decides. There is no weaker way: a
kernel without ``openat2`` (before 5.6) is an ``InfrastructureError``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rolewall.errors import InfrastructureError, InputError

__all__ = ["Entry", "Root", "kind_of", "shown"]

_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS, _RESOLVE_NO_SYMLINKS, _RESOLVE_BENEATH = 0x02, 0x04, 0x08
_RESOLVE = _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS
_CHUNK = 1 << 20
_RETRIES = 8  # EAGAIN: a rename elsewhere made the kernel unsure
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "FIFO",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def shown(name: str | Path) -> str:
    """A name as it may stand in a message: undecodable bytes and control characters escaped."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def kind_of(mode: int) -> str:
    """``file``, ``directory``, ``link``, ``FIFO``, ``socket`` or ``device``."""
    return _KINDS.get(stat.S_IFMT(mode), "unknown")


def _openat2(directory: int, relative: str, flags: int) -> int:
    how = _OpenHow(flags | os.O_CLOEXEC, 0, _RESOLVE)
    path = os.fsencode(relative)
    if b"\0" in path:
        raise OSError(errno.EINVAL, "NUL in a path")
    for _ in range(_RETRIES):
        descriptor = _libc.syscall(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(directory),
            ctypes.c_char_p(path),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if descriptor >= 0:
            return int(descriptor)
        if ctypes.get_errno() != errno.EAGAIN:
            break
    number = ctypes.get_errno()
    if number == errno.ENOSYS:
        raise InfrastructureError("this kernel has no openat2", expected="Linux 5.6 or newer")
    raise OSError(number, os.strerror(number))


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing beneath a root: ``path`` relative to it, ``kind`` as ``kind_of`` says."""

    path: str
    kind: str
    stat: os.stat_result

    @classmethod
    def of(cls, path: str, found: os.stat_result) -> Entry:
        return cls(path, kind_of(found.st_mode), found)

    @property
    def executable(self) -> bool:
        return bool(self.stat.st_mode & 0o111)

    @property
    def identity(self) -> tuple[int, int]:
        """Device and inode: equal for two names of one thing."""
        return self.stat.st_dev, self.stat.st_ino


class Root:
    """A directory held open; everything is reached beneath it.

    Args:
        path: the directory, as the caller's own user named it (links in this path are followed).
        error: the class that is raised for whatever is wrong beneath it.
    """

    def __init__(self, path: Path, error: type[InputError] = InputError) -> None:
        self.path = path
        self._error = error
        try:
            self._fd = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, ValueError) as problem:
            raise self._wrong("", problem, "a directory") from None

    def __enter__(self) -> Root:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def place(self, relative: str) -> str:
        return shown(self.path / relative) if relative else shown(self.path)

    def stat(self, relative: str) -> os.stat_result | None:
        """What ``relative`` is, or None if nothing is there. A link in its path is refused;
        if it is itself a link, the link is what is described."""
        parent, _, name = relative.rpartition("/")
        try:
            directory = _openat2(self._fd, parent or ".", os.O_PATH | os.O_DIRECTORY)
            try:
                return os.stat(name, dir_fd=directory, follow_symlinks=False)
            finally:
                os.close(directory)
        except OSError as problem:
            if problem.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            raise self._wrong(relative, problem) from None

    def kind(self, relative: str) -> str | None:
        found = self.stat(relative)
        return None if found is None else kind_of(found.st_mode)

    @contextmanager
    def open(self, relative: str) -> Iterator[int]:
        """A readable descriptor of a regular file; anything else is refused unopened."""
        try:
            handle = _openat2(self._fd, relative, os.O_PATH | os.O_NOFOLLOW)
            try:
                kind = kind_of(os.fstat(handle).st_mode)
                if kind != "file":
                    raise self._refused(relative, kind)
                descriptor = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_CLOEXEC)
            finally:
                os.close(handle)
        except OSError as problem:
            raise self._wrong(relative, problem) from None
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def chunks(self, relative: str) -> Iterator[bytes]:
        with self.open(relative) as descriptor:
            while data := self._read(relative, descriptor, _CHUNK):
                yield data

    def read(self, relative: str, max_bytes: int) -> bytes:
        data = bytearray()
        for chunk in self.chunks(relative):
            data += chunk
            if len(data) > max_bytes:
                raise self._error(
                    "the file is too large",
                    place=self.place(relative),
                    expected=f"at most {max_bytes} bytes",
                )
        return bytes(data)

    def names(self, relative: str = "") -> list[str]:
        """The names in a directory, sorted; surrogates stand for undecodable bytes."""
        try:
            flags = os.O_RDONLY | os.O_DIRECTORY
            descriptor = _openat2(self._fd, relative or ".", flags)
            try:
                return sorted(os.listdir(descriptor))
            finally:
                os.close(descriptor)
        except OSError as problem:
            raise self._wrong(relative, problem, "a directory") from None

    def walk(
        self, relative: str = "", *, skip: frozenset[str] = frozenset(), most: int = 200_000
    ) -> Iterator[Entry]:
        """Every entry beneath ``relative``, links and special files too, none followed.

        Directories named in ``skip`` are left out whole. More than ``most`` entries are refused.
        """
        pending, count = [relative], 0
        while pending:
            for entry in self._listing(pending.pop()):
                directory = entry.kind == "directory"
                if directory and entry.path.rpartition("/")[2] in skip:
                    continue
                count += 1
                if count > most:
                    place = self.place(relative)
                    raise self._error("too many files", place=place, expected=f"at most {most}")
                yield entry
                if directory:
                    pending.append(entry.path)

    def _listing(self, folder: str) -> list[Entry]:
        prefix = f"{folder}/" if folder else ""
        try:
            directory = _openat2(self._fd, folder or ".", os.O_RDONLY | os.O_DIRECTORY)
            try:
                names = sorted(os.listdir(directory))
                stats = [os.stat(n, dir_fd=directory, follow_symlinks=False) for n in names]
            finally:
                os.close(directory)
        except OSError as problem:
            raise self._wrong(folder, problem, "a directory") from None
        return [Entry.of(prefix + name, found) for name, found in zip(names, stats, strict=True)]

    def target(self, relative: str) -> bytes:
        """Where a link points, as bytes."""
        parent, _, name = relative.rpartition("/")
        try:
            directory = _openat2(self._fd, parent or ".", os.O_PATH | os.O_DIRECTORY)
            try:
                return os.readlink(os.fsencode(name), dir_fd=directory)
            finally:
                os.close(directory)
        except OSError as problem:
            raise self._wrong(relative, problem) from None

    def _read(self, relative: str, descriptor: int, count: int) -> bytes:
        try:
            return os.read(descriptor, count)
        except OSError as problem:
            raise self._wrong(relative, problem) from None

    def _refused(self, relative: str, kind: str) -> InputError:
        return self._error(
            "not a regular file", place=self.place(relative), got=kind, expected="a regular file"
        )

    def _wrong(
        self, relative: str, problem: OSError | ValueError, expected: str | None = None
    ) -> InputError:
        place = self.place(relative)
        if not isinstance(problem, OSError):
            return self._error("not a path", place=place)
        if problem.errno in (errno.ELOOP, errno.EXDEV):
            return self._error(
                "leads out of its directory or through a link, which is not followed",
                place=place,
                expected=f"a file beneath {shown(self.path)}",
            )
        if problem.errno in (errno.ENOENT, errno.ENOTDIR):
            return self._error("does not exist", place=place, expected=expected)
        reason = os.strerror(problem.errno or 0)
        return self._error(f"cannot be read: {reason}", place=place, expected=expected)
