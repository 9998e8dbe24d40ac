"""Control groups for bubblewrap boxes: memory, processes and cores.

Only root can have them without a service manager's help; where they cannot be
made, the backend falls back to per-process limits and says so in its facts.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from rolewall.errors import BoxError
from rolewall.policies import Limits
from rolewall.sandbox.owner import Owner, new_name

__all__ = ["ControlGroup", "clean_groups"]

ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 100_000


class ControlGroup:
    """One box's group in every hierarchy that counts something of its limits."""

    def __init__(self, directories: list[Path]) -> None:
        self._directories = directories

    @classmethod
    def make(cls, limits: Limits) -> ControlGroup | None:
        """A group with ``limits`` in force, or None where groups cannot be made."""
        if os.geteuid() != 0:
            return None
        name = new_name()
        made: list[Path] = []
        try:
            for parent, settings in _plan(limits):
                directory = parent / "rolewall" / name
                directory.mkdir(parents=True)
                made.append(directory)
                for key, value in settings.items():
                    _set(directory / key, value)
        except OSError:
            cls(made).remove()
            return None
        return cls(made)

    def admit(self, pid: int) -> None:
        """Put a process, and all it will start, into the group.

        Raises:
            BoxError: the kernel refused.
        """
        for directory in self._directories:
            try:
                (directory / "cgroup.procs").write_text(str(pid))
            except OSError as error:
                raise BoxError(
                    f"a box cannot be put under its limits: {error.strerror}", place=str(directory)
                ) from error

    def remove(self) -> None:
        """Remove the group, waiting a moment for the kernel to reap its processes."""
        for directory in self._directories:
            for _ in range(50):
                try:
                    directory.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.01)
                else:
                    break


def _plan(limits: Limits) -> list[tuple[Path, dict[str, str]]]:
    memory = str(limits.memory_mb * 1024 * 1024)
    pids = str(limits.pids + 1)  # init is one of them
    quota = str(int(limits.cpus * PERIOD_US))
    if (ROOT / "cgroup.controllers").exists():
        for group in (ROOT, ROOT / "rolewall"):
            group.mkdir(exist_ok=True)
            (group / "cgroup.subtree_control").write_text("+memory +pids +cpu")
        return [
            (
                ROOT,
                {
                    "memory.max": memory,
                    "memory.swap.max": "0",
                    "pids.max": pids,
                    "cpu.max": f"{quota} {PERIOD_US}",
                },
            )
        ]
    return [
        (
            ROOT / "memory",
            {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory},
        ),
        (ROOT / "pids", {"pids.max": pids}),
        (ROOT / "cpu", {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": quota}),
    ]


def _set(path: Path, value: str) -> None:
    if not path.exists() and "sw" in path.name:
        return  # swap accounting is off in this kernel
    path.write_text(value)


def clean_groups() -> list[str]:
    """Remove groups of dead harnesses; a line for each."""
    if os.geteuid() != 0:
        return []
    removed = []
    parents = (ROOT, *(ROOT / name for name in ("memory", "pids", "cpu")))
    for parent in [p / "rolewall" for p in parents if (p / "rolewall").is_dir()]:
        for directory in parent.iterdir():
            owner = Owner.parse(directory.name)
            if directory.is_dir() and owner and owner.dead():
                ControlGroup([directory]).remove()
                if not directory.exists():
                    removed.append(f"control group {directory}")
    return removed
