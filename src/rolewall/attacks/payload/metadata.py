"""Mode, owner, times, extended attributes and flags of another role's files."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct

from .attempt import Place, attempt
from .calls import AT_EMPTY_PATH, AT_FDCWD, call, or_skip
from .names import folder

GROUP = "metadata"
AT_SYMLINK_NOFOLLOW = 0x100
GETFLAGS, SETFLAGS = 0x80086601, 0x40086602
FSGETXATTR, FSSETXATTR = 0x801C581F, 0x401C5820
GETVERSION, SETVERSION = 0x80087601, 0x40087602
EXT4_GETVERSION, EXT4_SETVERSION = 0x80086603, 0x40086604
NODUMP, NODUMP_X = 0x40, 0x80
NO_ATTRIBUTES = (errno.EOPNOTSUPP, errno.ENOTTY)
ACL = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", tag, perm, 0xFFFFFFFF) for tag, perm in ((1, 6), (4, 6), (0x20, 6))
)


@attempt("chmod", "chmod(2)", twin="zone")
def _(place: Place) -> None:
    os.chmod(place.file, 0o600)


@attempt("chmod-dir", "chmod(2) of a directory", twin="zone")
def _(place: Place) -> None:
    os.chmod(place.empty, 0o700)


@attempt("chmod-link", "chmod(2) through a link", twin="zone")
def _(place: Place) -> None:
    os.chmod(place.link, 0o600)


@attempt("fchmod", "fchmod(2) of a descriptor opened to read", twin="zone")
def _(place: Place) -> None:
    os.fchmod(os.open(place.file, os.O_RDONLY), 0o600)


@attempt("fchmodat", "fchmodat(2) by directory descriptor", twin="zone")
def _(place: Place) -> None:
    call("fchmodat", folder(place.dir), "file", 0o600)


@attempt("chmod-proc", "chmod(2) by /proc/self/fd of an O_PATH descriptor", twin="zone")
def _(place: Place) -> None:
    os.chmod(f"/proc/self/fd/{os.open(place.file, os.O_PATH)}", 0o600)


@attempt("fchmodat2", "fchmodat2(2)", twin="zone")
def _(place: Place) -> None:
    or_skip(lambda: call("fchmodat2", AT_FDCWD, place.file, 0o600, 0), errno.ENOSYS)


@attempt("lchmod", "fchmodat2(2) with AT_SYMLINK_NOFOLLOW", twin="zone")
def _(place: Place) -> None:
    or_skip(
        lambda: call("fchmodat2", AT_FDCWD, place.file, 0o600, AT_SYMLINK_NOFOLLOW), errno.ENOSYS
    )


@attempt("fchmodat2-opath", "fchmodat2(2) of an O_PATH descriptor by AT_EMPTY_PATH", twin="zone")
def _(place: Place) -> None:
    found = os.open(place.file, os.O_PATH)
    or_skip(lambda: call("fchmodat2", found, "", 0o600, AT_EMPTY_PATH), errno.ENOSYS)


def me() -> tuple[int, int]:
    """An owner that a change to is allowed, and is one all the same: set-id bits would go."""
    return os.getuid(), os.getgid()


@attempt("chown", "chown(2)", twin="zone")
def _(place: Place) -> None:
    os.chown(place.file, *me())


@attempt("lchown", "lchown(2) of a symbolic link", twin="zone")
def _(place: Place) -> None:
    os.lchown(place.link, *me())


@attempt("fchown", "fchown(2) of a descriptor opened to read", twin="zone")
def _(place: Place) -> None:
    os.fchown(os.open(place.file, os.O_RDONLY), *me())


@attempt("fchownat", "fchownat(2) by directory descriptor", twin="zone")
def _(place: Place) -> None:
    os.chown("file", *me(), dir_fd=folder(place.dir))


@attempt("fchownat-opath", "fchownat(2) of an O_PATH descriptor by AT_EMPTY_PATH", twin="zone")
def _(place: Place) -> None:
    call("fchownat", os.open(place.file, os.O_PATH), "", *me(), AT_EMPTY_PATH)


@attempt("utime", "utime(2)", twin="zone")
def _(place: Place) -> None:
    call("utime", place.file, struct.pack("<qq", 1, 1))


@attempt("utimes", "utimes(2)", twin="zone")
def _(place: Place) -> None:
    call("utimes", place.file, struct.pack("<qqqq", 1, 0, 1, 0))


@attempt("futimesat", "futimesat(2) by directory descriptor", twin="zone")
def _(place: Place) -> None:
    call("futimesat", folder(place.dir), "file", struct.pack("<qqqq", 1, 0, 1, 0))


@attempt("utimensat", "utimensat(2)", twin="zone")
def _(place: Place) -> None:
    os.utime(place.file, (1, 1))


@attempt("utimensat-link", "utimensat(2) of a symbolic link", twin="zone")
def _(place: Place) -> None:
    os.utime(place.link, (1, 1), follow_symlinks=False)


@attempt("utimensat-now", "utimensat(2) to the present time", twin="zone")
def _(place: Place) -> None:
    os.utime(place.file)


@attempt("futimens", "utimensat(2) of a descriptor opened to read", twin="zone")
def _(place: Place) -> None:
    os.utime(os.open(place.file, os.O_RDONLY), (1, 1))


@attempt("utimensat-opath", "utimensat(2) of an O_PATH descriptor by AT_EMPTY_PATH", twin="zone")
def _(place: Place) -> None:
    found = os.open(place.file, os.O_PATH)
    or_skip(
        lambda: call("utimensat", found, "", struct.pack("<qqqq", 1, 0, 1, 0), AT_EMPTY_PATH),
        errno.EINVAL,
    )


def xattr(name: str, *arguments: object) -> None:
    """One call of the extended attributes' family, where the file system has any."""
    or_skip(lambda: call(name, *arguments), errno.EOPNOTSUPP)


