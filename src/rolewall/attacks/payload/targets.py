"""The directory that each attempt is aimed at, made by the role that owns the zone."""

from __future__ import annotations

import os
from contextlib import suppress

__all__ = ["prepare"]

PAGES = 8192


def prepare(directory: str, *, whole: bool) -> None:
    """Make one target directory: with everything that ``Place`` names, or what any attempt
    may use. A manifest is taken of all of it again and again, so there is no more than that."""
    os.makedirs(directory, exist_ok=True)
    _write(directory, "file", b"a" * PAGES, 0o664)
    _write(directory, "exec", b"#!/bin/sh\nexit 0\n", 0o775)
    os.mkfifo(os.path.join(directory, "fifo"), 0o664)
    if whole:
        _more(directory)


def _more(directory: str) -> None:
    for below in ("dir", "empty"):
        os.mkdir(os.path.join(directory, below))
    _write(directory, "other", b"b" * PAGES, 0o664)
    _write(directory, os.path.join("dir", "inner"), b"inner\n", 0o664)
    os.symlink("file", os.path.join(directory, "link"))
    with suppress(OSError):  # not every file system has them; their attempts say so
        os.setxattr(os.path.join(directory, "file"), "user.kept", b"1")


def _write(directory: str, name: str, data: bytes, mode: int) -> None:
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, mode)
