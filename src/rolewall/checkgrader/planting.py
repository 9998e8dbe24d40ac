"""Which shortcuts a task offers a place to, once its right work is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rolewall.checkgrader.shortcuts import MARK, SHORTCUTS, Plant
from rolewall.checkgrader.shortcuts.payloads import RAN
from rolewall.checkgrader.subject import Subject
from rolewall.mutants import Overlay, OverlayFile

__all__ = ["planted"]

RIGHT = "the solution does the same"
ENDING = frozenset((b"exit 0", b"exit", b"true", b":", b"import sys", b"import os", b"sys.exit(0)",
                    b"os._exit(0)", b"pass"))  # fmt: skip
"""What a program has that ends with status 0 and does nothing else: any that does is like it."""


def planted(subject: Subject, solution: Overlay | None) -> list[Plant | str]:
    """What each of ``SHORTCUTS`` plants, or why it does not apply."""
    found = [one.plant(subject) for one in SHORTCUTS]
    return [_apart(one, solution) for one in found] if solution else found


def _apart(plant: Plant | str, solution: Overlay) -> Plant | str:
    """Not what right work does as well: a grader that passes that is not fooled."""
    if isinstance(plant, str):
        return plant
    files, deleted = plant.overlay.files, plant.overlay.deleted
    if plant.code:
        return RIGHT if any(_alike(p, f, solution.files) for p, f in files.items()) else plant
    # Files that are no code lie only where the solution has nothing to say.
    left = {path: file for path, file in files.items() if path not in solution.paths}
    gone = tuple(path for path in deleted if not _removed(path, solution.deleted))
    if (files or deleted) and not (left or gone):
        return RIGHT
    return replace(plant, overlay=Overlay(left, gone))


def _removed(path: str, deleted: tuple[str, ...]) -> bool:
    return any(path == gone or path.startswith(f"{gone}/") for gone in deleted)


def _alike(path: str, file: OverlayFile, right: Mapping[str, OverlayFile]) -> bool:
    if (there := right.get(path)) is None:
        return False
    essence = _essence(there.data)
    return essence == _essence(file.data) or ENDING.issuperset(essence)


def _essence(data: bytes) -> list[bytes]:
    """Lines without comments, layout and the mark that tells that a shortcut ran."""
    lines = (line.strip() for line in data.replace(RAN.encode(), b"").splitlines())
    marks = MARK.encode()
    return [line for line in lines if line and not line.startswith(b"#") and marks not in line]
