"""Changing what a file of another role's zone holds.

Where a file cannot be opened for writing, the call is made all the same, on a descriptor
that was opened to read: the kernel must refuse both.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import struct

from .attempt import Place, Skip, attempt
from .calls import LIBC, call, or_skip

GROUP = "contents"
PAGE = 4096
FICLONE, FICLONERANGE, FIDEDUPERANGE = 0x40049409, 0x4020940D, 0xC0189436
KEEP_SIZE, PUNCH_HOLE, COLLAPSE_RANGE, ZERO_RANGE, INSERT_RANGE = 1, 2, 8, 16, 32
MADV_REMOVE = 9


def target(place: Place) -> int:
    """The file, opened for writing; where that is refused, for reading."""
    try:
        return os.open(place.file, os.O_RDWR)
    except OSError:
        return os.open(place.file, os.O_RDONLY)


@attempt("open-write", "open for writing, and write", twin="zone")
def _(place: Place) -> None:
    os.write(os.open(place.file, os.O_WRONLY), b"changed")


@attempt("open-append", "open with O_APPEND, and write", twin="zone")
def _(place: Place) -> None:
    os.write(os.open(place.file, os.O_WRONLY | os.O_APPEND), b"changed")


@attempt("open-trunc", "open with O_TRUNC", twin="zone")
def _(place: Place) -> None:
    os.open(place.file, os.O_WRONLY | os.O_TRUNC)


@attempt("open-trunc-read", "open with O_RDONLY|O_TRUNC", twin="zone")
def _(place: Place) -> None:
    os.open(place.file, os.O_RDONLY | os.O_TRUNC)


@attempt("open-exec-file", "open a program for writing", twin="zone")
def _(place: Place) -> None:
    os.write(os.open(place.exec, os.O_WRONLY), b"#!/bin/cat")


@attempt("openat2", "openat2(2) for writing", twin="bare", unseen="answered ENOSYS by the filter, "
         "without notice; the C library then uses openat, which is seen")  # fmt: skip
def _(place: Place) -> None:
    how = struct.pack("<QQQ", os.O_RDWR, 0, 0)
    path = place.mine() if place.allowed else place.file
    os.write(call("openat2", -100, path, how, len(how)), b"changed")


@attempt("truncate", "truncate(2)", twin="zone")
def _(place: Place) -> None:
    os.truncate(place.file, 1)


@attempt("truncate-grow", "truncate(2) to a larger size", twin="zone")
def _(place: Place) -> None:
    os.truncate(place.file, 1 << 20)


@attempt("ftruncate", "ftruncate(2)", twin="zone")
def _(place: Place) -> None:
    os.ftruncate(target(place), 1)


@attempt("pwrite", "pwrite64(2)", twin="zone")
def _(place: Place) -> None:
    os.pwrite(target(place), b"changed", 100)


@attempt("writev", "writev(2)", twin="zone")
def _(place: Place) -> None:
    os.writev(target(place), [b"chan", b"ged"])


@attempt("pwritev2", "pwritev2(2) with RWF_DSYNC", twin="zone")
def _(place: Place) -> None:
    os.pwritev(target(place), [b"changed"], 0, os.RWF_DSYNC)


@attempt("mmap", "store into a shared mapping", twin="zone")
def _(place: Place) -> None:
    mmap.mmap(target(place), PAGE, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)[0] = 67


@attempt("mprotect", "map to read, mprotect(2) to write, and store", twin="zone")
def _(place: Place) -> None:
    address = _map(target(place), mmap.PROT_READ)
    if LIBC.mprotect(ctypes.c_void_p(address), PAGE, mmap.PROT_READ | mmap.PROT_WRITE):
        raise OSError(ctypes.get_errno(), "mprotect")
    ctypes.memset(address, 67, 1)


@attempt("madvise-remove", "madvise(2) with MADV_REMOVE on a shared mapping", twin="zone")
def _(place: Place) -> None:
    if LIBC.madvise(ctypes.c_void_p(_mapped(place)), PAGE, MADV_REMOVE):
        raise OSError(ctypes.get_errno(), "madvise")


@attempt("self-mem", "store into a shared mapping by /proc/self/mem", twin="zone")
def _(place: Place) -> None:
    address = _mapped(place)
    os.pwrite(os.open("/proc/self/mem", os.O_RDWR), b"changed", address)


def _mapped(place: Place) -> int:
    found = target(place)
    try:
        return _map(found, mmap.PROT_READ | mmap.PROT_WRITE)
    except OSError:
        return _map(found, mmap.PROT_READ)


def _map(found: int, protection: int) -> int:
    LIBC.mmap.restype = ctypes.c_void_p
    address = LIBC.mmap(None, PAGE, protection, mmap.MAP_SHARED, found, ctypes.c_long(0))
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "mmap")
    return int(address)


@attempt("sendfile", "sendfile(2)", twin="zone")
def _(place: Place) -> None:
    _moved(os.sendfile(target(place), os.open(place.mine(), os.O_RDONLY), 0, PAGE))


@attempt("splice", "splice(2) from a pipe", twin="zone")
def _(place: Place) -> None:
    _moved(_splice(_pipe(), target(place)))


@attempt("tee-splice", "tee(2) from pipe to pipe, then splice(2)", twin="zone")
def _(place: Place) -> None:
    out, into = os.pipe()
    call("tee", _pipe(), into, PAGE, 0)
    _moved(_splice(out, target(place)))


@attempt("vmsplice", "vmsplice(2) of own memory, then splice(2)", twin="zone")
def _(place: Place) -> None:
    memory = ctypes.create_string_buffer(b"v" * PAGE)
    vector = struct.pack("<QQ", ctypes.addressof(memory), PAGE)
    out, into = os.pipe()
    call("vmsplice", into, vector, 1, 0)
    _moved(_splice(out, target(place)))


@attempt("splice-back", "splice(2) out of the file, and write into the same pages", twin="own",
         unseen="opens to read, and writes into a pipe of its own")  # fmt: skip
def _(place: Place) -> None:
    """Pages of a file that lie in a pipe must not be merged with what is written behind them."""
    path = place.mine() if place.allowed else place.file
    out, into = os.pipe()
    _moved(_splice(os.open(path, os.O_RDONLY), into, 100))
    os.write(into, b"X" * 100)
    with open(path, "rb") as file:
        if not place.allowed and b"X" not in file.read():
            raise OSError(errno.EROFS, "the file is unchanged")
    if os.read(out, 200)[100:] != b"X" * 100:
        raise OSError(errno.EIO, "the pipe holds something else")


def _splice(source: int, into: int, size: int = PAGE) -> int:
    return call("splice", source, None, into, None, size, 0)


def _pipe() -> int:
    out, into = os.pipe()
    os.write(into, b"p" * PAGE)
    return out


def _moved(count: int) -> None:
    if not count:
        raise OSError(errno.EIO, "nothing was moved")


@attempt("copy-file-range", "copy_file_range(2)", twin="zone")
def _(place: Place) -> None:
    source = os.open(place.other, os.O_RDONLY)
    _moved(os.copy_file_range(source, target(place), PAGE, 0, 0))


@attempt("ficlone", "ioctl FICLONE", twin="zone")
def _(place: Place) -> None:
    source = os.open(place.other, os.O_RDONLY)
    or_skip(lambda: fcntl.ioctl(target(place), FICLONE, source), errno.EOPNOTSUPP)


@attempt("ficlonerange", "ioctl FICLONERANGE", twin="zone")
def _(place: Place) -> None:
    source = os.open(place.other, os.O_RDONLY)
    asked = struct.pack("<qQQQ", source, 0, PAGE, 0)
    found = target(place)
    or_skip(lambda: len(fcntl.ioctl(found, FICLONERANGE, asked)), errno.EOPNOTSUPP)


@attempt("fideduperange", "ioctl FIDEDUPERANGE of equal pages", twin="zone")
def _(place: Place) -> None:
    head = struct.pack("<QQHHI", 0, PAGE, 1, 0, 0)
    asked = bytearray(head + struct.pack("<qQQiI", target(place), PAGE, 0, 0, 0))
    or_skip(
        lambda: fcntl.ioctl(os.open(place.file, os.O_RDONLY), FIDEDUPERANGE, asked),
        errno.EOPNOTSUPP,
    )
    moved, status = struct.unpack_from("<Qi", asked, len(head) + 16)
    if status == -errno.EOPNOTSUPP:
        raise Skip("EOPNOTSUPP")
    if status or not moved:
        raise OSError(-status or errno.EIO, "not shared")


def _fallocate(place: Place, mode: int, offset: int, length: int) -> None:
    or_skip(lambda: call("fallocate", target(place), mode, offset, length), errno.EOPNOTSUPP)


@attempt("fallocate", "fallocate(2) to grow", twin="zone")
def _(place: Place) -> None:
    _fallocate(place, 0, 0, 1 << 20)


@attempt("fallocate-punch", "fallocate(2) with FALLOC_FL_PUNCH_HOLE", twin="zone")
def _(place: Place) -> None:
    _fallocate(place, KEEP_SIZE | PUNCH_HOLE, 0, PAGE)


@attempt("fallocate-zero", "fallocate(2) with FALLOC_FL_ZERO_RANGE", twin="zone")
def _(place: Place) -> None:
    _fallocate(place, ZERO_RANGE, 0, PAGE)


@attempt("fallocate-fold", "fallocate(2) with FALLOC_FL_COLLAPSE_RANGE", twin="zone")
def _(place: Place) -> None:
    _fallocate(place, COLLAPSE_RANGE, 0, PAGE)


@attempt("fallocate-part", "fallocate(2) with FALLOC_FL_INSERT_RANGE", twin="zone")
def _(place: Place) -> None:
    _fallocate(place, INSERT_RANGE, PAGE, PAGE)
