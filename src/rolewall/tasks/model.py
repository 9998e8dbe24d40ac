"""A task as the rest of ``rolewall`` sees it, whichever layout it came in."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rolewall._beneath import Entry, Root
from rolewall._files import decode
from rolewall.critical import Critical
from rolewall.errors import TaskError
from rolewall.graders import GraderSpec
from rolewall.policies import HostPort
from rolewall.roles import Condition

__all__ = ["GraderFile", "Recipe", "Task", "checked_entries", "fingerprint", "read_text"]

_MAX_FILE = 1 << 30


@dataclass(frozen=True, slots=True)
class GraderFile:
    """One file that the grade box gets at ``/grader/<target>``.

    ``source`` is relative to ``root``; ``sha256`` is what it held when the task was loaded.
    """

    target: str
    root: Path
    source: str
    sha256: str
    executable: bool


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the start of a task is made for a seed, by a program that the task brings.

    Attributes:
        program: the program below ``/bench`` of the box that it runs in.
        kind: how it is called.
        inputs: everything that stands below ``/bench``, by target.
        seeds: those that the task names; empty where it names none.
    """

    program: str
    kind: Literal["generator", "setup"]
    inputs: tuple[GraderFile, ...]
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        directory: where it came from, without links in the path.
        spec: the whole requirements; ``brief`` is what the executor is told.
        workspace: the start state, or None for an empty one. Links in it are kept as links, and
            whoever copies it follows none.
        grader_files: hidden tests and truth; see ``rolewall.tasks.stage_grader``.
        seconds: how long a phase may take on this task.
        network: destinations that the task asks for; granted only by the caller's flag.
        image: the image that the task asks for, or None; likewise.
        solution: the reference solution, or None.
        digest: SHA-256 over everything above, by content.
        notes: what a foreign layout asks for and does not get.
        recipe: where it is set, this is no whole task yet: ``generated_tasks`` makes one of
            it for a seed, and all else is what stands there before.
        grader_seconds: how long one grading may take; None for ``seconds``.
        workdir: where the workspace is besides ``/workspace``, and where commands start;
            None for there alone.
        env: the environment that the work expects, wherever it runs.
        conditions: what is forbidden from the start, until a role discharges it.
        critical: what of the specification must not be missed. No role is told.
    """

    id: str
    directory: Path
    origin: Literal["native", "teambench", "harbor"]
    spec: str
    brief: str
    workspace: Path | None
    grader: GraderSpec
    grader_files: tuple[GraderFile, ...]
    seconds: float
    network: tuple[HostPort, ...]
    image: str | None
    solution: Path | None
    digest: str
    notes: tuple[str, ...] = ()
    recipe: Recipe | None = None
    grader_seconds: float | None = None
    workdir: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    conditions: tuple[Condition, ...] = ()
    critical: tuple[Critical, ...] = ()

    @property
    def file(self) -> str:
        """The name of the file that the task's settings stand in."""
        return "task.toml" if self.origin == "harbor" else "task.yaml"


def read_text(root: Root, name: str) -> str:
    """A text file of a task, UTF-8, at most 1 MiB and not empty."""
    place = root.place(name)
    text = decode(root.read(name, 1 << 20), place, error=TaskError)
    if not text.strip():
        raise TaskError("the file is empty", place=place)
    return text


def checked_entries(root: Root) -> Iterator[Entry]:
    """Every entry of a task directory. Links outside ``workspace/`` and special files anywhere
    are refused by name; ``__pycache__`` outside ``workspace/`` is left out."""
    for name in root.names():
        found = root.stat(name)
        if found is None or name == "__pycache__":
            continue
        top = Entry.of(name, found)
        _check(root, top, links=False)
        yield top
        if top.kind == "directory":
            inside = name == "workspace"
            skip = frozenset() if inside else frozenset({"__pycache__"})
            for entry in root.walk(name, skip=skip):
                _check(root, entry, links=inside)
                yield entry


def _check(root: Root, entry: Entry, *, links: bool) -> None:
    if entry.kind in ("file", "directory") or (links and entry.kind == "link"):
        return
    expected = "regular files and directories; links only in workspace/"
    raise TaskError(
        f"a {entry.kind} in a task is not followed",
        place=root.place(entry.path),
        got=entry.kind,
        expected=expected,
    )


def fingerprint(root: Root, entries: list[Entry]) -> tuple[str, dict[str, GraderFile]]:
    """The digest over ``entries``, and each regular file by path, with its own digest."""
    total = hashlib.sha256(b"task 1\n")
    files: dict[str, GraderFile] = {}
    for entry in sorted(entries, key=lambda item: os.fsencode(item.path)):
        detail = ""
        if entry.kind == "file":
            detail = _sha256(root, entry)
            executable = entry.executable
            files[entry.path] = GraderFile(entry.path, root.path, entry.path, detail, executable)
        elif entry.kind == "link":
            detail = root.target(entry.path).hex()
        mark = "x" if entry.kind == "file" and entry.executable else "-"
        path = os.fsencode(entry.path)
        total.update(f"{entry.kind} {mark} {detail} {len(path)} ".encode() + path + b"\n")
    return total.hexdigest(), files


def _sha256(root: Root, entry: Entry) -> str:
    if entry.stat.st_size > _MAX_FILE:
        raise TaskError(
            "the file is too large",
            place=root.place(entry.path),
            expected=f"at most {_MAX_FILE >> 20} MiB",
        )
    digest = hashlib.sha256()
    for chunk in root.chunks(entry.path):
        digest.update(chunk)
    return digest.hexdigest()
