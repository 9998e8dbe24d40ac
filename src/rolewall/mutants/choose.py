"""All mutants of a solution, in an order that a seed decides and that spreads kinds of fault."""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import PurePosixPath

from rolewall._beneath import Root
from rolewall.errors import TaskError
from rolewall.mutants import config, python, reverted, table, text
from rolewall.mutants.edit import Edit
from rolewall.mutants.overlay import Overlay, OverlayFile, read_solution
from rolewall.tasks import Task

__all__ = ["MOST", "Mutant", "mutants_of"]

MOST = 200
"""Mutants of one task, at most, unless the caller says otherwise."""

_MAX_BYTES = 256 << 10  # of a file that is mutated; a larger one stays as it is
_MAX_START = 64 << 20


@dataclass(frozen=True, slots=True)
class Mutant:
    """The solution with one fault in one file.

    Attributes:
        id: by path and content, so that equal faults have equal names.
        path: the file, relative to the workspace.
        fault: the kind of fault.
        what: the place and what was done there, on one line.
        data: the file's content; None where the fault is that the file is not there.
    """

    id: str
    path: str
    fault: str
    what: str
    data: bytes | None

    def over(self, solution: Overlay) -> Overlay:
        """The work: ``solution`` with this fault."""
        files = {path: file for path, file in solution.files.items() if path != self.path}
        deleted = tuple(path for path in solution.deleted if path != self.path)
        if self.data is None:
            return Overlay(files, (*deleted, self.path))
        old = solution.files.get(self.path)
        files[self.path] = OverlayFile(self.data, old.executable if old else False)
        return Overlay(files, deleted)


def mutants_of(task: Task, *, seed: int = 0, most: int = MOST) -> tuple[Mutant, ...]:
    """Mutants of the reference solution of ``task``, no two alike.

    They touch only files in which the solution differs from the start. Equal arguments
    give equal mutants in equal order; kinds of fault take turns, so that the first few
    are of as many kinds as there are. Empty without a solution, or where nothing of it
    can be mutated.

    Raises:
        TaskError: a file of the solution or the start cannot be read.
    """
    solution = read_solution(task)
    if solution is None:
        return ()
    start = _start(task, solution)
    kinds: dict[str, list[Mutant | tuple[str, Edit]]] = defaultdict(list)
    for fault, found in _possible(solution, start):
        kinds[fault].append(found)
    order = random.Random(f"{seed} {task.id}")
    names = sorted(kinds)
    order.shuffle(names)
    for name in names:
        order.shuffle(kinds[name])
    turns = chain.from_iterable(zip_longest(*(kinds[name] for name in names)))
    made = (_made(found, solution) for found in turns if found is not None)
    return tuple(islice(_apart((m for m in made if m is not None), solution, start), most))


def _start(task: Task, solution: Overlay) -> dict[str, bytes]:
    """What the workspace holds at the paths that the solution touches."""
    if task.workspace is None:
        return {}
    with Root(task.workspace, TaskError) as root:
        paths = [path for path in solution.paths if _regular(root, path)]
        return {path: root.read(path, _MAX_START) for path in paths}


def _regular(root: Root, path: str) -> bool:
    """Through a link in the workspace nothing is read: the solution replaces it."""
    above, parts = "", path.split("/")
    for part in parts[:-1]:
        above = f"{above}/{part}" if above else part
        if root.kind(above) != "directory":
            return False
    return root.kind(path) == "file"


def _possible(
    solution: Overlay, start: Mapping[str, bytes]
) -> Iterator[tuple[str, Mutant | tuple[str, Edit]]]:
    changed = [p for p, f in solution.files.items() if start.get(p) != f.data]
    gone = [path for path in solution.deleted if path in start]
    for path in changed:
        for edit in _edits(path, solution.files[path].data, start.get(path)):
            yield edit.fault, (path, edit)
    if len(changed) + len(gone) > 1:
        for path in (*changed, *gone):
            what = f"{path}: as at the start"
            yield "reverted", _mutant(path, "reverted", what, start.get(path))


def _edits(path: str, data: bytes, start: bytes | None) -> Iterator[Edit]:
    if len(data) > _MAX_BYTES or not _text(data):
        return
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in (".py", ".pyi"):
        yield from python.faults(data)
    elif suffix in config.PARSERS and config.parsed(suffix, data) is not None:
        yield from config.faults(data)
    elif suffix in table.DELIMITERS:
        yield from table.faults(data, table.DELIMITERS[suffix])
    else:
        yield from text.faults(data)
    if start is not None and _text(start):
        yield from reverted.faults(data, start)


def _text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def _made(found: Mutant | tuple[str, Edit], solution: Overlay) -> Mutant | None:
    """The mutant of an edit; None where what is left is not of the file's language."""
    if isinstance(found, Mutant):
        return found
    path, edit = found
    old = solution.files[path].data
    data = edit.on(old)
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in (".py", ".pyi") and python.valid(old) and not python.valid(data):
        return None
    if suffix in config.PARSERS and (said := config.parsed(suffix, old)) is not None:
        says = config.parsed(suffix, data)
        if says is None or says == said:
            return None
    return _mutant(path, edit.fault, f"{path}:{edit.line}: {edit.what}", data)


def _mutant(path: str, fault: str, what: str, data: bytes | None) -> Mutant:
    mark = hashlib.sha256(path.encode("utf-8", "surrogateescape") + b"\0" + (data or b"\0"))
    return Mutant(f"m{mark.hexdigest()[:12]}", path, fault, what, data)


def _apart(
    found: Iterator[Mutant], solution: Overlay, start: Mapping[str, bytes]
) -> Iterator[Mutant]:
    """Each once, and none that is the solution or, all in all, the start."""
    seen: set[str] = set()
    alone = len(solution.paths) == 1
    for mutant in found:
        old = solution.files.get(mutant.path)
        same = old is not None and mutant.data == old.data
        untouched = alone and mutant.data == start.get(mutant.path)
        if not same and not untouched and mutant.id not in seen:
            seen.add(mutant.id)
            yield mutant
