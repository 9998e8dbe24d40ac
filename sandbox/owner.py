"""Who made a thing that may outlive its maker: kits, containers, groups.

A pid alone is reused; with the start time it names one process for good.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass

__all__ = ["Owner", "new_name", "start_ticks"]


def start_ticks(pid: int) -> int | None:
    """The start time of a process in clock ticks since boot, None when there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            text = stat.read()
    except OSError:
        return None
    return int(text[text.rindex(b")") + 2 :].split()[19])


@dataclass(frozen=True, slots=True)
class Owner:
    pid: int
    started: int

    @classmethod
    def me(cls) -> Owner:
        return cls(os.getpid(), start_ticks(os.getpid()) or 0)

    @classmethod
    def parse(cls, name: str) -> Owner | None:
        """The owner named by ``new_name``'s result, None when it is no such name."""
        parts = name.split("-")
        if len(parts) != 4 or parts[0] != "rolewall" or not (parts[1] + parts[2]).isdigit():
            return None
        return cls(int(parts[1]), int(parts[2]))

    def alive(self) -> bool:
        return start_ticks(self.pid) == self.started


def new_name() -> str:
    """A unique name that tells its owner: ``rolewall-PID-STARTED-RANDOM``."""
    me = Owner.me()
    return f"rolewall-{me.pid}-{me.started}-{secrets.token_hex(5)}"
