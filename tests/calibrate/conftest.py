"""Tasks with solutions, and calibrations of scripted verifiers on bubblewrap."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Studio

BROKEN = "def sign(x):\n    return 1\n"
FIXED = "def sign(x):\n    if x < 0:\n        return -1\n    return 1 if x > 0 else 0\n"
CHECK = """import sys
sys.path.insert(0, "/workspace")
from sign import sign
sys.exit([sign(x) for x in (-2, -1, 0, 1, 2)] != [-1, -1, 0, 1, 1])
"""


@dataclass(frozen=True)
class Calibrated:
    """A finished ``rolewall calibrate --json``."""

    run: Path
    code: int
    out: str
    err: str

    @cached_property
    def json(self) -> Any:
        return json.loads(self.out)["calibration"]

    def report(self, style: str) -> Any:
        """What was found beside one style of report."""
        return next(row for row in self.json["reports"] if row["report"] == style)

    def informedness(self, style: str) -> float:
        measures = self.report(style)["measures"]["excluded"]
        return float(measures["informedness"]["value"])

    def shift(self, style: str) -> Any:
        return next(shift for shift in self.json["shifts"] if shift["second"] == style)

    def episodes(self) -> list[Any]:
        """Its records, by what was judged beside which report."""
        found = [json.loads(p.read_text()) for p in self.run.glob("episodes/*/episode.json")]
        return sorted(found, key=lambda record: (record["condition"], record["trial"]))


Calibrate = Callable[..., Calibrated]


def arguments(team: Path, *tasks: Path, out: Path, more: tuple[object, ...] = ()) -> list[str]:
    """``rolewall calibrate`` for a process of its own, on bubblewrap."""
    named = [word for task in tasks for word in ("--tasks", task)]
    words = [sys.executable, "-m", "rolewall", "calibrate", team, *named, "-o", out,
             "--backend", "bubblewrap", "--jobs", "2", "--json", *more]  # fmt: skip
    return list(map(str, words))


def calibrated(team: Path, *tasks: Path, out: Path, more: tuple[object, ...] = ()) -> Calibrated:
    done = subprocess.run(
        arguments(team, *tasks, out=out, more=more),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Calibrated(out, done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def calibrate() -> Calibrate:
    return calibrated


@pytest.fixture
def command() -> Callable[..., list[str]]:
    return arguments


Solved = Callable[..., Path]


@pytest.fixture
def solved(studio: Studio) -> Solved:
    """A task with a reference solution, which has a fault at hand for every line."""

    def make(name: str = "sign", *, check: str = CHECK, solution: str | None = FIXED) -> Path:
        task = studio.task(name, files={"sign.py": BROKEN, "docs/notes.md": "x\n"}, check=check)
        if solution is not None:
            (task / "solution").mkdir()
            (task / "solution" / "sign.py").write_text(solution)
        return task

    return make
