"""System calls of 32-bit x86, made by a 64-bit process: ``int 0x80`` in own machine code."""

from __future__ import annotations

import ctypes
import mmap
import os

from .attempt import Skip
from .calls import LIBC

__all__ = ["call32", "low"]

MAP_32BIT = 0x40
# push rbx; eax..edi = the six words; int 0x80; pop rbx; ret
CODE = bytes.fromhex("5389f889f34189ca89d14489d24489c64489cfcd805bc3")


def call32(nr: int, *words: int) -> int:
    """Make call ``nr`` of the i386 table.

    Raises:
        OSError: it was refused.
        Skip: not an x86-64 machine.
    """
    if os.uname().machine != "x86_64":
        raise Skip("no 32-bit x86 here")
    at = _low_pages(CODE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    function = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_uint32] * 6)(at)
    done = int(function(nr, *[word & 0xFFFFFFFF for word in (*words, 0, 0, 0, 0, 0)[:5]]))
    if -4096 < done < 0:
        raise OSError(-done, os.strerror(-done))
    return done


def low(text: str | bytes) -> int:
    """The address of ``text`` where 32 bits reach it."""
    return _low_pages(os.fsencode(text) + b"\0", mmap.PROT_READ | mmap.PROT_WRITE)


def _low_pages(data: bytes, protection: int) -> int:
    LIBC.mmap.restype = ctypes.c_void_p
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_32BIT
    size = ctypes.c_size_t(max(len(data), mmap.PAGESIZE))
    at = LIBC.mmap(None, size, protection, flags, -1, ctypes.c_long(0))
    if at in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "mmap")
    ctypes.memmove(at, data, len(data))
    return int(at)
