"""Opening what lies beneath a directory that a hostile role could write.

Every open here goes through ``openat2`` with ``RESOLVE_BENEATH``,
``RESOLVE_NO_SYMLINKS`` and ``RESOLVE_NO_XDEV``: no link is followed, no mount
is crossed, nothing outside is reached. Entries are opened with ``O_PATH``
first, so that a FIFO, socket or device is looked at and never opened.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rolewall.errors import StorageError

__all__ = [
    "Location",
    "directory",
    "make_directory",
    "open_beneath",
    "open_entry",
    "opened",
    "proc_path",
    "reopen",
    "storage",
]

Location = Path | int
"""A directory: its path (whose last part may not be a link), or an open descriptor."""

_SYS_OPENAT2 = 437  # one number on every architecture, as for all calls since Linux 5.1
_NO_XDEV, _NO_SYMLINKS, _BENEATH = 0x01, 0x04, 0x08
_PIECE = 2048  # bytes of a path resolved at once; PATH_MAX is 4096
_RETRIES = 64  # openat2 answers EAGAIN while something else on the machine renames

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
# With the types said once, a call costs a third less; and there is one a file.
_libc.syscall.argtypes = (
    ctypes.c_long,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_void_p,
    ctypes.c_size_t,
)


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


_HOW_SIZE = ctypes.sizeof(_OpenHow)


def _how(flags: int, mode: int = 0) -> _OpenHow:
    return _OpenHow(flags | os.O_CLOEXEC, mode, _NO_XDEV | _NO_SYMLINKS | _BENEATH)


_ENTRY = _how(os.O_PATH | os.O_NOFOLLOW)


def _openat2(at: int, name: bytes, how: _OpenHow) -> int:
    for _ in range(_RETRIES):
        fd: int = _libc.syscall(_SYS_OPENAT2, at, name, ctypes.byref(how), _HOW_SIZE)
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    if code == errno.EXDEV:
        raise StorageError(
            "a mount lies inside a directory that may hold none", place=os.fsdecode(name)
        )
    raise OSError(code, os.strerror(code), os.fsdecode(name))


def open_entry(at: int, name: bytes) -> int:
    """An ``O_PATH`` descriptor of one entry of the directory ``at``, itself if it is a link."""
    return _openat2(at, name, _ENTRY)


def open_beneath(at: int, path: bytes, flags: int, mode: int = 0) -> int:
    """Open ``path``, of any length, relative to the directory ``at``.

    An empty path is the directory itself. Raises OSError: wrap in ``storage``.
    """
    parts = path.split(b"/") if path else [b"."]
    here = -1
    try:
        while len(parts) > 1:
            piece, parts = _piece(parts)
            following = _openat2(here if here >= 0 else at, piece, _how(os.O_PATH | os.O_DIRECTORY))
            if here >= 0:
                os.close(here)
            here = following
        return _openat2(here if here >= 0 else at, parts[0], _how(flags | os.O_NOFOLLOW, mode))
    finally:
        if here >= 0:
            os.close(here)


def _piece(parts: list[bytes]) -> tuple[bytes, list[bytes]]:
    """As many leading parts as fit into one call, never the last one."""
    size = count = 0
    while count < len(parts) - 1 and (count == 0 or size + len(parts[count]) < _PIECE):
        size += len(parts[count]) + 1
        count += 1
    return b"/".join(parts[:count]), parts[count:]


def proc_path(fd: int) -> str:
    """A path that names exactly what ``fd`` refers to, for calls that take no ``O_PATH``."""
    return f"/proc/self/fd/{fd}"


def reopen(fd: int, flags: int) -> int:
    """Open what an ``O_PATH`` descriptor refers to; the caller has seen its type."""
    return os.open(proc_path(fd), flags | os.O_CLOEXEC)


@contextmanager
def opened(fd: int) -> Iterator[int]:
    """Close ``fd`` at the end."""
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def directory(where: Location) -> Iterator[int]:
    """An ``O_PATH`` descriptor of a directory; a link in its place is refused."""
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
    with storage(where):
        fd = os.dup(where) if isinstance(where, int) else os.open(where, flags)
    with opened(fd):
        yield fd


def make_directory(path: Path) -> None:
    """Make ``path`` for its owner alone, and its parents; one that exists is left as it is."""
    with storage(path), suppress(FileExistsError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700)


@contextmanager
def storage(place: object) -> Iterator[None]:
    """Turn an OSError into a StorageError that names the place."""
    try:
        yield
    except OSError as error:
        name = error.filename
        shown = os.fsdecode(name) if isinstance(name, (str, bytes)) else ""
        raise StorageError(
            (error.strerror or str(error)).lower(),
            place=_joined(place, shown),
            hint=_HINTS.get(error.errno or 0),
        ) from error


_HINTS = {
    errno.ENOSPC: "free space on that file system",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "run as the user who owns it, or as root",
    errno.ENOSYS: "Linux 5.6 or newer is needed, and openat2 must not be filtered",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
}


def _path_of(fd: int) -> str:
    try:
        return os.readlink(proc_path(fd))
    except OSError:
        return f"descriptor {fd}"


def _joined(place: object, name: str) -> str:
    text = _path_of(place) if isinstance(place, int) else str(place)
    if name and name != text and not name.startswith("/proc/self/fd/"):
        text = f"{text}: {name}"
    return text.encode("utf-8", "backslashreplace").decode()
