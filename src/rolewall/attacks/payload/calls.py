"""System calls by number, for what Python does not offer."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from typing import Any

from .attempt import Skip
from .numbers import number

__all__ = ["AT_EMPTY_PATH", "AT_FDCWD", "LIBC", "call", "or_skip", "raw"]

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
AT_FDCWD, AT_EMPTY_PATH = -100, 0x1000


def call(name: str, *arguments: Any) -> int:
    """Make the system call ``name``; what it returned.

    Arguments are numbers, None for a null pointer, bytes or text (passed as a pointer), or
    objects of ctypes.

    Raises:
        OSError: it was refused.
        Skip: this architecture has no such call.
    """
    return raw(number(name), *arguments)


def raw(nr: int, *arguments: Any) -> int:
    """As ``call``, by number."""
    done = int(LIBC.syscall(ctypes.c_long(nr), *map(_word, arguments)))
    if done == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return done


def _word(value: Any) -> Any:
    if value is None or isinstance(value, int):
        return ctypes.c_long(value or 0)
    return os.fsencode(value) + b"\0" if isinstance(value, str) else value


def or_skip(function: Callable[[], int], *codes: int) -> int:
    """The result of ``function``; one of ``codes`` says that this machine lacks the call."""
    try:
        return function()
    except OSError as error:
        if error.errno in codes:
            raise Skip(errno.errorcode[error.errno or 0]) from None
        raise
