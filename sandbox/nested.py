"""Keeping repositories that one role made out of the way of the others.

``git status`` in a directory with a ``.git`` of its own runs what that one's
configuration says, as whoever asks. While another role has its turn, those of
the workspace lie beside the zones; those of other zones are removed.

They are found on the disk, not in a manifest: a role chooses how much of its
work fits into one.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rolewall.errors import StorageError
from rolewall.sandbox.beneath import (
    Location,
    directory,
    make_directory,
    open_entry,
    opened,
    proc_path,
    storage,
)
from rolewall.sandbox.manifest import Entry, Manifest
from rolewall.sandbox.names import order
from rolewall.sandbox.remove import remove_beneath
from rolewall.sandbox.walker import Node, walk

__all__ = ["NestedAside", "drop_repositories", "nested_aside", "restore_nested", "with_nested"]

_GIT = b".git"
_STAYS = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM)
# What is remembered in order to be put back: a role can make a chain of directories as
# deep as its disk is large, with an entry in each.
_PATH_BYTES = 16 * 1024
_ALL_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class NestedAside:
    """What was set aside: the entry ``paths[n]`` of the workspace is ``aside/n``.

    Entries below a path over 16 KiB, and those beyond 128 MiB of paths, lie there
    as ``aside/left-n`` and are not put back.
    """

    aside: Path
    paths: tuple[bytes, ...]


def nested_aside(workspace: Location, aside: Path) -> NestedAside:
    """Set every entry named ``.git`` aside but the workspace's own.

    Modes and times of the directories that held them stay. ``aside``, which may not
    exist, must be on the same file system. No process may be alive. Raises StorageError.
    """
    paths: list[bytes] = []
    room, left = _ALL_BYTES, 0
    with ExitStack() as stack, storage(workspace):
        beside = -1
        for at, held, found in _survey(workspace):
            if not found or held.path == b"":
                continue
            if beside < 0:
                make_directory(aside)
                beside = stack.enter_context(directory(aside))
            if held.path is None or len(held.path) > room:
                name, left = b"left-%d" % left, left + 1
            else:
                name, room = b"%d" % len(paths), room - len(held.path)
                paths.append(held.path + b"/" + _GIT)
            held.touched = True
            _move(at, _GIT, beside, name)
    return NestedAside(aside, tuple(paths))


def restore_nested(workspace: Location, moved: NestedAside) -> None:
    """Put back what ``nested_aside`` took, over whatever a role put there since.

    What belongs into a directory that is gone, or that cannot be written, stays
    aside. Raises StorageError.
    """
    if not moved.paths:
        return
    numbers = {path: number for number, path in enumerate(moved.paths)}
    with directory(moved.aside) as beside, storage(workspace):
        for at, held, found in _survey(workspace):
            if found or not held.path:
                continue
            number = numbers.get(held.path + b"/" + _GIT)
            if number is not None:
                held.touched = True
                _put_back(at, beside, b"%d" % number)


def drop_repositories(zone: Location) -> None:
    """Remove every entry named ``.git``, at any depth, the zone's own too.

    No process may be alive. Raises StorageError.
    """
    with storage(zone):
        for at, held, found in _survey(zone):
            if found:
                held.touched = True
                remove_beneath(at, _GIT)


def with_nested(manifest: Manifest, state: Manifest, moved: NestedAside) -> Manifest:
    """``manifest`` with what was set aside as it was in ``state``, where its directory is there.

    Where ``state`` was too much for a manifest, what was set aside may be the part that it
    does not list: the result says so as ``state`` does.
    """
    manifest = _no_more_whole(manifest, state)
    there = {entry.path for entry in manifest.entries if entry.kind == "dir"}
    back = {path for path in moved.paths if path.rpartition(b"/")[0] in there}
    if not back:
        return manifest
    kept = [e for e in manifest.entries if _within(e, back) is None]
    kept += [e for e in state.entries if _within(e, back) is not None]
    return Manifest(tuple(sorted(kept, key=lambda entry: order(entry.path))))


def _no_more_whole(manifest: Manifest, state: Manifest) -> Manifest:
    if not state.entries or not state.entries[0].note or manifest.entries[0].note:
        return manifest
    first = replace(manifest.entries[0], note=state.entries[0].note)
    return Manifest((first, *manifest.entries[1:]))


def _within(entry: Entry, tops: set[bytes]) -> bytes | None:
    """Which of ``tops`` an entry is or lies below."""
    end = entry.path.find(b"/.git")
    while end >= 0:
        top = entry.path[: end + 5]
        if top in tops and entry.path[end + 5 : end + 6] in (b"", b"/"):
            return top
        end = entry.path.find(b"/.git", end + 1)
    return None


@dataclass(slots=True)
class _Directory:
    """A directory on the way. ``path`` is None where it is too long to be remembered;
    ``touched`` says that the consumer changed what the directory holds."""

    path: bytes | None
    status: os.stat_result
    touched: bool = False


def _survey(where: Location) -> Iterator[tuple[int, _Directory, bool]]:
    """Every entry named ``.git`` (True), by the descriptor of the directory that holds it, and
    every other directory after all it holds (False). Nothing is left out, and nothing
    within a ``.git`` is looked at. Directories are usable for their owner meanwhile.
    """
    above: list[_Directory] = []
    for node in walk(where, paths=False, unopened=_is_no_directory):
        if node.name == _GIT:
            if not node.leaving:
                node.skip = True
                yield node.parent, above[-1], True
        elif node.stat is None or (node.leaving and node.skip):
            raise StorageError("cannot be searched for repositories", place=repr(node.name))
        elif node.leaving:
            yield node.fd, above[-1], False
            _leave(node.fd, above.pop())
        elif node.kind == "dir":
            above.append(_enter(node, node.stat, above))


def _is_no_directory(_: bytes, status: os.stat_result) -> bool:
    return not stat.S_ISDIR(status.st_mode)


def _enter(node: Node, status: os.stat_result, above: list[_Directory]) -> _Directory:
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o700 != 0o700:
        os.chmod(proc_path(node.fd), mode | 0o700)
    if not above:
        return _Directory(b"", status)
    over = above[-1].path
    if over is None or len(over) + len(node.name) > _PATH_BYTES:
        return _Directory(None, status)
    return _Directory(over + b"/" + node.name if over else node.name, status)


def _leave(fd: int, held: _Directory) -> None:
    mode = stat.S_IMODE(held.status.st_mode)
    if mode & 0o700 != 0o700:
        os.chmod(proc_path(fd), mode)
    if held.touched:
        os.utime(proc_path(fd), ns=(held.status.st_atime_ns, held.status.st_mtime_ns))


def _put_back(at: int, beside: int, name: bytes) -> None:
    try:
        remove_beneath(at, _GIT)
        _move(beside, name, at, _GIT)
    except OSError as error:
        if error.errno not in _STAYS:
            raise


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
