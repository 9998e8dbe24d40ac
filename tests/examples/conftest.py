"""A workspace in one of its states, judged by plain processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).parents[2]
OVERLAY = ROOT / "examples" / "teams" / "scripts" / "overlay.py"
ENV = {
    "PATH": os.environ["PATH"],
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}
Done = subprocess.CompletedProcess[str]


def call(argv: list[str], cwd: Path) -> Done:
    return subprocess.run(
        argv, cwd=cwd, env=ENV, capture_output=True, text=True, timeout=60, check=False
    )


@dataclass(frozen=True)
class Judged:
    """Whether all visible tests, and the grader, are content; ``output`` explains."""

    visible: bool
    hidden: bool
    output: str


@dataclass(frozen=True)
class Bench:
    """Makes workspaces below ``directory`` and judges them."""

    directory: Path

    def workspace(self, task: Path, *overlays: Path) -> Path:
        work = self.directory / "workspace"
        shutil.copytree(task / "workspace", work)
        for overlay in overlays:
            done = call([sys.executable, str(OVERLAY), str(overlay), str(work)], self.directory)
            assert done.returncode == 0, done.stderr
        return work

    def judge(self, task: Path, work: Path) -> Judged:
        grader: dict[str, Any] = yaml.safe_load((task / "task.yaml").read_text())["grader"]
        if "command" in grader:
            visible = self._pytest(work, [])
            argv = [
                word.replace("/grader", str(task / "grader")) for word in grader["command"]["run"]
            ]
            checked = call(argv, work)
            assert checked.returncode in (0, 1), checked.stderr
            return Judged(visible.visible, checked.returncode == 0, visible.output + checked.stdout)
        return self._pytest(
            work, [str(task / "grader" / name) for name in grader["pytest"]["tests"]]
        )

    def accepts(self, task: Path, work: Path) -> bool:
        """Whether the diligent verifier's own check is content."""
        check = ROOT / "examples" / "teams" / "verifier" / "accept" / f"{task.name}.py"
        return call([sys.executable, str(check)], work).returncode == 0

    def _pytest(self, work: Path, hidden: list[str]) -> Judged:
        results = self.directory / "results.xml"
        argv = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", str(work)]
        done = call(
            [*argv, "-p", "no:cacheprovider", f"--junitxml={results}", "tests", *hidden], work
        )
        seen: dict[bool, list[bool]] = {True: [], False: []}
        for case in ElementTree.parse(results).iter("testcase"):
            of_grader = not case.get("classname", "").startswith("tests.")
            seen[of_grader].append(case.find("failure") is None and case.find("error") is None)
        return Judged(_content(seen[False]), _content(seen[True]), done.stdout + done.stderr)


def _content(outcomes: list[bool]) -> bool:
    return bool(outcomes) and all(outcomes)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
