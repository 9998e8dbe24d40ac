"""Where the machine's own failures become a box's.

A box is made of descriptors, processes, files and threads. When the machine has
none left, Python raises errors that say nothing of a box; whoever uses boxes
meets ``BoxError`` alone, with the system's reason in it.
"""

from __future__ import annotations

import errno
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rolewall.errors import BoxError, StorageError

__all__ = ["guarded", "machine_broke", "machine_refused", "start_thread", "tree_changed"]

_HINTS = {
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "the machine is out of open files",
    errno.ENOSPC: "free space on that file system",
    errno.EDQUOT: "the disk quota is used up",
    errno.EAGAIN: "the machine is out of processes, or this user is at its limit (ulimit -u)",
    errno.ENOMEM: "the machine is out of memory",
}

_BROKEN = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.ESTALE})
_CHANGED = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EAGAIN})


@contextmanager
def guarded(doing: str) -> Iterator[None]:
    """Turn what the machine refuses meanwhile into a BoxError.

    Args:
        doing: the verb phrase for the message, such as ``start a box``.
    """
    try:
        yield
    except OSError as error:
        place = str(error.filename) if error.filename is not None else None
        reason = error.strerror or str(error) or type(error).__name__
        raise BoxError(
            f"cannot {doing}: {reason}", place=place, hint=_HINTS.get(error.errno or 0)
        ) from error
    except subprocess.TimeoutExpired as error:
        raise BoxError(
            f"cannot {doing}: a program did not end in {error.timeout:g} s", got=_program(error)
        ) from error


def machine_refused(error: BoxError) -> bool:
    """Whether the harness itself ran out of something, which nothing in a box can bring about."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in _HINTS


def machine_broke(error: StorageError) -> bool:
    """Whether it is the machine that a directory could not be looked through for: nothing
    that lies in it, or is done to it meanwhile, has that effect."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in _BROKEN


def tree_changed(error: StorageError) -> bool:
    """Whether a directory could not be looked through for what was done to it meanwhile, if
    somebody could do anything."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in _CHANGED


def _program(error: subprocess.TimeoutExpired) -> str:
    words = error.cmd
    return str(words if isinstance(words, str) else words[0])


def start_thread(target: Callable[..., object], *arguments: object) -> threading.Thread:
    """Start a daemon thread.

    Raises:
        BoxError: the machine has none left.
    """
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:  # "can't start new thread"
        raise BoxError(f"cannot start a thread: {error}", hint=_HINTS[errno.EAGAIN]) from OSError(
            errno.EAGAIN, str(error)
        )
    return thread
