"""What an audit finds, and which entries a directory may hold."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from rolewall._beneath import kind_of
from rolewall.errors import RecordError

__all__ = ["Finding", "Level", "entries_of", "unexpected", "unreadable", "words_of"]

Level = Literal["altered", "note", "left"]


@dataclass(frozen=True)
class Finding:
    """Something that does not hold (``altered``) or is worth knowing (``note``).

    ``left`` is what a kill may leave, until it is ``settled``: a note, but ``altered`` in a
    run that is complete and sealed, which leaves nothing.
    """

    level: Level
    place: str
    message: str

    def settled(self, complete: bool) -> Finding:
        if self.level != "left":
            return self
        return replace(self, level="altered" if complete else "note")

    def line(self) -> str:
        return f"{self.level}: {self.place}: {self.message}"


def words_of(error: RecordError) -> str:
    return str(RecordError(error.message, got=error.got, expected=error.expected))


def entries_of(directory: Path) -> dict[str, str]:
    """Name → kind of every entry, no link followed; none where it cannot be listed."""
    try:
        with os.scandir(directory) as found:
            return {e.name: kind_of(e.stat(follow_symlinks=False).st_mode) for e in found}
    except OSError:
        return {}


def unreadable(directory: Path) -> str:
    """Why a directory cannot be listed; empty where it can, or is not there."""
    try:
        os.listdir(directory)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return ""


def unexpected(directory: Path, allowed: Mapping[str, str]) -> Iterator[Finding]:
    """Entries of other names, or of other kinds, than ``allowed`` has; ``altered`` too
    where the directory cannot be listed."""
    if words := unreadable(directory):
        yield Finding("altered", str(directory), words)
    for name, kind in sorted(entries_of(directory).items()):
        if name not in allowed:
            yield Finding("altered", str(directory / name), "an orphan: no record speaks of it")
        elif kind != allowed[name]:
            wanted = "regular file" if allowed[name] == "file" else allowed[name]
            yield Finding("altered", str(directory / name), f"a {kind}, not a {wanted}")
