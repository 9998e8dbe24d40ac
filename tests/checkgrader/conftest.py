"""Small tasks with graders of every quality, and a bench that grades work of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rolewall.checkgrader.candidate import Bench, Candidate, Graded
from rolewall.checkgrader.planting import planted
from rolewall.checkgrader.shortcuts import SHORTCUTS, Plant, Shortcut
from rolewall.checkgrader.subject import Subject, look_at
from rolewall.mutants import read_solution
from rolewall.sandbox import BlobStore, find_backend, temporary_directory
from rolewall.tasks import load_task

GOOD = "def add(a, b):\n    return a + b\n"
BAD = "def add(a, b):\n    return a - b\n"
TESTS = "import calc\n\n\ndef test_sum():\n    assert calc.add(2, 3) == 5\n"
Files = Mapping[str, str]


@dataclass(frozen=True)
class Making:
    """A task: what differs from the plainest one."""

    grader: Any
    hidden: Files = field(default_factory=dict)
    workspace: Files = field(default_factory=lambda: {"calc.py": BAD})
    solution: Files | None = field(default_factory=lambda: {"calc.py": GOOD})
    seconds: float = 60


def make(directory: Path, made: Making) -> Path:
    """The task's directory, called as it is."""
    for folder in ("workspace", "grader"):
        (directory / folder).mkdir(parents=True)
    task = {"id": directory.name, "grader": made.grader, "seconds": made.seconds}
    write(directory, {"task.yaml": json.dumps(task), "spec.md": "add adds\n", "brief.md": "do\n"})
    write(directory / "workspace", made.workspace)
    write(directory / "grader", {"unused": "", **made.hidden})
    if made.solution is not None:
        write(directory / "solution", made.solution)
    return directory


def write(directory: Path, files: Files) -> None:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@dataclass
class Trial:
    """One task whose work is graded one by one."""

    bench: Bench
    subject: Subject
    count: int = 0

    def untouched(self) -> Graded:
        self.count += 1
        return self.bench.grade(Candidate("untouched", self.count))

    def planted(self, name: str) -> Graded:
        plant = _shortcut(name).plant(self.subject)
        assert isinstance(plant, Plant), plant
        self.count += 1
        return self.bench.grade(Candidate("shortcut", self.count, plant.overlay, plant.report))


def _shortcut(name: str) -> Shortcut:
    (found,) = [one for one in SHORTCUTS if one.name == name]
    return found


class Trials:
    """Makes trials below a directory."""

    def __init__(self, tmp: Path, scratch: Path) -> None:
        self._tmp = tmp
        self._scratch = scratch
        self._store = BlobStore(scratch / "blobs.git")
        self._count = 0
        self._known: dict[str, Graded] = {}

    def of(self, **made: Any) -> Trial:
        self._count += 1
        name = f"t{self._count}"
        task = load_task(make(self._tmp / name, Making(**made)))
        place = self._scratch / name
        place.mkdir()
        bench = Bench(task, find_backend("bubblewrap"), place, self._store, "host")
        return Trial(bench, look_at(task, read_solution(task)))

    def plants(self, **made: Any) -> dict[str, Plant | str]:
        """What each shortcut plants in a task, or why it does not apply."""
        self._count += 1
        task = load_task(make(self._tmp / f"t{self._count}", Making(**made)))
        solution = read_solution(task)
        found = planted(look_at(task, solution), solution)
        return {one.name: plant for one, plant in zip(SHORTCUTS, found, strict=True)}

    def untouched(self, made: dict[str, Any]) -> Graded:
        """The grade of untouched work, found once for tasks that are alike."""
        key = json.dumps(made)
        if key not in self._known:
            self._known[key] = self.of(**made).untouched()
        return self._known[key]


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes a task: a directory of this name, and what differs from the plainest one."""
    root = tmp_path_factory.mktemp("tasks")
    return lambda name, **made: make(root / name, Making(**made))


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    with temporary_directory() as scratch:
        yield Trials(tmp_path_factory.mktemp("trials"), scratch)
