"""What the kernel says of processes, any of which may end while it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

__all__ = ["children_of", "command_of", "commands"]

PROC = Path("/proc")


def command_of(pid: int) -> bytes:
    """The command line, each word ended by a NUL; empty where the process has ended."""
    try:
        return (PROC / str(pid) / "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def commands() -> Iterator[tuple[int, bytes]]:
    """Every process of this machine with its command line."""
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            yield int(entry.name), command_of(int(entry.name))


def children_of(pid: int) -> list[int]:
    """The children of all threads of a process; none where it has ended."""
    try:
        told = [
            task.joinpath("children").read_text() for task in (PROC / str(pid) / "task").iterdir()
        ]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(child) for line in told for child in line.split()]
