"""How much room a box's shared writable zones take, watched while commands run.

No mount limits a shared zone: it is a directory of the host. So it is measured,
and a command that lets it grow past the limit is ended. What counts is what the
zones of one box together hold on disk more than when the box was opened: blocks,
and ``ENTRY`` bytes for each entry, which is about what an inode and its name take.

A measurement walks the zones. Between two of them the file system is asked what
it has left, which costs nothing: once that has fallen by more than the zones may
still grow, the next measurement is due at once.

Not seen: a deleted file that is held only by a message on its way between two
processes; and with a harness that is not root also one that is only mapped, and
what a role hides in a directory or a process that it closed to its own user.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rolewall.errors import StorageError
from rolewall.sandbox.guard import start_thread
from rolewall.sandbox.held import nameless_files
from rolewall.sandbox.protocol import ZoneMount
from rolewall.sandbox.walker import walk

__all__ = ["DiskWatch", "shared_disk_fact"]

MEBIBYTE = 1024 * 1024
BLOCK = 512  # the unit of st_blocks, whatever the file system's own is
ENTRY = 512
GLANCE_SECONDS = 0.05
# Between two measurements of zones that are far from full, and of such that may be full.
PAUSE_SECONDS, HASTE_SECONDS = 1.0, 0.05
# A measurement takes a tenth of a core at most, a third if the disk fills fast.
PAUSE_FACTOR, HASTE_FACTOR = 10.0, 2.0
# The tree changes under the walk, and then it may break; a tree that cannot be
# measured this often in a row is kept from being measured.
MOST_BROKEN = 5


class DiskWatch:
    """Watches the writable zones of one box.

    Args:
        init: pid of the box's init; the files that its processes hold count too.

    Raises:
        StorageError: a zone cannot be read at the start.
    """

    def __init__(self, mounts: Sequence[ZoneMount], disk_mb: int, init: int | None = None) -> None:
        self._sources = [mount.source for mount in mounts if mount.writable]
        self._init = init
        self._most = disk_mb * MEBIBYTE + sum(_sizes(self._sources))
        # At the last measurement: how much more the zones may hold, and what was left.
        self._room, self._had = disk_mb * MEBIBYTE, self._left()
        self._stop = threading.Event()
        self._full = threading.Event()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Measure until the block is left, and then once more."""
        self._full.clear()
        self._stop.clear()
        if not self._sources:
            yield
            return
        thread = start_thread(self._watch)
        try:
            yield
        finally:
            self._stop.set()
            thread.join()
        if not self._full.is_set() and self._exceeded():
            self._full.set()

    @property
    def full(self) -> bool:
        """Whether the limit was passed, as far as has been measured."""
        return self._full.is_set()

    def _watch(self) -> None:
        took, broken = 0.0, 0
        while self._wait_until_due(took):
            began = time.monotonic()
            exceeded = self._exceeded(stoppable=True)
            took = time.monotonic() - began
            broken = broken + 1 if exceeded is None else 0
            if exceeded or broken >= MOST_BROKEN:
                self._full.set()
                return

    def _wait_until_due(self, took: float) -> bool:
        """Wait for the next measurement, after one of ``took`` seconds; False at the end."""
        began = time.monotonic()
        calm = max(PAUSE_SECONDS, PAUSE_FACTOR * took)
        haste = max(HASTE_SECONDS, HASTE_FACTOR * took)
        while not self._stop.wait(GLANCE_SECONDS):
            waited = time.monotonic() - began
            if waited >= calm or (waited >= haste and self._had - self._left() > self._room):
                return True
        return False

    def _left(self) -> int:
        """What the file systems of the zones have left together, in bytes."""
        left = {}
        for source in self._sources:
            with suppress(OSError):  # a zone that cannot be asked is measured as ever
                found = os.statvfs(source)
                left[found.f_fsid] = found.f_bfree * found.f_frsize
        return sum(left.values())

    def _exceeded(self, *, stoppable: bool = False) -> bool | None:
        """Whether the zones hold too much; None where that could not be told."""
        total, had = 0, self._left()
        try:
            for size in _sizes(self._sources, self._init):
                total += size
                if total > self._most:
                    return True
                if stoppable and self._stop.is_set():
                    return False
        except StorageError:
            return None
        self._room, self._had = self._most - total, had
        return False


def shared_disk_fact(disk_mb: int) -> str:
    """For the record: the mechanism of ``disk_mb`` for shared zones, and its value."""
    return (
        f"rlimit, {disk_mb} MiB a file; "
        f"measured while commands run, {disk_mb} MiB of growth of all shared zones"
    )


def _sizes(sources: Sequence[Path], init: int | None = None) -> Iterator[int]:
    """What each entry takes on disk, in bytes, a file of several names once; last what
    the processes below ``init`` hold without a name."""
    counted: set[tuple[int, int]] = set()
    devices: set[int] = set()
    for source in sources:
        for node in walk(source, paths=False, unopened=_by_name):
            found = node.stat
            if found is None or node.leaving:
                continue
            devices.add(found.st_dev)
            if found.st_nlink > 1 and node.kind != "dir":
                if (found.st_dev, found.st_ino) in counted:
                    continue
                counted.add((found.st_dev, found.st_ino))
            yield ENTRY + found.st_blocks * BLOCK
    for found in nameless_files(init, devices) if init else ():
        if (found.st_dev, found.st_ino) not in counted:
            counted.add((found.st_dev, found.st_ino))
            yield ENTRY + found.st_blocks * BLOCK


def _by_name(_path: bytes, _found: os.stat_result) -> bool:
    """Nothing but directories need be opened to be measured."""
    return True
