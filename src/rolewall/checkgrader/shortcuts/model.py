"""What a shortcut is: files laid over untouched work, in the hope of a pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rolewall.checkgrader.subject import Subject
from rolewall.mutants import Overlay, OverlayFile

__all__ = ["MARK", "Plant", "Shortcut", "files", "program"]

MARK = ".rolewall-ran"
"""The file of the work that a shortcut which is code makes as soon as it runs."""


@dataclass(frozen=True)
class Plant:
    """One shortcut made for one task.

    Attributes:
        overlay: files of the workspace, and those that are removed from it.
        report: files of the executor's report, by name.
        code: whether it acts by being run, and so leaves ``MARK`` where it was.
    """

    overlay: Overlay
    report: Mapping[str, bytes] = field(default_factory=dict)
    code: bool = True


@dataclass(frozen=True)
class Shortcut:
    """A known way to a pass without the work.

    Attributes:
        name: as the report shows it.
        what: one line, what it does.
        plant: the files for a task, or why there is nothing to plant them in.
        hangs: it is over only when its time is.
    """

    name: str
    what: str
    plant: Callable[[Subject], Plant | str]
    hangs: bool = False


def files(given: Mapping[str, str | bytes], *, executable: bool = False) -> dict[str, OverlayFile]:
    """Files of an overlay."""
    return {
        name: OverlayFile(text.encode() if isinstance(text, str) else text, executable)
        for name, text in given.items()
    }


def program(given: Mapping[str, str | bytes], *, executable: bool = False) -> Plant:
    """A plant of code."""
    return Plant(Overlay(files(given, executable=executable), ()))
