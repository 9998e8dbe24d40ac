"""Letting a role read what another left unreadable, and putting it back."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass

from rolewall.sandbox.beneath import (
    Location,
    directory,
    open_beneath,
    opened,
    proc_path,
    storage,
)
from rolewall.sandbox.names import escape
from rolewall.sandbox.walker import walk

__all__ = ["ModeChange", "make_readable", "restore_modes"]

_READ = {"file": 0o400, "dir": 0o500}


@dataclass(frozen=True, slots=True)
class ModeChange:
    """One entry whose mode the harness changed. ``ino`` says which file it was."""

    path: bytes
    ino: int
    old: int
    new: int

    @property
    def name(self) -> str:
        return escape(self.path) or "."


def make_readable(workspace: Location) -> list[ModeChange]:
    """Give every file and directory the owner's read bit, directories the search bit too.

    Returns what was changed, in the order of the walk. Only the owner's bits
    matter: each role sees the files of a zone as its own.
    """
    changes: list[ModeChange] = []
    with storage(workspace):
        for node in walk(workspace, unopened=_is_readable):
            if node.leaving or node.stat is None or node.kind not in _READ:
                continue
            old = stat.S_IMODE(node.stat.st_mode)
            new = old | _READ[node.kind]
            if new != old:
                os.chmod(proc_path(node.fd), new)
                changes.append(ModeChange(node.path, node.stat.st_ino, old, new))
    return changes


def _is_readable(_: bytes, status: os.stat_result) -> bool:
    return not stat.S_ISREG(status.st_mode) or bool(status.st_mode & _READ["file"])


def restore_modes(workspace: Location, changes: Iterable[ModeChange]) -> list[ModeChange]:
    """Put the old modes back; returns those left alone because a role changed them since."""
    left: list[ModeChange] = []
    with directory(workspace) as root, storage(workspace):
        for change in reversed(list(changes)):
            if not _restore(root, change):
                left.append(change)
    return left


def _restore(root: int, change: ModeChange) -> bool:
    try:
        fd = open_beneath(root, change.path, os.O_PATH)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return False
    with opened(fd):
        status = os.fstat(fd)
        same = (status.st_ino, stat.S_IMODE(status.st_mode)) == (change.ino, change.new)
        if same:
            os.chmod(proc_path(fd), change.old)
        return same