@attempt("setxattr", "setxattr(2)", twin="zone")
def _(place: Place) -> None:
    xattr("setxattr", place.file, "user.new", b"1", 1, 0)


@attempt("setxattr-dir", "setxattr(2) of a directory", twin="zone")
def _(place: Place) -> None:
    xattr("setxattr", place.empty, "user.new", b"1", 1, 0)


@attempt("lsetxattr", "lsetxattr(2)", twin="zone")
def _(place: Place) -> None:
    xattr("lsetxattr", place.file, "user.new", b"1", 1, 0)


@attempt("fsetxattr", "fsetxattr(2) of a descriptor opened to read", twin="zone")
def _(place: Place) -> None:
    xattr("fsetxattr", os.open(place.file, os.O_RDONLY), "user.new", b"1", 1, 0)


@attempt("setxattr-proc", "setxattr(2) by /proc/self/fd of an O_PATH descriptor", twin="zone")
def _(place: Place) -> None:
    path = f"/proc/self/fd/{os.open(place.file, os.O_PATH)}"
    xattr("setxattr", path, "user.new", b"1", 1, 0)


@attempt("setfacl", "setxattr(2) of an access control list", twin="zone")
def _(place: Place) -> None:
    xattr("setxattr", place.file, "system.posix_acl_access", ACL, len(ACL), 0)


@attempt("removexattr", "removexattr(2)", twin="zone")
def _(place: Place) -> None:
    xattr("removexattr", place.file, "user.kept")


@attempt("lremovexattr", "lremovexattr(2)", twin="zone")
def _(place: Place) -> None:
    xattr("lremovexattr", place.file, "user.kept")


@attempt("fremovexattr", "fremovexattr(2) of a descriptor opened to read", twin="zone")
def _(place: Place) -> None:
    xattr("fremovexattr", os.open(place.file, os.O_RDONLY), "user.kept")


def newer(name: str, *arguments: object) -> None:
    """A call that old kernels lack, or that an engine's profile keeps from them."""
    or_skip(lambda: call(name, *arguments), errno.ENOSYS, errno.EOPNOTSUPP)


@attempt("setxattrat", "setxattrat(2)", twin="zone")
def _(place: Place) -> None:
    value = ctypes.create_string_buffer(b"1")
    held = struct.pack("<QII", ctypes.addressof(value), 1, 0)
    newer("setxattrat", AT_FDCWD, place.file, 0, "user.new", held, len(held))


@attempt("removexattrat", "removexattrat(2)", twin="zone")
def _(place: Place) -> None:
    newer("removexattrat", AT_FDCWD, place.file, 0, "user.kept")


@attempt("file-setattr", "file_setattr(2)", twin="zone")
def _(place: Place) -> None:
    asked = struct.pack("<QIIII", NODUMP_X, 0, 0, 0, 0)
    newer("file_setattr", AT_FDCWD, place.file, asked, len(asked), 0)


def _flags(
    place: Place, read: int, write: int, size: int, bit: int, how: int = os.O_RDONLY
) -> None:
    """Read a field of the file's and write it back with ``bit`` turned."""
    found = os.open(place.file, how)
    field = bytearray(size)
    or_skip(lambda: fcntl.ioctl(found, read, field), *NO_ATTRIBUTES)
    struct.pack_into("<I", field, 0, struct.unpack_from("<I", field)[0] ^ bit)
    or_skip(lambda: fcntl.ioctl(found, write, field), *NO_ATTRIBUTES)


@attempt("fs-setflags", "ioctl FS_IOC_SETFLAGS of a descriptor opened to read", twin="zone")
def _(place: Place) -> None:
    _flags(place, GETFLAGS, SETFLAGS, 8, NODUMP)


@attempt("fs-setflags-acc", "ioctl FS_IOC_SETFLAGS of a descriptor of access mode 3", twin="zone")
def _(place: Place) -> None:
    """Access mode 3 gives a descriptor for nothing but ioctl, on a read-only mount too."""
    _flags(place, GETFLAGS, SETFLAGS, 8, NODUMP, os.O_ACCMODE)


@attempt("fs-setxattr", "ioctl FS_IOC_FSSETXATTR", twin="zone")
def _(place: Place) -> None:
    _flags(place, FSGETXATTR, FSSETXATTR, 28, NODUMP_X)


@attempt("fs-setversion", "ioctl FS_IOC_SETVERSION", twin="zone")
def _(place: Place) -> None:
    _flags(place, GETVERSION, SETVERSION, 8, 1)


@attempt("ext4-setversion", "ioctl EXT4_IOC_SETVERSION", twin="zone")
def _(place: Place) -> None:
    _flags(place, EXT4_GETVERSION, EXT4_SETVERSION, 8, 1)
