"""Taking a run directory: what stands where in it, what is refused, and who holds it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rolewall._files import open_regular
from rolewall.attest import ENVELOPE, LOG, SEAL
from rolewall.errors import InputError
from rolewall.sandbox import hold_kinds, hold_store, storage
from rolewall.storage import is_partial

__all__ = ["BLAME", "ENTRIES", "REPORT", "hold_layout", "locked", "run_around"]

REPORT = "report.html"
"""What `rolewall report` writes: made from the run, and in no seal."""
FILES = ("run.json", ".lock", LOG, SEAL, ENVELOPE, REPORT)
BLAME = "blame"
"""What `rolewall blame --replays` leaves: runs of its own, in no seal of this one."""
FOLDERS = ("episodes", "blobs.git", "scratch", BLAME)
ENTRIES = dict.fromkeys(FILES, "file") | dict.fromkeys(FOLDERS, "directory")
"""The entries of a run directory, with what each must be."""


def hold_layout(run: Path) -> None:
    """Refuse a directory in which a link, or another thing, stands where a run writes or
    removes: whoever prepared it would choose what is written to and removed. ``run``
    itself may be a link: it is the caller's choice.

    Raises:
        InputError: names the place. Nothing was changed.
        StorageError: a directory cannot be listed.
    """
    hold_kinds(run, _kind)
    hold_kinds(run / "episodes", lambda _: "directory")
    hold_store(run / "blobs.git")


def run_around(path: Path) -> Path | None:
    """The run directory that ``path`` lies in, or would; None where it lies in none."""
    above = Path(os.path.realpath(path.parent))
    for found in (above, *above.parents):
        # Another program may have a run.json too; what stands beside it is ours.
        there = {name for name in ENTRIES if os.path.lexists(found / name)} - {REPORT}
        if "run.json" in there and len(there) > 1:
            return found
    return None


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Make a run directory where there is none, and hold it against other harnesses.

    Raises:
        InputError: another one holds it, it is no directory, or its ``.lock`` is no file.
        StorageError: it cannot be made.
    """
    for path in (directory, *directory.parents):
        if os.path.lexists(path) and not os.path.isdir(path):
            raise InputError("not a directory", place=str(path), hint="give another -o")
    with storage(directory):
        directory.mkdir(parents=True, exist_ok=True)
        lock = _lock(directory / ".lock")
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                "another rolewall is running here", place=str(directory), hint="give another -o"
            ) from None
        yield
    finally:
        os.close(lock)


def _lock(path: Path) -> int:
    try:
        return open_regular(path, os.O_RDWR | os.O_CREAT)
    except OSError:
        hold_layout(path.parent)
        raise


def _kind(name: str) -> str:
    return "file" if is_partial(Path(name)) else ENTRIES.get(name, "")
