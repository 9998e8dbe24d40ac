"""What the kernel counted at the limits of one box, read from its control groups."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

__all__ = ["LimitCounters", "group_directories"]

ROOT = Path("/sys/fs/cgroup")
# By the names of ``Limits``: the controller, and where it counts in either version.
COUNTED: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "memory_mb": ("memory", ("memory.events", "memory.oom_control"), "oom_kill"),
    "pids": ("pids", ("pids.events",), "max"),
    "cpus": ("cpu", ("cpu.stat",), "nr_throttled"),
}
# Of its limit, what a group has used at its most when it was full; charges come in batches.
FULL = 0.95


class LimitCounters:
    """Counts of one box, which has its groups to itself.

    Args:
        groups: the text of ``/proc/PID/cgroup`` of a process in the box.
    """

    def __init__(self, groups: str) -> None:
        self._groups = groups
        self._last: dict[str, int] = {}

    def read(self) -> dict[str, int]:
        """How often each limit was met, by the names of ``Limits``.

        ``memory_mb`` counts processes that the kernel killed at the limit, ``pids``
        processes and threads that could not be started, ``cpus`` periods in which
        the box had to wait. What nothing counts is left out. A group that is gone
        keeps the counts it was last seen with.
        """
        for name in COUNTED:
            if (count := _count(self._groups, name)) is not None:
                self._last[name] = count
        return dict(self._last)

    @property
    def gone(self) -> bool:
        """Whether memory is no longer counted: the group was removed with its box."""
        return _count(self._groups, "memory_mb") is None


def _count(groups: str, name: str) -> int | None:
    controller, files, key = COUNTED[name]
    for directory in group_directories(groups, controller):
        for file in files:
            if (count := _number(directory / file, key)) is not None:
                return count if name != "memory_mb" or _full(directory) else 0
    return None


def _full(directory: Path) -> bool:
    """Whether a group has been at its memory limit. A machine that is out of memory
    kills in groups that are not, and that is no role's doing."""
    if (met := _number(directory / "memory.events", "oom")) is not None:
        return met > 0
    most = _number(directory / "memory.max_usage_in_bytes", "")
    limit = _number(directory / "memory.limit_in_bytes", "")
    return most is not None and limit is not None and most >= FULL * limit


def _number(path: Path, key: str) -> int | None:
    """The number after ``key`` on a line of the file, or the whole of it without a key."""
    with suppress(OSError, ValueError):
        text = path.read_text("ascii")
        if not key:
            return int(text)
        if found := re.search(rf"^{key} (\d+)$", text, re.M):
            return int(found[1])
    return None


def group_directories(groups: str, controller: str) -> Iterator[Path]:
    """Where the controller's files of a process are: version 1 has a tree for each."""
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            yield ROOT / controller / path.lstrip("/")
        elif not controllers:
            yield ROOT / path.lstrip("/")
