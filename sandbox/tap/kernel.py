"""The few kernel calls that Python has no function for."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import struct
from dataclasses import dataclass

__all__ = [
    "PATH_MAX",
    "Exhausted",
    "Notification",
    "is_valid",
    "open_file",
    "open_in_root",
    "pending",
    "read_memory",
    "read_string",
    "receive",
    "respond",
]

PATH_MAX = 4096
_PAGE = 4096  # smallest page size of both architectures: larger pages only mean an extra split

_NOTIF_RECV = 0xC0502100
_NOTIF_SEND = 0xC0182101
_NOTIF_ID_VALID = 0x40082102
_FLAG_CONTINUE = 1
_NOTIF = struct.Struct("<QIIiIQ6Q")
_RESPONSE = struct.Struct("<QqiI")
_SYS_OPENAT2 = 437
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_RESOLVE_IN_ROOT = 0x10
_RESOLVE_NO_MAGICLINKS = 0x02

_libc = ctypes.CDLL(None, use_errno=True)


class Exhausted(Exception):
    """This machine lacks the descriptors or the memory to look at a call. No ``OSError``,
    which would say something of the file: a role must not be refused for it."""


class _Iovec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_size_t), ("length", ctypes.c_size_t))


_buffer = ctypes.create_string_buffer(2 * PATH_MAX)
_address = ctypes.addressof(_buffer)
_local = _Iovec(_address, 0)
_remote = (_Iovec * 2)()
_how = struct.Struct("<QQQ")
_readv = _libc.process_vm_readv
_readv.argtypes = (
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_ulong,
    ctypes.c_void_p,
    ctypes.c_ulong,
    ctypes.c_ulong,
)
_readv.restype = ctypes.c_ssize_t
_local_at, _remote_at = ctypes.addressof(_local), ctypes.addressof(_remote)
_openat2 = _libc.syscall
_openat2.restype = ctypes.c_long
_openat2.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)


@dataclass(slots=True)
class Notification:
    """One call that waits for an answer; ``tid`` is a thread id of this pid namespace."""

    id: int
    tid: int
    nr: int
    arch: int
    args: tuple[int, ...]


_receive_buffer = bytearray(_NOTIF.size)
_zeros = bytes(_NOTIF.size)


def receive(listener: int) -> Notification | None:
    """The next waiting call; None if it went away meanwhile.

    Only to be called when the listener polls readable: it blocks otherwise.
    """
    _receive_buffer[:] = _zeros  # the kernel refuses a buffer that is not zero
    try:
        fcntl.ioctl(listener, _NOTIF_RECV, _receive_buffer, True)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EINTR, errno.ENOTCONN):
            return None
        raise
    ident, tid, _, nr, arch, _, *args = _NOTIF.unpack(_receive_buffer)
    return Notification(ident, tid, nr, arch, tuple(args))


def respond(listener: int, ident: int, code: int) -> None:
    """Answer: go on in the kernel for 0, else fail with errno ``code``."""
    flags = 0 if code else _FLAG_CONTINUE
    try:
        fcntl.ioctl(listener, _NOTIF_SEND, _RESPONSE.pack(ident, 0, -code, flags))
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.EINPROGRESS):
            raise


def is_valid(listener: int, ident: int) -> bool:
    """Whether the caller still waits, so that what was read under its id was its own."""
    try:
        fcntl.ioctl(listener, _NOTIF_ID_VALID, struct.pack("<Q", ident))
    except OSError:
        return False
    return True


def pending(listener: int) -> bool:
    """Whether a call waits at this moment."""
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    return any(event & select.POLLIN for _, event in poll.poll(0))


def read_memory(tid: int, address: int, size: int) -> bytes:
    """Up to ``size`` (at most PATH_MAX) bytes; fewer where the next page is not readable.

    Raises OSError where nothing can be read.
    """
    size = min(size, PATH_MAX)
    first = min(size, _PAGE - address % _PAGE)
    # A partial read stops only between vectors: a page a vector finds every byte there is.
    _remote[0].base, _remote[0].length = address, first
    _remote[1].base, _remote[1].length = address + first, size - first
    _local.length = size
    count = _readv(tid, _local_at, 1, _remote_at, 2 if size > first else 1, 0)
    if count <= 0:
        raise _failure(ctypes.get_errno() or errno.EFAULT)
    return ctypes.string_at(_address, count)


def read_string(tid: int, address: int) -> bytes | None:
    """A string up to its NUL, or None where it has none within PATH_MAX readable bytes."""
    raw = read_memory(tid, address, PATH_MAX)
    end = raw.find(b"\0")
    return raw[:end] if end >= 0 else None


def open_in_root(root: int, path: bytes, flags: int) -> int:
    """An O_PATH descriptor of ``path`` with ``root`` as ``/``, for links too.

    Magic links of /proc are refused (ELOOP, EXDEV): they leave the root.
    """
    how = _how.pack(flags | os.O_PATH | os.O_CLOEXEC, 0, _RESOLVE_IN_ROOT | _RESOLVE_NO_MAGICLINKS)
    fd = _openat2(_SYS_OPENAT2, root, path, how, len(how))
    if fd < 0:
        raise _failure(ctypes.get_errno())
    return int(fd)


def open_file(path: str, flags: int) -> int:
    """``os.open`` that raises Exhausted where that is the reason."""
    try:
        return os.open(path, flags | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in _EXHAUSTED:
            raise _failure(error.errno) from None
        raise


def _failure(code: int) -> Exception:
    words = os.strerror(code)
    if code in _EXHAUSTED:
        return Exhausted(f"the supervisor cannot look at a call: {words}")
    return OSError(code, words)
