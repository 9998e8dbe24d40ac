"""Writing through queues that the kernel works off by itself."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct

from .attempt import Place, attempt
from .calls import call, or_skip
from .contents import target

GROUP = "rings"
ENTRIES = 4
OP_OPENAT, OP_WRITE = 18, 23
OFF_SQ, OFF_CQ, OFF_SQES = 0, 0x8000000, 0x10000000
GETEVENTS = 1


class _Ring:
    """An io_uring, as far as one request needs it."""

    def __init__(self) -> None:
        self.params = bytearray(120)
        held = (ctypes.c_char * 120).from_buffer(self.params)
        self.fd = call("io_uring_setup", ENTRIES, held)
        field = struct.unpack_from("<30I", self.params)
        # struct io_uring_params: ten words, then the offsets of both queues.
        self.sq_tail, self.sq_array = field[11], field[16]
        self.cq_head, self.cqes = field[20], field[25]
        size = self.sq_array + ENTRIES * 4
        self.sq = mmap.mmap(self.fd, size, mmap.MAP_SHARED, offset=OFF_SQ)
        self.cq = mmap.mmap(self.fd, self.cqes + 2 * ENTRIES * 16, mmap.MAP_SHARED, offset=OFF_CQ)
        self.sqes = mmap.mmap(self.fd, ENTRIES * 64, mmap.MAP_SHARED, offset=OFF_SQES)
        self.count = 0

    def ask(self, op: int, fd: int, offset: int, address: int, length: int, flags: int = 0) -> int:
        """One request; its result.

        Raises:
            OSError: the kernel refused it.
        """
        entry = struct.pack("<BBHiQQII", op, 0, 0, fd, offset, address, length, flags)
        self.sqes[:64] = entry.ljust(64, b"\0")
        struct.pack_into("<I", self.sq, self.sq_array + 4 * (self.count % ENTRIES), 0)
        head = self.count
        self.count += 1
        struct.pack_into("<I", self.sq, self.sq_tail, self.count)
        call("io_uring_enter", self.fd, 1, 1, GETEVENTS, None, 0)
        at = self.cqes + 16 * (head % (2 * ENTRIES))
        (result,) = struct.unpack_from("<i", self.cq, at + 8)
        struct.pack_into("<I", self.cq, self.cq_head, self.count)
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return int(result)


def _path(place: Place) -> str:
    return place.mine() if place.allowed else place.file


@attempt("io-uring-write", "io_uring: open for writing, and write", twin="bare", kind="privileged")
def _(place: Place) -> None:
    ring = _Ring()
    path = ctypes.create_string_buffer(os.fsencode(_path(place)))
    data = ctypes.create_string_buffer(b"changed")
    found = ring.ask(OP_OPENAT, -100, 0, ctypes.addressof(path), 0, os.O_RDWR)
    ring.ask(OP_WRITE, found, 0, ctypes.addressof(data), 7)


@attempt("io-uring-enter", "io_uring_enter(2) on a ring that somebody may have left", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    ring = _Ring().fd if place.allowed else os.open("/dev/null", os.O_RDWR)
    call("io_uring_enter", ring, 0, 0, 0, None, 0)


@attempt("io-uring-reg", "io_uring_register(2) of a probe", twin="bare", kind="privileged")
def _(place: Place) -> None:
    ring = _Ring().fd if place.allowed else os.open("/dev/null", os.O_RDWR)
    call("io_uring_register", ring, 8, bytes(16 + 8 * 256), 256)


@attempt("aio", "io_submit(2) of a write", twin="zone")
def _(place: Place) -> None:
    context = ctypes.c_ulong(0)
    or_skip(lambda: call("io_setup", 1, ctypes.byref(context)), errno.ENOSYS)
    data = ctypes.create_string_buffer(b"changed")
    # struct iocb: data, key, rw_flags, opcode 1 (write), priority, descriptor, buffer …
    asked = struct.pack("<QIiHhIQQq", 0, 0, 0, 1, 0, target(place), ctypes.addressof(data), 7, 0)
    block = ctypes.create_string_buffer(asked.ljust(64, b"\0"))
    pointers = struct.pack("<Q", ctypes.addressof(block))
    call("io_submit", context.value, 1, pointers)
    events = ctypes.create_string_buffer(32)
    call("io_getevents", context.value, 1, 1, events, None)
    (result,) = struct.unpack_from("<q", events.raw, 16)
    if result < 0:
        raise OSError(-result, os.strerror(-result))
