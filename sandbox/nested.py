"""Keeping the repositories below a workspace out of the verifier's way.

``git status`` in a directory with a ``.git`` of its own runs what that one's
configuration says, as whoever asks. While the verifier has its turn, such
entries lie beside the zones.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rolewall.sandbox.beneath import (
    Location,
    directory,
    make_directory,
    open_beneath,
    open_entry,
    opened,
    proc_path,
    storage,
)
from rolewall.sandbox.manifest import Entry, Manifest, is_git
from rolewall.sandbox.names import order
from rolewall.sandbox.remove import remove_beneath

__all__ = ["NestedAside", "nested_aside", "restore_nested", "with_nested"]

_GIT = b".git"
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


@dataclass(frozen=True, slots=True)
class NestedAside:
    """What was set aside: the entry ``paths[n]`` of the workspace is ``aside/n``."""

    aside: Path
    paths: tuple[bytes, ...]


def nested_aside(workspace: Location, state: Manifest, aside: Path) -> NestedAside:
    """Set every entry named ``.git`` aside but the workspace's own.

    Modes and times of the directories that held them stay. ``aside``, which may not
    exist, must be on the same file system; ``state`` is the workspace as it is. No
    process may be alive. Raises StorageError.
    """
    moved = NestedAside(aside, tuple(_topmost(state)))
    if moved.paths:
        make_directory(aside)
        with directory(workspace) as root, directory(aside) as beside, storage(workspace):
            for number, path in enumerate(moved.paths):
                with _holder(root, path) as at:
                    _move(at, _GIT, beside, b"%d" % number)
    return moved


def restore_nested(workspace: Location, moved: NestedAside) -> None:
    """Put back what ``nested_aside`` took, over whatever a role put there since.

    What belongs into a directory that is gone stays aside. Raises StorageError.
    """
    if not moved.paths:
        return
    with directory(workspace) as root, directory(moved.aside) as beside, storage(workspace):
        for number, path in enumerate(moved.paths):
            try:
                with _holder(root, path) as at:
                    remove_beneath(at, _GIT)
                    _move(beside, b"%d" % number, at, _GIT)
            except OSError as error:
                if error.errno not in _GONE:
                    raise


def with_nested(manifest: Manifest, state: Manifest, moved: NestedAside) -> Manifest:
    """``manifest`` with what was set aside as it was in ``state``, where its directory is there."""
    there = {entry.path for entry in manifest.entries if entry.kind == "dir"}
    back = {path for path in moved.paths if path.rpartition(b"/")[0] in there}
    if not back:
        return manifest
    kept = [e for e in manifest.entries if _within(e, back) is None]
    kept += [e for e in state.entries if _within(e, back) is not None]
    return Manifest(tuple(sorted(kept, key=lambda entry: order(entry.path))))


def _topmost(state: Manifest) -> Iterator[bytes]:
    last = b""
    for entry in state.entries:
        if is_git(entry.path) or (last and entry.path.startswith(last + b"/")):
            continue
        if entry.path.rpartition(b"/")[2] == _GIT:
            last = entry.path
            yield last


def _within(entry: Entry, tops: set[bytes]) -> bytes | None:
    """Which of ``tops`` an entry is or lies below."""
    end = entry.path.find(b"/.git")
    while end >= 0:
        top = entry.path[: end + 5]
        if top in tops and entry.path[end + 5 : end + 6] in (b"", b"/"):
            return top
        end = entry.path.find(b"/.git", end + 1)
    return None


@contextmanager
def _holder(root: int, path: bytes) -> Iterator[int]:
    """The directory that holds ``path``, usable for its owner meanwhile."""
    above = path.rpartition(b"/")[0]
    with opened(open_beneath(root, above, os.O_PATH | os.O_DIRECTORY)) as at, _usable(at):
        yield at


def _move(source: int, name: bytes, target: int, new_name: bytes) -> None:
    with opened(open_entry(source, name)) as entry:
        if stat.S_ISDIR(os.fstat(entry).st_mode):
            with _usable(entry):
                os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
        else:
            os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)


@contextmanager
def _usable(fd: int) -> Iterator[None]:
    """A directory that a role may have closed; its mode and time are as before at the end."""
    status = os.fstat(fd)
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o700 != 0o700:
        os.chmod(proc_path(fd), mode | 0o700)
    try:
        yield
    finally:
        if mode & 0o700 != 0o700:
            os.chmod(proc_path(fd), mode)
        os.utime(proc_path(fd), ns=(status.st_atime_ns, status.st_mtime_ns))
