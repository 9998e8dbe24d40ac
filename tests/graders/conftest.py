"""A small task graded for real: every grading here opens a box."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rolewall.graders import GradeTask, Grading, Submitted, grade, parse_grader
from rolewall.sandbox import Backend, find_backend

Files = Mapping[str, str]

GOOD = "def add(a, b):\n    return a + b\n"
BAD = "def add(a, b):\n    return a - b\n"
HIDDEN = (
    "import calc\n\n\n"
    "def test_two():\n    assert calc.add(2, 3) == 5\n\n\n"
    "def test_zero():\n    assert calc.add(0, 0) == 0\n"
)


def write(directory: Path, files: Files) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


@dataclass
class Bench:
    """Grades a workspace given as a mapping of files."""

    root: Path
    backend: Backend
    grader: Files = field(default_factory=lambda: {"test_calc.py": HIDDEN})
    spec: Mapping[str, Any] = field(default_factory=lambda: {"pytest": {"tests": ["test_calc.py"]}})
    start: Files = field(default_factory=lambda: {"calc.py": BAD})
    seconds: float = 30.0
    count: int = 0
    starts: int = 0

    def fresh(self) -> Path:
        self.count += 1
        return self.root / f"dir{self.count}"

    def _start(self) -> Path:
        self.starts += 1
        return write(self.fresh(), self.start)

    def grade(
        self, work: Files, prepare: Callable[[Path], None] | None = None, **given: Path
    ) -> Grading:
        place = write(self.fresh(), work)
        if prepare:
            prepare(place)
        task = GradeTask(
            "calc", "Add numbers.\n", "Add.\n", write(self.fresh(), self.grader), self.seconds
        )
        scratch = self.fresh()
        scratch.mkdir()
        return grade(
            Submitted(place, **given),
            parse_grader(dict(self.spec), "task.yaml: grader"),
            task,
            backend=self.backend,
            scratch=scratch,
            start=self._start,
        )


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, find_backend("bubblewrap"))
