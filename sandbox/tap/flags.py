"""Names for flag arguments, and what an open would do."""

from __future__ import annotations

from collections.abc import Iterable

from rolewall.policies import Effect

from .syscalls import FILE_IOCTLS, SWAPS, Arch

__all__ = [
    "AT_EMPTY_PATH",
    "AT_FDCWD",
    "AT_SYMLINK_FOLLOW",
    "AT_SYMLINK_NOFOLLOW",
    "flag_names",
    "open_effect",
    "open_follows",
]

AT_FDCWD = -100
AT_SYMLINK_NOFOLLOW = 0x100
AT_SYMLINK_FOLLOW = 0x400
AT_EMPTY_PATH = 0x1000

O_ACCMODE, O_CREAT, O_EXCL, O_TRUNC, O_APPEND = 0o3, 0o100, 0o200, 0o1000, 0o2000
O_PATH, TMPFILE_BIT = 0o10000000, 0o20000000

_NAMES = {
    "at": {
        AT_SYMLINK_NOFOLLOW: "AT_SYMLINK_NOFOLLOW",
        AT_SYMLINK_FOLLOW: "AT_SYMLINK_FOLLOW",
        AT_EMPTY_PATH: "AT_EMPTY_PATH",
    },
    "unlink": {0x200: "AT_REMOVEDIR"},
    "rename": {1: "RENAME_NOREPLACE", 2: "RENAME_EXCHANGE", 4: "RENAME_WHITEOUT"},
    "clone": {
        0x200: "CLONE_FS",
        0x400: "CLONE_FILES",
        0x20000: "CLONE_NEWNS",
        0x2000000: "CLONE_NEWCGROUP",
        0x4000000: "CLONE_NEWUTS",
        0x8000000: "CLONE_NEWIPC",
        0x10000000: "CLONE_NEWUSER",
        0x20000000: "CLONE_NEWPID",
        0x40000000: "CLONE_NEWNET",
    },
}
_ACCESS = ("O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE")


def flag_names(kind: str, value: int, arch: Arch) -> tuple[str, ...]:
    """Names of the bits of ``value``; bits without a name as one hexadecimal number."""
    value &= 0xFFFFFFFF
    if kind == "open":
        return _open_names(value, arch)
    if kind == "mode":
        return (f"{value & 0o177777:04o}",)
    if kind == "ioctl":
        return (FILE_IOCTLS.get(value) or SWAPS.get(value, hex(value)),)
    return tuple(_bits(_NAMES.get(kind, {}), value))


def _bits(names: dict[int, str], value: int) -> Iterable[str]:
    for bit, name in names.items():
        if value & bit:
            yield name
            value &= ~bit
    if value:
        yield hex(value)


def _open_names(value: int, arch: Arch) -> tuple[str, ...]:
    names = {
        O_CREAT: "O_CREAT",
        O_EXCL: "O_EXCL",
        0o400: "O_NOCTTY",
        O_TRUNC: "O_TRUNC",
        O_APPEND: "O_APPEND",
        0o4000: "O_NONBLOCK",
        arch.o_nofollow: "O_NOFOLLOW",
        0o2000000: "O_CLOEXEC",
        O_PATH: "O_PATH",
    }
    rest = value & ~O_ACCMODE & ~0o100000  # O_LARGEFILE on x86-64 says nothing
    if arch.o_nofollow == 0o100000:
        rest = value & ~O_ACCMODE
    if value & TMPFILE_BIT:
        names[TMPFILE_BIT] = "O_TMPFILE"
        rest &= ~arch.o_directory
    names[arch.o_directory] = "O_DIRECTORY"
    return (_ACCESS[value & O_ACCMODE], *_bits(names, rest))


def open_effect(value: int) -> Effect | None:
    """What an open with these flags would change; None where it only reads."""
    if value & O_PATH:
        return None
    writes = value & (O_ACCMODE | O_TRUNC)
    if value & TMPFILE_BIT:
        return Effect.CREATE_UNNAMED
    if value & O_CREAT:
        return Effect.CREATE_WRITE if writes and not value & O_EXCL else Effect.CREATE
    if value & O_TRUNC:
        return Effect.TRUNCATE
    return Effect.WRITE if writes else None


def open_follows(value: int, arch: Arch) -> bool:
    """Whether a link as the last component is followed."""
    exclusive = value & O_CREAT and value & O_EXCL
    return not (value & arch.o_nofollow or exclusive)
