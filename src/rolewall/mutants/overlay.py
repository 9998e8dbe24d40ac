"""A task's reference solution, and laying such files over a workspace."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rolewall._beneath import Root
from rolewall._files import decode
from rolewall.errors import TaskError
from rolewall.sandbox import directory, open_beneath, opened, remove_beneath, storage
from rolewall.tasks import Task

__all__ = ["DELETE", "Overlay", "OverlayFile", "lay", "read_solution"]

DELETE = "DELETE"
"""The file of a solution that is not laid: it lists paths to remove, one a line."""

_MAX_FILE = 64 << 20
_MAX_LIST = 1 << 20


@dataclass(frozen=True, slots=True)
class OverlayFile:
    data: bytes
    executable: bool = False


@dataclass(frozen=True)
class Overlay:
    """Files to lay over a workspace, by path relative to it, and paths to remove first."""

    files: Mapping[str, OverlayFile]
    deleted: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that it touches, sorted."""
        return tuple(sorted({*self.files, *self.deleted}))


def read_solution(task: Task) -> Overlay | None:
    """The reference solution of ``task``, or None where it has none.

    Raises:
        TaskError: a file of it cannot be read, or a path is not one beneath the
            workspace, or is to be removed and is not there.
    """
    if task.solution is None:
        return None
    files: dict[str, OverlayFile] = {}
    deleted: tuple[str, ...] = ()
    with Root(task.solution, TaskError) as root:
        for entry in root.walk(skip=frozenset({"__pycache__"})):
            if entry.kind == "directory":
                continue
            if entry.path == DELETE:
                deleted = _deletions(root, task.workspace)
                continue
            _check(entry.path, root.place(entry.path))
            data = root.read(entry.path, _MAX_FILE)
            files[entry.path] = OverlayFile(data, entry.executable)
        if both := sorted(set(deleted) & files.keys()):
            place = root.place(DELETE)
            raise TaskError("a file is both removed and laid", place=place, got=both[0])
        if not files and not deleted:
            raise TaskError("the solution is empty", place=root.place(""))
    return Overlay(files, deleted)


def lay(overlay: Overlay, into: Path) -> None:
    """Lay ``overlay`` over the directory ``into``, which is the harness's own.

    No link is followed: one that stands where a file or its directory goes is replaced.
    Modes become 0644 or 0755.

    Raises:
        StorageError: it could not be written.
    """
    with storage(into), directory(into) as root:
        for path in overlay.deleted:
            _remove(root, path)
        for path, file in sorted(overlay.files.items()):
            _write(root, path, file)


def _deletions(root: Root, workspace: Path | None) -> tuple[str, ...]:
    place = root.place(DELETE)
    text = decode(root.read(DELETE, _MAX_LIST), place, error=TaskError)
    found = tuple(line for line in text.splitlines() if line.strip())
    for path in found:
        _check(path, place)
        if not _there(workspace, path):
            raise TaskError("the workspace has nothing to remove there", place=place, got=path)
    return found


def _there(workspace: Path | None, path: str) -> bool:
    if workspace is None:
        return False
    with Root(workspace, TaskError) as root:
        return root.stat(path) is not None


def _check(path: str, place: str) -> None:
    parts = path.split("/")
    if "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise TaskError("not a plain path beneath the workspace", place=place, got=path)
    if ".git" in parts:
        raise TaskError("a solution holds files, and no repository", place=place, got=path)


def _remove(root: int, path: str) -> None:
    above, _, name = path.rpartition("/")
    try:
        at = open_beneath(root, os.fsencode(above), os.O_PATH | os.O_DIRECTORY)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return  # nothing of the workspace has this path
        raise
    with opened(at):
        remove_beneath(at, os.fsencode(name))


def _write(root: int, path: str, file: OverlayFile) -> None:
    *above, name = map(os.fsencode, path.split("/"))
    at = os.dup(root)
    try:
        for part in above:
            below = _folder(at, part)
            os.close(at)
            at = below
        remove_beneath(at, name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with open(open_beneath(at, name, flags, 0o600), "wb") as output:
            output.write(file.data)
            os.fchmod(output.fileno(), 0o755 if file.executable else 0o644)
    finally:
        os.close(at)


def _folder(at: int, name: bytes) -> int:
    """A directory beneath ``at``, made where there is none; whatever else has its name goes."""
    flags = os.O_PATH | os.O_DIRECTORY
    try:
        return open_beneath(at, name, flags)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
    remove_beneath(at, name)
    os.mkdir(name, 0o755, dir_fd=at)
    os.chmod(name, 0o755, dir_fd=at)
    return open_beneath(at, name, flags)
