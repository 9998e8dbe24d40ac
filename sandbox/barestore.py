"""The directories and files of a bare repository, before anything is kept in it.

A run directory may have been prepared by somebody else. What is made here is made
through no link, and what stands in the place of a directory or a file is never opened
before it is known to be one.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rolewall._beneath import kind_of
from rolewall.errors import InputError
from rolewall.sandbox.beneath import directory, make_directory, open_beneath, opened, storage

__all__ = ["STORE_LAYOUT", "hold_kinds", "hold_store", "make_store", "sweep_store"]

# The files of a store that are no objects, to the byte.
STORE_LAYOUT = {
    "HEAD": "ref: refs/heads/main\n",
    "config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
    "[gc]\n\tauto = 0\n",
}
_FOLDERS = {"objects": ("info", "pack"), "refs": ("heads", "tags")}
_FAN = re.compile("[0-9a-f]{2}")
_TEMPORARY = "obj"  # how the names of objects begin that are being written


def make_store(path: Path) -> None:
    """Make what of a store is absent at ``path``. Raises StorageError."""
    make_directory(path)
    with storage(path), directory(path) as top:
        for name, below in _FOLDERS.items():
            _make_folder(top, name)
            with opened(open_beneath(top, name.encode(), os.O_PATH | os.O_DIRECTORY)) as fd:
                for inner in below:
                    _make_folder(fd, inner)
        for name, text in STORE_LAYOUT.items():
            if _absent(top, name):
                _make_file(top, name, text.encode())


def hold_store(path: Path) -> None:
    """Refuse a store in which a link, or another thing, stands where a directory or a file
    belongs that is written to. Nothing there is no error.

    Raises:
        InputError: names the place.
        StorageError: a directory cannot be listed.
    """
    if not os.path.lexists(path):
        return
    top = dict.fromkeys(STORE_LAYOUT, "file") | dict.fromkeys(_FOLDERS, "directory")
    hold_kinds(path, lambda name: top.get(name, ""))
    hold_kinds(path / "refs", lambda _: "directory")
    hold_kinds(path / "objects", _kind_of_object)
    for name in _listed(path / "objects"):
        if name == "pack" or _FAN.fullmatch(name):
            hold_kinds(path / "objects" / name, lambda _: "file")


def hold_kinds(place: Path, wanted: Callable[[str], str]) -> None:
    """Refuse a directory with an entry of another kind than ``wanted`` says for its name;
    "" where any will do. As ``hold_store``; ``place`` itself may be a link."""
    for name in _listed(place):
        if kind := wanted(name):
            with storage(place), suppress(FileNotFoundError):
                found = kind_of(os.lstat(place / name).st_mode)
                if found != kind:
                    raise InputError(
                        "not what a run has there",
                        place=str(place / name),
                        got=found,
                        expected=f"a {'regular file' if kind == 'file' else kind}",
                        hint="give another -o",
                    )


def sweep_store(path: Path) -> None:
    """Remove what writers that were killed left unfinished. Raises StorageError."""
    flags = os.O_RDONLY | os.O_DIRECTORY
    with storage(path), directory(path) as top, opened(open_beneath(top, b"objects", flags)) as fd:
        for name in os.listdir(fd):
            if name.startswith(_TEMPORARY):
                os.unlink(name, dir_fd=fd)
        with opened(open_beneath(fd, b"pack", flags)) as packs:
            _sweep_packs(packs)


def _sweep_packs(fd: int) -> None:
    """Without its index, which is made last, a pack holds nothing."""
    names = set(os.listdir(fd))
    for name in names:
        stem, dot, suffix = name.rpartition(".")
        if dot and suffix == "pack" and f"{stem}.idx" not in names:
            os.unlink(name, dir_fd=fd)


def _kind_of_object(name: str) -> str:
    if name in _FOLDERS["objects"] or _FAN.fullmatch(name):
        return "directory"
    return "file" if name.startswith(_TEMPORARY) else ""


def _listed(place: Path) -> list[str]:
    with storage(place), suppress(FileNotFoundError):
        return sorted(os.listdir(place))
    return []


def _make_folder(at: int, name: str) -> None:
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=at)


def _absent(at: int, name: str) -> bool:
    """Whether a file is to be made. An empty one is what a crash left: it is taken away,
    not written to, for it may have another name elsewhere."""
    with suppress(FileNotFoundError):
        status = os.stat(name, dir_fd=at, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        if status.st_size:
            return False
        os.unlink(name, dir_fd=at)
    return True


def _make_file(at: int, name: str, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with suppress(FileExistsError), opened(os.open(name, flags, 0o666, dir_fd=at)) as fd:
        os.write(fd, data)
