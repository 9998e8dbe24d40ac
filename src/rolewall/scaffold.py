"""What ``rolewall init`` writes: a team and two tasks that run as they are, and a CI workflow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

from rolewall.errors import InputError, StorageError

__all__ = ["scaffold"]

HIDDEN = "dot-"  # packaging tools lose hidden files, so that `.x` is kept as `dot-x`


def scaffold(directory: Path) -> list[Path]:
    """Write the starter files below ``directory``, which is made if absent.

    Other files there are left alone. Returns the files written, in order.

    Raises:
        InputError: ``directory`` is no directory, or something stands where a
            file would go; then nothing is written.
        StorageError: a file could not be written.
    """
    contents = {_target(path): source for path, source in _templates(_root(), PurePosixPath())}
    _refuse_what_exists(directory, sorted(contents))
    return [_write(directory / path, contents[path].read_bytes()) for path in sorted(contents)]


def _root() -> Traversable:
    return files("rolewall") / "templates"


def _templates(
    directory: Traversable, below: PurePosixPath
) -> Iterator[tuple[PurePosixPath, Traversable]]:
    for entry in directory.iterdir():
        if entry.name == "__pycache__":  # pip compiles what it installs
            continue
        if entry.is_dir():
            yield from _templates(entry, below / entry.name)
        else:
            yield below / entry.name, entry


def _target(path: PurePosixPath) -> PurePosixPath:
    def shown(part: str) -> str:
        return f".{part.removeprefix(HIDDEN)}" if part.startswith(HIDDEN) else part

    return PurePosixPath(*map(shown, path.parts))


def _refuse_what_exists(directory: Path, paths: list[PurePosixPath]) -> None:
    if os.path.exists(directory) and not os.path.isdir(directory):
        raise InputError("not a directory", place=str(directory))
    taken = [str(path) for path in paths if _is_taken(directory, path)]
    if taken:
        raise InputError(
            "init overwrites nothing, and something is there",
            place=str(directory),
            got=", ".join(taken[:3]) + (", …" if len(taken) > 3 else ""),
            hint="choose an empty directory",
        )


def _is_taken(directory: Path, path: PurePosixPath) -> bool:
    """Whether the file, or something other than a real directory above it, is there."""
    above = [directory / parent for parent in path.parents if parent.parts]
    blocked = (p.is_symlink() or (p.exists() and not p.is_dir()) for p in above)
    target = directory / path
    return any(blocked) or target.is_symlink() or target.exists()


def _write(path: Path, data: bytes) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(data)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"cannot write: {reason}", place=str(path)) from error
    return path
