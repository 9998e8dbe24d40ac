"""How much room a box's shared writable zones take, watched while commands run.

No mount limits a shared zone: it is a directory of the host. So it is measured,
and a command that lets it grow past the limit is ended. What counts is what the
zones of one box together hold on disk more than when the box was opened.

Not seen: a deleted file that is still held open, and what a role of the
harness's own user hides in a directory that it closed to itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rolewall.errors import StorageError
from rolewall.sandbox.guard import start_thread
from rolewall.sandbox.protocol import ZoneMount
from rolewall.sandbox.walker import walk

__all__ = ["DiskWatch", "shared_disk_fact"]

MEBIBYTE = 1024 * 1024
BLOCK = 512  # the unit of st_blocks, whatever the file system's own is
PAUSE_SECONDS = 1.0
# A measurement may take a tenth of a core at most.
PAUSE_FACTOR = 10.0
# The tree changes under the walk, and then it may break; a tree that cannot be
# measured this often in a row is kept from being measured.
MOST_BROKEN = 5


class DiskWatch:
    """Watches the writable zones of one box.

    Raises:
        StorageError: a zone cannot be read at the start.
    """

    def __init__(self, mounts: Sequence[ZoneMount], disk_mb: int) -> None:
        self._sources = [mount.source for mount in mounts if mount.writable]
        self._most = disk_mb * MEBIBYTE + sum(_sizes(self._sources))
        self._stop = threading.Event()
        self._full = threading.Event()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Measure at most once a second until the block is left, and then once more."""
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
        pause, broken = PAUSE_SECONDS, 0
        while not self._stop.wait(pause):
            began = time.monotonic()
            exceeded = self._exceeded(stoppable=True)
            broken = broken + 1 if exceeded is None else 0
            if exceeded or broken >= MOST_BROKEN:
                self._full.set()
                return
            pause = max(PAUSE_SECONDS, PAUSE_FACTOR * (time.monotonic() - began))

    def _exceeded(self, *, stoppable: bool = False) -> bool | None:
        """Whether the zones hold too much; None where that could not be told."""
        total = 0
        try:
            for size in _sizes(self._sources):
                total += size
                if total > self._most:
                    return True
                if stoppable and self._stop.is_set():
                    return False
        except StorageError:
            return None
        return False


def shared_disk_fact(disk_mb: int) -> str:
    """For the record: the mechanism of ``disk_mb`` for shared zones, and its value."""
    return (
        f"rlimit, {disk_mb} MiB a file; "
        f"measured while commands run, {disk_mb} MiB of growth of all shared zones"
    )


def _sizes(sources: Sequence[Path]) -> Iterator[int]:
    """What each entry takes on disk, in bytes, a file of several names once."""
    linked: set[tuple[int, int]] = set()
    for source in sources:
        for node in walk(source, paths=False):
            found = node.stat
            if found is None or node.leaving:
                continue
            if found.st_nlink > 1 and node.kind != "dir":
                if (found.st_dev, found.st_ino) in linked:
                    continue
                linked.add((found.st_dev, found.st_ino))
            yield found.st_blocks * BLOCK
