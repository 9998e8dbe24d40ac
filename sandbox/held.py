"""Files that processes hold though no name leads to them any more.

A walk of a directory cannot find a file that was deleted while it is open or
mapped; it takes room all the same. The kernel shows such files to whoever may
look at the process that holds them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator

from rolewall.errors import StorageError

__all__ = ["nameless_files"]

HOLDS = ("fd", "map_files")
# Whoever holds more would have whoever counts count for ever.
MOST = 250_000


def nameless_files(root: int, devices: Collection[int]) -> Iterator[os.stat_result]:
    """Deleted files on ``devices`` held by ``root`` or what descends from it, each as often
    as it is held. What may not be looked at is left out.

    Raises:
        StorageError: more is held than can be looked at.
    """
    for number, path in enumerate(_held(root)):
        if number == MOST:
            raise StorageError("too many files are held open", got=f"more than {MOST}")
        try:
            found = os.stat(path)
        except OSError:
            continue
        if found.st_nlink == 0 and stat.S_ISREG(found.st_mode) and found.st_dev in devices:
            yield found


def _held(root: int) -> Iterator[str]:
    for pid in _family(root):
        for kind in HOLDS:
            try:
                with os.scandir(f"/proc/{pid}/{kind}") as entries:
                    yield from (entry.path for entry in entries)
            except OSError:  # ended, or not ours to look at
                continue


def _family(root: int) -> Iterator[int]:
    """``root`` and all that descend from it, as far as they stand still."""
    waiting, known = [root], {root}
    while waiting:
        pid = waiting.pop()
        yield pid
        fresh = set(_children(pid)) - known
        known |= fresh
        waiting += fresh


def _children(pid: int) -> Iterator[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                yield from map(int, file.read().split())
        except OSError:
            continue
