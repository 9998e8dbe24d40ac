"""Who made a thing that may outlive its maker: kits, containers, groups.

A pid alone is reused; with the start time it names one process for good, and
with its pid namespace it says who can tell whether that process lives.
"""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Owner", "is_left_over", "new_name", "pid_namespace", "start_ticks"]

# States of a process that runs no more: whoever should wait for it has not.
ENDED = frozenset({b"Z", b"X"})

NAME = re.compile(r"rolewall-(\d+)-(\d+)-(\d+)-[0-9a-f]+\Z")


def start_ticks(pid: int) -> int | None:
    """The start time of a process in clock ticks since boot, None when none runs.

    Any other failure to read it raises OSError: it says nothing of the process.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            text = stat.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text[text.rindex(b")") + 2 :].split()
    # A leader that ended before its other threads looks the same, but for their number.
    return None if fields[0] in ENDED and int(fields[17]) <= 1 else int(fields[19])


def pid_namespace() -> int:
    """The number of this process's pid namespace."""
    return os.stat("/proc/self/ns/pid").st_ino


@dataclass(frozen=True, slots=True)
class Owner:
    """A harness: its pid namespace, its pid there and when it started, in clock ticks."""

    namespace: int
    pid: int
    started: int

    @classmethod
    def me(cls) -> Owner:
        return cls(pid_namespace(), os.getpid(), start_ticks(os.getpid()) or 0)

    @classmethod
    def parse(cls, name: str) -> Owner | None:
        """The owner named by ``new_name``'s result, None when it is no such name."""
        match = NAME.match(name)
        return cls(*map(int, match.groups())) if match else None

    def dead(self) -> bool:
        """Whether it is known to be gone: of another pid namespace nothing is known."""
        return self.namespace == pid_namespace() and start_ticks(self.pid) != self.started


def is_left_over(path: Path) -> bool:
    """Whether a directory bears the name of a dead harness, and is this user's own.

    In a directory that others write to, anybody can choose such a name.
    """
    owner = Owner.parse(path.name)
    try:
        return owner is not None and owner.dead() and path.lstat().st_uid == os.geteuid()
    except FileNotFoundError:  # somebody else removes it too
        return False


def new_name() -> str:
    """A unique name that tells its owner: ``rolewall-NAMESPACE-PID-STARTED-RANDOM``."""
    me = Owner.me()
    return f"rolewall-{me.namespace}-{me.pid}-{me.started}-{secrets.token_hex(5)}"
