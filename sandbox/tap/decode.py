"""From a notification to a call: row, effect, flags and raw paths."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from rolewall.policies import Effect

from . import kernel
from .flags import (
    AT_EMPTY_PATH,
    AT_FDCWD,
    AT_SYMLINK_FOLLOW,
    AT_SYMLINK_NOFOLLOW,
    flag_names,
    open_effect,
    open_follows,
)
from .kernel import Notification
from .resolve import Unreadable, base_path
from .syscalls import Arch, PathArg, Syscall

__all__ = ["Named", "Opening", "argv_of", "named_paths", "opening", "refused_mode", "row_flags"]

_ARGV_ITEMS = 256
_ARGV_BYTES = 16 * 1024
_SUN_PATH = 108


@dataclass(frozen=True, slots=True)
class Named:
    """One path of a call, absolute, and whether a last link is followed.

    ``final`` says that it is the canonical path of an open descriptor already.
    Empty for what has no path.
    """

    path: bytes
    follow: bool
    final: bool = False


@dataclass(frozen=True, slots=True)
class Opening:
    """What an open call would do; ``effect`` is None where it only reads."""

    effect: Effect | None
    follow: bool
    value: int

    def flags(self, arch: Arch) -> tuple[str, ...]:
        return flag_names("open", self.value, arch)


def opening(row: Syscall, call: Notification, arch: Arch) -> Opening:
    """Flags and effect of a call of the open family."""
    value = _signed(call.args[row.flags or 0])
    return Opening(open_effect(value), open_follows(value, arch), value)


def row_flags(row: Syscall, call: Notification, arch: Arch) -> tuple[str, ...]:
    """Names of the flags of any other call."""
    if row.flags is None:
        return ()
    return flag_names(row.flag_names, call.args[row.flags], arch)


def refused_mode(row: Syscall, call: Notification, arch: Arch) -> tuple[str, ...]:
    """The mode of a call that would make a set-id file."""
    return flag_names("mode", call.args[row.set_id[-1].arg], arch)


def named_paths(row: Syscall, call: Notification) -> list[Named]:
    """The paths that the call names, in order.

    Raises Unreadable for a path, descriptor or working directory that cannot be read.
    """
    if row.name == "bind":
        return _bind_path(call)
    return [_named(arg, call) for arg in row.paths]


def _named(arg: PathArg, call: Notification) -> Named:
    follow = arg.follow
    at = call.args[arg.at] if arg.at is not None else 0
    if at & AT_SYMLINK_NOFOLLOW:
        follow = False
    elif at & AT_SYMLINK_FOLLOW:
        follow = True
    if arg.path is None:
        return _descriptor(arg, call)
    address = call.args[arg.path]
    if not address and (arg.null or at & AT_EMPTY_PATH):
        return _descriptor(arg, call)
    path = _string(call.tid, address)
    if not path and at & AT_EMPTY_PATH:
        return _descriptor(arg, call)
    if path.startswith(b"/"):
        return Named(path, follow)
    base = base_path(call.tid, _dirfd(arg, call))
    if not base:
        return Named(b"", follow)
    return Named(base + b"/" + path if path else base, follow)


def _dirfd(arg: PathArg, call: Notification) -> int | None:
    if arg.dirfd is None:
        return None
    number = _signed(call.args[arg.dirfd])
    return None if number == AT_FDCWD else number


def _descriptor(arg: PathArg, call: Notification) -> Named:
    return Named(base_path(call.tid, _dirfd(arg, call)), False, final=True)


def _signed(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


def _string(tid: int, address: int) -> bytes:
    try:
        raw = kernel.read_string(tid, address)
    except OSError as error:
        raise Unreadable(f"cannot read a path: {error.strerror}") from None
    if raw is None:
        raise Unreadable("path without an end")
    return raw


def _bind_path(call: Notification) -> list[Named]:
    size = min(call.args[2] & 0xFFFFFFFF, 2 + _SUN_PATH)
    if size < 2:
        return []
    try:
        raw = kernel.read_memory(call.tid, call.args[1], size)
    except OSError as error:
        raise Unreadable(f"cannot read an address: {error.strerror}") from None
    family, path = int.from_bytes(raw[:2], "little"), raw[2:].partition(b"\0")[0]
    if family != 1 or not path:
        return []  # another family, an unnamed or an abstract address: no file
    if not path.startswith(b"/"):
        path = base_path(call.tid, None) + b"/" + path
    return [Named(path, False)]


def argv_of(row: Syscall, call: Notification) -> tuple[list[str], bool]:
    """Arguments of an execve, and whether they are all there.

    Raises Unreadable where they cannot be read.
    """
    address = call.args[2 if row.name == "execveat" else 1]
    found: list[str] = []
    room = _ARGV_BYTES
    if not address:
        return found, True
    for index in range(_ARGV_ITEMS):
        pointer = _pointer(call.tid, address + 8 * index)
        if not pointer:
            return found, True
        raw = _argument(call.tid, pointer)
        found.append(raw[:room].decode("utf-8", "backslashreplace"))  # words, not names
        room -= len(raw)
        if room <= 0 or len(raw) == kernel.PATH_MAX:
            return found, False
    return found, False


def _pointer(tid: int, address: int) -> int:
    try:
        raw = kernel.read_memory(tid, address, 8)
    except OSError as error:
        raise Unreadable(f"cannot read arguments: {error.strerror}") from None
    if len(raw) < 8:
        raise Unreadable("cannot read arguments")
    return int(struct.unpack("<Q", raw)[0])


def _argument(tid: int, address: int) -> bytes:
    try:
        return kernel.read_memory(tid, address, kernel.PATH_MAX).partition(b"\0")[0]
    except OSError as error:
        raise Unreadable(f"cannot read arguments: {error.strerror}") from None
