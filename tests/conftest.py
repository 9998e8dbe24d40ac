"""What the tests need from the machine, and the markers that say so.

``ROLEWALL_TEST_REQUIRE=docker,bubblewrap,root`` turns "not here" from a skip
into a failure, and every other skip too, wherever it is asked for, so that
continuous integration cannot skip its way to green.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rolewall.errors import RolewallError
from rolewall.sandbox import Backend, find_backend

REQUIRED = set(filter(None, os.environ.get("ROLEWALL_TEST_REQUIRE", "").split(",")))


def _backend_missing(name: str) -> str:
    try:
        find_backend(name)
    except RolewallError as error:
        return str(error)
    return ""


def _root_missing() -> str:
    return "" if os.geteuid() == 0 else "not root"


MISSING: dict[str, Callable[[], str]] = {
    "docker": lambda: _backend_missing("docker"),
    "bubblewrap": lambda: _backend_missing("bubblewrap"),
    "root": _root_missing,
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    found = {name: check() for name, check in MISSING.items()}
    for item in items:
        for name, why in found.items():
            if why and item.get_closest_marker(name) and name not in REQUIRED:
                item.add_marker(pytest.mark.skip(reason=f"{name}: {why}"))


Report = pytest.TestReport | pytest.CollectReport


def _no_skip(report: Report) -> None:
    if REQUIRED and report.skipped and not hasattr(report, "wasxfail"):
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"ROLEWALL_TEST_REQUIRE forbids to skip: {why}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _no_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _no_skip(report)
    return report


@pytest.fixture(
    params=[
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
        pytest.param("docker", marks=pytest.mark.docker),
    ]
)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each backend in turn."""
    return find_backend(request.param)


@dataclass(frozen=True)
class Ran:
    """A finished ``rolewall`` command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Ran]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Run the command line as a user does, in a process of its own."""

    def run(*arguments: object, stdin: str = "", env: dict[str, str] | None = None) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "rolewall", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=300,
            check=False,
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@dataclass
class Studio:
    """Makes small tasks and teams below a directory."""

    path: Path

    def task(
        self,
        name: str = "add-one",
        *,
        files: dict[str, str] | None = None,
        grader: str = "grader: {command: {run: [python3, /grader/check.py], trust: outside}}",
        check: str = 'import sys; sys.exit("x + 1" not in open("/workspace/app.py").read())\n',
    ) -> Path:
        root = self.path / "tasks" / name
        for below in ("workspace", "grader"):
            (root / below).mkdir(parents=True)
        (root / "task.yaml").write_text(f"id: {name}\n{grader}\nseconds: 60\n")
        (root / "spec.md").write_text("add(x) returns x + 1\n")
        (root / "brief.md").write_text("make add(x) right\n")
        (root / "grader" / "check.py").write_text(check)
        for file, text in (files or {"app.py": "def add(x):\n    return x\n"}).items():
            target = root / "workspace" / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        return root

    def team(
        self, *, rounds: int = 1, replan: bool = False, memory_mb: int = 512, **roles: object
    ) -> Path:
        """A team of scripts: a role's value is the script's content, or for a list a command."""
        root = self.path / f"team-{len(list(self.path.iterdir()))}"
        root.mkdir()
        agents = {}
        for role, content in {"executor": {}, "verifier": {}, **roles}.items():
            if isinstance(content, dict) and "command" in content:
                agents[role] = {"agent": content}
                continue
            (root / f"{role}.yaml").write_text(json.dumps(content))
            agents[role] = {"agent": {"script": f"{role}.yaml"}}
        team = {
            "team": "test-team",
            "limits": {"phase_seconds": 60, "memory_mb": memory_mb, "pids": 64},
            "rounds": rounds,
            "replan": replan,
            "roles": agents,
        }
        (root / "team.yaml").write_text(json.dumps(team))
        return root / "team.yaml"


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    (tmp_path / "studio").mkdir()
    return Studio(tmp_path / "studio")


@dataclass(frozen=True)
class Episode:
    """A finished episode of a run, read from its files."""

    directory: Path
    record: dict[str, Any]

    def attempts(self, **wanted: object) -> list[dict[str, Any]]:
        lines = (self.directory / "audit.jsonl").read_text().splitlines()
        found = [json.loads(line) for line in lines]
        return [
            line
            for line in found
            if line["type"] == "attempt" and all(line[k] == v for k, v in wanted.items())
        ]

    def phase(self, role: str) -> dict[str, Any]:
        return next(p for p in reversed(self.record["phases"]) if p["role"] == role)


def episodes_of(run: Path) -> list[Episode]:
    found = sorted((run / "episodes").iterdir())
    return [Episode(d, json.loads((d / "episode.json").read_text())) for d in found]


Play = Callable[..., Episode]


@pytest.fixture
def play(cli: Cli, tmp_path: Path, backend: Backend) -> Play:
    """Run one team on one task through the command line, and read the one episode."""

    def run(team: Path, task: Path, condition: str = "enforced", code: int = 0) -> Episode:
        out = tmp_path / f"run-{condition}-{len(list(tmp_path.iterdir()))}"
        done = cli("run", team, "--tasks", task, "--condition", condition,
                   "--backend", backend.name, "-o", out)  # fmt: skip
        assert done.code == code, done.err
        (episode,) = episodes_of(out)
        return episode

    return run
