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

from rolewall.errors import BoxError, StorageError
from rolewall.sandbox.guard import machine_broke, start_thread
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
# measured this often in a row is kept from being measured. Where the machine is what
# breaks it as often, the role is not to blame, and the limit not in force.
MOST_BROKEN = 5
# What outlives the command can make the last walk long, and it is over soon all the same;
# a large tree has more time for it, by how long its first walk took.
LAST_SECONDS, LAST_FACTOR = 10.0, 5.0


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
        began = time.monotonic()
        self._most = disk_mb * MEBIBYTE + sum(_sizes(self._sources))
        self._last = max(LAST_SECONDS, LAST_FACTOR * (time.monotonic() - began))
        # At the last measurement: how much more the zones may hold, and what was left.
        self._room, self._had = disk_mb * MEBIBYTE, self._left()
        self._stop = threading.Event()
        self._full = threading.Event()
        # How many measurements came to nothing in a row, why the last did, and whether
        # it is all the machine's.
        self._broken, self._trouble, self._machine = 0, StorageError(""), False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Measure until the block is left, and then once more.

        Raises:
            BoxError: the machine keeps the zones from being measured.
        """
        self._full.clear()
        self._stop.clear()
        self._broken = 0
        if not self._sources:
            yield
            return
        thread = start_thread(self._watch)
        try:
            yield
        finally:
            self._stop.set()
            thread.join()
        self._finally()

    def _finally(self) -> None:
        self._broken = 0
        until = time.monotonic() + self._last
        while not self._full.is_set() and self._measure(until) is None:
            self.check()
            time.sleep(HASTE_SECONDS)

    @property
    def full(self) -> bool:
        """Whether the limit was passed, as far as has been measured; or the zones were
        kept from being measured."""
        return self._full.is_set()

    def check(self) -> None:
        """Raises BoxError if the machine keeps the zones from being measured."""
        trouble = self._trouble
        if self._broken >= MOST_BROKEN and self._machine:
            raise BoxError(
                f"shared zones cannot be measured: {trouble.message}",
                place=trouble.place,
                hint=trouble.hint,
            ) from trouble.__cause__

    def _watch(self) -> None:
        took = 0.0
        while not self._full.is_set() and self._wait_until_due(took):
            began = time.monotonic()
            self._measure()
            took = time.monotonic() - began

    def _measure(self, until: float | None = None) -> bool | None:
        """Measure, and note what that says: as ``_exceeded``."""
        exceeded = self._exceeded(until)
        if exceeded is None:
            machine = machine_broke(self._trouble)
            self._broken = self._broken + 1 if machine is self._machine else 1
            self._machine = machine
        else:
            self._broken = 0
        if exceeded or (self._broken >= MOST_BROKEN and not self._machine):
            self._full.set()
        return exceeded

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

    def _exceeded(self, until: float | None) -> bool | None:
        """Whether the zones hold too much; None where that could not be told.

        Without ``until`` the end of the command breaks it off. At ``until``, a monotonic
        time, what the file systems have left has to tell.
        """
        total, had = 0, self._left()
        try:
            for size in _sizes(self._sources, self._init):
                total += size
                if total > self._most:
                    return True
                if until is None and self._stop.is_set():
                    return False
                if until is not None and time.monotonic() >= until:
                    return self._had - self._left() > self._room
        except StorageError as error:
            self._trouble = error
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
    the processes below ``init`` hold without a name. Nothing, for every further visit:
    whoever adds up may break off at each.

    A directory that is moved ahead of the walk is not entered again, which would have
    no end.
    """
    counted: set[tuple[int, int]] = set()
    devices: set[int] = set()
    for source in sources:
        for node in walk(source, paths=False, unopened=_by_name):
            found = node.stat
            if found is None or node.leaving:
                yield 0
                continue
            devices.add(found.st_dev)
            if found.st_nlink > 1 or node.kind == "dir":
                if (found.st_dev, found.st_ino) in counted:
                    node.skip = node.kind == "dir"
                    yield 0
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
