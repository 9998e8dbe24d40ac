"""Standard input, output and error, whatever the shell made of them.

A decision that nobody received is no decision. So output that cannot be
delivered (a closed pipe, a full disk, ``>&-``) is told, and never exit code 0.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from rolewall.errors import InfrastructureError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["Passage", "Undelivered", "claim_descriptors", "flush_output"]

# As the C library has it for privileged programs: what is written to a closed
# output fails, and no file or socket opened later gets the number of a standard one.
STAND_INS = (os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)


def claim_descriptors() -> None:
    """Open what the shell closed: an empty input, an output that fails, errors to nowhere."""
    for descriptor, flags in enumerate(STAND_INS):
        if not _is_open(descriptor):
            _replace(descriptor, flags)
    # Python leaves out a stream whose descriptor was closed when it started.
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        # A locale without a letter is no reason to say nothing.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush_output() -> OSError | None:
    """Deliver what was written to standard output; what it failed with, if it did.

    After a failure output goes nowhere, so that the interpreter's end is quiet.
    """
    failed = _flush(sys.stdout)
    _flush(sys.stderr)
    return failed


class Undelivered(InfrastructureError):
    """Output that a standard stream did not take; ``unread`` when its reader has gone."""

    def __init__(self, name: str, failed: OSError) -> None:
        super().__init__(failed.strerror or str(failed), place=name)
        self.unread = failed.errno == errno.EPIPE


class Passage(io.FileIO):
    """A standard stream that passes on what another program writes: at once and whole.

    ``write`` raises ``Undelivered``.
    """

    def __init__(self, descriptor: int, title: str) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._title = title

    def write(self, data: ReadableBuffer) -> int:
        left = memoryview(data).cast("B")
        size = len(left)
        try:
            while left:
                written = super().write(left)
                if written is None:  # others may have made it non-blocking
                    select.select([], [self], [])
                else:
                    left = left[written:]
        except OSError as error:
            raise Undelivered(self._title, error) from None
        return size


def _flush(stream: TextIO) -> OSError | None:
    try:
        stream.flush()
    except OSError as error:
        _replace(stream.fileno(), os.O_WRONLY)
        with suppress(OSError):
            stream.flush()
        return error
    return None


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _replace(descriptor: int, flags: int) -> None:
    """Make ``descriptor`` the null device; commands started later inherit it."""
    opened = os.open(os.devnull, flags)
    if opened == descriptor:
        os.set_inheritable(opened, True)
        return
    os.dup2(opened, descriptor)
    os.close(opened)
