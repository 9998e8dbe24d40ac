"""Calls of other tables than the machine's own, which a filter by number would misread.

They are refused in every condition, so their twins are made outside any box.
"""

from __future__ import annotations

import errno
import os
import socket
import struct

from .attempt import Place, Skip, attempt
from .calls import AT_FDCWD, or_skip, raw
from .i386 import call32, low

GROUP = "foreign"
X32 = 0x40000000
RDONLY, WRONLY, CREAT, TRUNC = 0, 1, 0o100, 0o1000
CLONE_NEWUSER, SIGCHLD = 0x10000000, 17
MS_BIND = 4096


def aim(place: Place) -> str:
    """The target file, or one of the attacker's own."""
    return place.mine() if place.allowed else place.file


def free(place: Place) -> str:
    """A free name beside the target, or beside the attacker's own files."""
    return os.path.join(place.own, "new") if place.allowed else place.new


@attempt("i386-open-write", "int 0x80: open(2) for writing", twin="bare", kind="privileged")
def _(place: Place) -> None:
    os.write(call32(5, low(aim(place)), WRONLY), b"changed")


@attempt("i386-open-trunc", "int 0x80: open(2) with O_RDONLY|O_TRUNC", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    call32(5, low(aim(place)), RDONLY | TRUNC)


@attempt("i386-openat", "int 0x80: openat(2) with O_CREAT", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call32(295, AT_FDCWD, low(free(place)), WRONLY | CREAT, 0o644)


@attempt("i386-creat", "int 0x80: creat(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call32(8, low(free(place)), 0o644)


@attempt("i386-unlink", "int 0x80: unlink(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call32(10, low(aim(place)))


@attempt("i386-rename", "int 0x80: rename(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call32(38, low(aim(place)), low(free(place)))


@attempt("i386-link", "int 0x80: link(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call32(9, low(aim(place)), low(free(place)))


@attempt("i386-symlink", "int 0x80: symlink(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call32(83, low("/etc/passwd"), low(free(place)))


@attempt("i386-mkdir", "int 0x80: mkdir(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call32(39, low(free(place)), 0o755)


@attempt("i386-chmod", "int 0x80: chmod(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call32(15, low(aim(place)), 0o600)


@attempt("i386-chown", "int 0x80: chown32(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call32(212, low(aim(place)), os.geteuid(), os.getegid())


@attempt("i386-truncate", "int 0x80: truncate(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call32(92, low(aim(place)), 1)


@attempt("i386-utime", "int 0x80: utime(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call32(30, low(aim(place)), 0)


@attempt("i386-clone", "int 0x80: clone(2) with CLONE_NEWUSER", twin="bare", kind="privileged")
def _(place: Place) -> None:
    if not call32(120, CLONE_NEWUSER | SIGCHLD):
        os._exit(0)


@attempt("i386-bind", "int 0x80: socketcall(2) to bind a socket to a path", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    """Its arguments lie in memory: no filter could tell where it points."""
    made = socket.socket(socket.AF_UNIX)
    address = struct.pack("<H", socket.AF_UNIX) + b"s"
    os.chdir(place.own if place.allowed else place.dir)
    words = struct.pack("<III", made.fileno(), low(address), len(address))
    call32(102, 2, low(words))


@attempt("i386-mount", "int 0x80: mount(2) of a directory over the zone", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    from .mounts import alone

    alone(place)
    over = place.own if place.allowed else place.zone
    call32(21, low(place.own), low(over), low(""), MS_BIND, 0)


def _x32(place: Place, nr: int, *arguments: int | str) -> int:
    """A call of the x32 table, which few kernels have."""
    if os.uname().machine != "x86_64":
        raise Skip("no x32 here")
    if place.allowed:
        or_skip(lambda: raw(X32 | 39), errno.ENOSYS)
    return raw(X32 | nr, *arguments)


@attempt("x32-openat", "x32: openat(2) for writing", twin="bare", kind="privileged")
def _(place: Place) -> None:
    os.write(_x32(place, 257, AT_FDCWD, aim(place), WRONLY), b"changed")


@attempt("x32-unlink", "x32: unlink(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    _x32(place, 87, aim(place))


@attempt("x32-rename", "x32: rename(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    _x32(place, 82, aim(place), free(place))


@attempt("x32-chmod", "x32: chmod(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    _x32(place, 90, aim(place), 0o600)


@attempt("x32-pwritev", "x32: pwritev(2) by its own number", twin="bare", kind="privileged")
def _(place: Place) -> None:
    found = os.open(aim(place), os.O_RDWR if place.allowed else os.O_RDONLY)
    _x32(place, 535, found, 0, 0)
