"""What the kernel will look at when it decides on a call: existence, mount, mode bits."""

from __future__ import annotations

import os
import stat

from rolewall.policies import Effect, Target, escape

from . import kernel
from .resolve import Root
from .task import TaskFacts

__all__ = ["exists", "measure"]

_NAMING = frozenset({Effect.CREATE, Effect.CREATE_WRITE, Effect.RENAME, Effect.LINK, Effect.UNLINK})
_Place = tuple[os.stat_result, bool]  # what stands there, and whether its mount is read-only


def measure(root: Root, path: bytes, effect: Effect, task: TaskFacts) -> Target:
    """The target at the canonical ``path`` for a call by ``task``.

    Calls that make or remove a name are measured on the directory, the others
    on the file itself.
    """
    found, there = _stat(root, path)
    above = path.rpartition(b"/")[0] or b"/"
    place = found
    if effect in _NAMING or found is None:
        place, _ = _stat(root, above)
    if place is None:
        return Target(escape(path), there, _nearest_read_only(root, above))
    return Target(escape(path), there, place[1], _permits(effect, place[0], found, task))


def exists(root: Root, path: bytes) -> bool | None:
    """Whether anything stands at the canonical ``path``; None where it cannot be told."""
    return _stat(root, path)[1]


def _stat(root: Root, path: bytes) -> tuple[_Place | None, bool | None]:
    """What stands at ``path``, and whether anything does (None where it cannot be told)."""
    try:
        fd = kernel.open_in_root(root.fd, path, os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return None, False
    except OSError:
        return None, None
    try:
        return (os.fstat(fd), bool(os.fstatvfs(fd).f_flag & os.ST_RDONLY)), True
    except OSError:
        return None, True
    finally:
        os.close(fd)


def _nearest_read_only(root: Root, path: bytes) -> bool | None:
    """Of the nearest directory above ``path`` that exists, found by halving: what is below
    a missing one is missing, and a path has up to two thousand parts."""
    parts = path.split(b"/")[1:]
    found, low, high = None, 0, len(parts) - 1
    while low <= high:
        middle = (low + high) // 2
        place, _ = _stat(root, b"/" + b"/".join(parts[:middle]))
        if place is None:
            high = middle - 1
        else:
            found, low = place[1], middle + 1
    return found


def _permits(
    effect: Effect, place: os.stat_result, found: _Place | None, task: TaskFacts
) -> bool | None:
    if task.uid <= 0:
        return True if task.uid == 0 else None
    if effect in (Effect.MODE, Effect.OWNER, Effect.ATTR):
        return place.st_uid == task.uid
    if effect is Effect.CREATE_UNNAMED:
        return _may(place, task, 0o3)
    if effect is Effect.CREATE_WRITE and found is not None:
        return _may(found[0], task, 0o2)
    if effect in _NAMING or found is None:
        return _may(place, task, 0o3) and not _sticks(effect, place, found, task)
    return (effect is Effect.TIMES and place.st_uid == task.uid) or _may(place, task, 0o2)


def _sticks(effect: Effect, folder: os.stat_result, found: _Place | None, task: TaskFacts) -> bool:
    """Whether a sticky directory keeps another user's entry."""
    if not folder.st_mode & stat.S_ISVTX or found is None or effect is Effect.LINK:
        return False
    return task.uid not in (folder.st_uid, found[0].st_uid)


def _may(entry: os.stat_result, task: TaskFacts, want: int) -> bool:
    if entry.st_uid == task.uid:
        have = entry.st_mode >> 6
    elif entry.st_gid in task.groups:
        have = entry.st_mode >> 3
    else:
        have = entry.st_mode
    return have & want == want
