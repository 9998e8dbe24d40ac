"""All mutants of a solution, in an order that a seed decides and that spreads kinds of fault."""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import PurePosixPath

from rolewall._beneath import Root, kind_of, shown
from rolewall.errors import TaskError
from rolewall.mutants import config, python, reverted, table, text
from rolewall.mutants.edit import Edit
from rolewall.mutants.overlay import Overlay, OverlayFile, read_solution
from rolewall.tasks import Task

__all__ = ["MOST", "Mutant", "mutants_of"]

MOST = 200
"""Mutants of one task, at most, unless the caller says otherwise."""

_MAX_BYTES = 128 << 10  # of a file that is mutated; a larger one stays as it is
_MAX_CONFIG = 64 << 10  # whose readers are slower, and read each mutant
_MAX_START = 64 << 20
_PYTHON = (".py", ".pyi")

Reader = Callable[[bytes], bool]
"""Whether a mutant of one file is of the file's language, and says something else than it."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """The solution with one fault in one file.

    Attributes:
        id: by path and content, so that equal faults have equal names.
        path: the file, relative to the workspace.
        fault: the kind of fault.
        what: the place and what was done there, on one line.
        data: the file's content; None where the fault is that the file is not there.
        executable: the file's mode.
    """

    id: str
    path: str
    fault: str
    what: str
    data: bytes | None
    executable: bool = False

    def over(self, solution: Overlay) -> Overlay:
        """The work: ``solution`` with this fault."""
        files = {path: file for path, file in solution.files.items() if path != self.path}
        deleted = tuple(path for path in solution.deleted if path != self.path)
        if self.data is None:
            return Overlay(files, (*deleted, self.path))
        files[self.path] = OverlayFile(self.data, self.executable)
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
    readers: dict[str, Reader] = {}
    made = (_made(found, solution, readers) for found in turns if found is not None)
    return tuple(islice(_apart((m for m in made if m is not None), solution, start), most))


def _start(task: Task, solution: Overlay) -> dict[str, OverlayFile]:
    """What the workspace holds at the paths that the solution touches."""
    if task.workspace is None:
        return {}
    with Root(task.workspace, TaskError) as root:
        found = {path: _file(root, path) for path in solution.paths}
    return {path: file for path, file in found.items() if file is not None}


def _file(root: Root, path: str) -> OverlayFile | None:
    """Through a link in the workspace nothing is read: the solution replaces it."""
    above, parts = "", path.split("/")
    for part in parts[:-1]:
        above = f"{above}/{part}" if above else part
        if root.kind(above) != "directory":
            return None
    found = root.stat(path)
    if found is None or kind_of(found.st_mode) != "file":
        return None
    return OverlayFile(root.read(path, _MAX_START), bool(found.st_mode & 0o111))


def _possible(
    solution: Overlay, start: Mapping[str, OverlayFile]
) -> Iterator[tuple[str, Mutant | tuple[str, Edit]]]:
    before = {path: file.data for path, file in start.items()}
    changed = [p for p, f in solution.files.items() if before.get(p) != f.data]
    gone = [path for path in solution.deleted if path in start]
    for path in changed:
        for edit in _edits(path, solution.files[path].data, before.get(path)):
            yield edit.fault, (path, edit)
    if len(changed) + len(gone) > 1:
        for path in (*changed, *gone):
            what = f"{path}: as at the start"
            yield "reverted", _mutant(path, "reverted", what, start.get(path))


def _edits(path: str, data: bytes, start: bytes | None) -> Iterator[Edit]:
    suffix = PurePosixPath(path).suffix.lower()
    most = _MAX_CONFIG if suffix in config.PARSERS else _MAX_BYTES
    if len(data) > most or not (_text(data) or (suffix in _PYTHON and b"\0" not in data)):
        return
    if suffix in _PYTHON:
        # An encoding or a syntax that is not this Python's own leaves lines and words.
        yield from python.faults(data) if python.valid(data) else text.faults(data)
    elif suffix in config.PARSERS and config.parsed(suffix, data) is not None:
        yield from config.faults(data)
    elif suffix in table.DELIMITERS:
        yield from table.faults(data, table.DELIMITERS[suffix])
    else:
        yield from text.faults(data)
    if start is not None and len(start) <= _MAX_BYTES and _text(start):
        yield from reverted.faults(data, start)


def _text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def _made(
    found: Mutant | tuple[str, Edit], solution: Overlay, readers: dict[str, Reader]
) -> Mutant | None:
    """The mutant of an edit; None where what is left is not of the file's language.

    Args:
        readers: what tells so, by path, made as they are needed: to read a file takes long.
    """
    if isinstance(found, Mutant):
        return found
    path, edit = found
    old = solution.files[path]
    data = edit.on(old.data)
    if path not in readers:
        readers[path] = _reader(path, old.data)
    if not readers[path](data):
        return None
    what = f"{path}:{edit.line}: {edit.what}"
    return _mutant(path, edit.fault, what, OverlayFile(data, old.executable))


def _reader(path: str, old: bytes) -> Reader:
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _PYTHON and python.valid(old):
        return python.valid
    if suffix in config.PARSERS and (said := config.parsed(suffix, old)) is not None:
        return lambda data: config.parsed(suffix, data) not in (None, said)
    return lambda _: True


def _mutant(path: str, fault: str, what: str, file: OverlayFile | None) -> Mutant:
    data = None if file is None else file.data
    mark = hashlib.sha256(path.encode("utf-8", "surrogateescape") + b"\0" + (data or b"\0"))
    name = f"m{mark.hexdigest()[:12]}"
    return Mutant(name, path, fault, shown(what), data, file is not None and file.executable)


def _apart(
    found: Iterator[Mutant], solution: Overlay, start: Mapping[str, OverlayFile]
) -> Iterator[Mutant]:
    """Each once, and none that is the solution or, all in all, the start."""
    seen: set[str] = set()
    alone = len(solution.paths) == 1
    for mutant in found:
        old = solution.files.get(mutant.path)
        same = old is not None and mutant.data == old.data
        before = start.get(mutant.path)
        untouched = alone and mutant.data == (None if before is None else before.data)
        if not same and not untouched and mutant.id not in seen:
            seen.add(mutant.id)
            yield mutant
