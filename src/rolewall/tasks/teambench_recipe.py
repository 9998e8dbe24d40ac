"""Which program makes the start of a TeamBench task, and what it needs."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from rolewall._beneath import Root
from rolewall.errors import TaskError
from rolewall.tasks.model import GraderFile, Recipe

__all__ = ["lfs_pointers", "recipe_of"]

_GENERATORS, _DATASETS, _SETUP = "generators", "datasets", "setup.sh"
_ONE_TASKS = "gen_"
_MAX = 64 << 20
_POINTER, _MAX_POINTER = b"version https://git-lfs", 1024


def recipe_of(
    root: Root, files: Mapping[str, GraderFile], seeds: tuple[int, ...] = ()
) -> Recipe | None:
    """The recipe of the task beneath ``root``; None where it is static.

    Args:
        files: the regular files of the task's directory.
        seeds: those that its ``task.yaml`` names.

    Raises:
        TaskError: a file that the program needs is a link, or too large.
    """
    program = f"{_GENERATORS}/{_ONE_TASKS}{root.path.name.lower()}.py"
    folder = f"tasks/{root.path.name}"
    own = tuple(replace(file, target=f"{folder}/{file.source}") for file in files.values())
    with Root(root.path.parent.parent, TaskError) as bench:
        if bench.kind(_GENERATORS) == "directory" and bench.kind(program) is not None:
            source = bench.read(program, _MAX)
            names = (*_shared(bench, program, source), program, *_data(bench, source))
            inputs = (*own, *(_input(bench, name) for name in names))
            return Recipe(program, "generator", inputs, seeds)
    if root.kind(_SETUP) is None:
        return None
    return Recipe(f"{folder}/{_SETUP}", "setup", own, seeds)


def _shared(bench: Root, program: str, source: bytes) -> Iterator[str]:
    """The modules that all generators share; and no other task's, of which there may be
    thousands, but those that this one imports."""
    for name in bench.names(_GENERATORS):
        path = f"{_GENERATORS}/{name}"
        if not name.endswith(".py") or path == program:
            continue
        if not name.startswith(_ONE_TASKS) or f"{_GENERATORS}.{name[:-3]} ".encode() in source:
            yield path


def _data(bench: Root, source: bytes) -> Iterator[str]:
    """The data files whose names the program's source has, or without their ending as a whole
    word of a text: an address that begins with it is none."""
    if bench.kind(_DATASETS) is None:
        return
    for entry in bench.walk(_DATASETS):
        path = PurePosixPath(entry.path)
        name, stem = (os.fsencode(word) for word in (path.name, path.stem))
        whole = rb"[\"'/]" + re.escape(stem) + rb"[\"'/]"
        if entry.kind != "directory" and (name in source or re.search(whole, source)):
            yield entry.path


def _input(bench: Root, name: str) -> GraderFile:
    digest = hashlib.sha256(bench.read(name, _MAX)).hexdigest()
    return GraderFile(name, bench.path, name, digest, executable=False)


def lfs_pointers(recipe: Recipe) -> list[str]:
    """The inputs where Git LFS left a file's digest in place of its content."""
    return [file.target for file in recipe.inputs if _is_pointer(file)]


def _is_pointer(file: GraderFile) -> bool:
    with Root(file.root, TaskError) as root:
        found = root.stat(file.source)
        if found is None or found.st_size > _MAX_POINTER:
            return False
        return root.read(file.source, _MAX_POINTER).startswith(_POINTER)
