"""Facts about a task in a box, read from /proc by its thread id."""

from __future__ import annotations

import os
from dataclasses import dataclass

from rolewall.policies import escape

from . import kernel

__all__ = ["TaskFacts", "read_link", "task_facts"]

_STATUS_MAX = 8192


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """Who made a call. ``pid`` and ``tid`` are ids inside the box (0 where unknown)."""

    comm: str = ""
    exe: str = ""
    pid: int = 0
    tid: int = 0
    uid: int = -1
    groups: frozenset[int] = frozenset()


def task_facts(tid: int) -> TaskFacts:
    """What /proc says now; nothing is kept, since an exec changes it under one id."""
    fields = _status(tid)
    groups = [*_numbers(fields, b"Groups"), *_numbers(fields, b"Gid")[3:4]]
    uids = _numbers(fields, b"Uid")
    return TaskFacts(
        comm=escape(fields.get(b"Name", b"")),
        exe=escape(read_link(f"/proc/{tid}/exe") or b""),
        pid=(_numbers(fields, b"NStgid") or [0])[-1],
        tid=(_numbers(fields, b"NSpid") or [0])[-1],
        uid=uids[3] if len(uids) == 4 else -1,  # the one that file access goes by
        groups=frozenset(groups),
    )


def _status(tid: int) -> dict[bytes, bytes]:
    try:
        fd = kernel.open_file(f"/proc/{tid}/status", os.O_RDONLY)
    except OSError:
        return {}
    try:
        raw = os.read(fd, _STATUS_MAX)
    except OSError:
        return {}
    finally:
        os.close(fd)
    pairs = (line.partition(b":\t") for line in raw.split(b"\n"))
    return {key: value for key, _, value in pairs}


def _numbers(fields: dict[bytes, bytes], key: bytes) -> list[int]:
    return [int(word) for word in fields.get(key, b"").split() if word.isdigit()]


def read_link(path: str) -> bytes | None:
    """The text of a link, or None where it cannot be read."""
    try:
        return os.readlink(os.fsencode(path))
    except OSError:
        return None
