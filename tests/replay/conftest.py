"""Recorded runs, and teams whose roles do again what is recorded there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Episode, Ran, Studio, episodes_of


def rolewall(*arguments: object, cwd: Path) -> Ran:
    done = subprocess.run(
        [sys.executable, "-m", "rolewall", *map(str, arguments)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False, cwd=cwd,
    )  # fmt: skip
    return Ran(done.returncode, done.stdout, done.stderr)


@dataclass
class Stage:
    """A task, and what is run on it; ``run`` is the last run's directory."""

    path: Path
    studio: Studio
    task: Path
    number: int = 0
    backend: str = "bubblewrap"

    @property
    def run(self) -> Path:
        return self.path / f"run-{self.number}"

    def plays(self, team: Path, *options: object) -> Ran:
        self.number += 1
        return rolewall("run", team, "--tasks", self.task, "--backend", self.backend, *options,
                        "-o", self.run, cwd=self.path)  # fmt: skip

    def played(self, team: Path, *options: object) -> Episode:
        done = self.plays(team, *options)
        assert done.code == 0, done.err
        (episode,) = episodes_of(self.run)
        return episode

    def again(self, team: Path, *roles: str, seconds: int | None = None, **others: Any) -> Path:
        """A team file beside ``team`` in which ``roles``, by default all, are replayed."""
        body = json.loads(team.read_text())
        for role in roles or tuple(body["roles"]):
            body["roles"][role] = {"agent": {"replay": {}}}
        body["roles"] |= others
        body.pop("models", None)
        if seconds:
            body["limits"]["phase_seconds"] = seconds
        path = team.with_name("again.yaml")
        path.write_text(json.dumps(body))
        return path


def calls(episode: Episode, name: str) -> list[dict[str, Any]]:
    text = (episode.directory / "transcripts" / f"{name}.calls.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


MakeStage = Callable[[str], Stage]


@pytest.fixture(scope="module")
def make_stage(tmp_path_factory: pytest.TempPathFactory) -> MakeStage:
    def make(name: str) -> Stage:
        path = tmp_path_factory.mktemp(name)
        (path / "studio").mkdir()
        studio = Studio(path / "studio")
        return Stage(path, studio, studio.task())

    return make


@pytest.fixture
def stage(make_stage: MakeStage) -> Stage:
    return make_stage("stage")
