"""Real coding agents in real boxes, before a model that says what a test wrote down."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rolewall.roles import Trajectory
from rolewall.roles.presets import PRESETS, THEN, Printed
from tests.agents.agent import Agent
from tests.agents.claude_code import CLAUDE_CODE
from tests.agents.codex import CODEX
from tests.agents.mini_swe_agent import MINI_SWE_AGENT
from tests.agents.opencode import OPENCODE
from tests.agents.parts import KEY, Script
from tests.conftest import Episode, episodes_of
from tests.models import Heard, ScriptedModel

AGENTS = Path(
    os.environ.get("ROLEWALL_TEST_AGENTS") or Path.home() / ".cache" / "rolewall-test-agents"
)
EVERY = {agent.name: agent for agent in (CLAUDE_CODE, CODEX, MINI_SWE_AGENT, OPENCODE)}
BACKENDS = ("docker", "bubblewrap")
MODEL = "scripted-model"
APP = "def add(x):\n    return x\n"
CHECK = 'import sys; sys.exit("x + 1" not in open("/workspace/app.py").read())\n'


@dataclass(frozen=True)
class Played:
    """A finished run of one episode, with what its model heard."""

    agent: Agent
    run: Path
    episode: Episode
    heard: list[Heard]
    script: Script
    err: str

    def trajectory(self, role: str) -> Trajectory:
        """As the preset reads what the agent printed."""
        phase = self.episode.phase(role)
        stem = self.episode.directory / phase["transcript"].removesuffix(".jsonl")
        lines = [json.loads(line) for line in stem.with_suffix(".jsonl").read_text().splitlines()]
        own = next(line for line in lines if line["tool"] in PRESETS)
        then = next((line for line in lines if line["tool"] == THEN), None)
        return PRESETS[own["tool"]].parse(
            Printed(
                _part(stem.with_suffix(".stdout"), own["stdout"]),
                _part(stem.with_suffix(".stderr"), own["stderr"]),
                _part(stem.with_suffix(".stdout"), then["stdout"]) if then else b"",
            )
        )

    def said(self, role: str) -> str:
        """All that the agent's tools gave back."""
        return "\n".join(
            result.text for step in self.trajectory(role).steps for result in step.results
        )


def _part(path: Path, output: dict[str, Any]) -> bytes:
    begin = output["file_offset"]
    return path.read_bytes()[begin : begin + output["bytes"]]


Play = Callable[..., Played]


@pytest.fixture(scope="session")
def playing(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Play one episode in which the same agent is verifier and, unless another is named,
    executor."""

    def play(
        agent: Agent,
        script: Script,
        backend: str,
        condition: str = "enforced",
        executor: dict[str, object] | None = None,
    ) -> Played:
        place = tmp_path_factory.mktemp(agent.name)
        task = _task(place / "task", agent.planted)
        with ScriptedModel(script) as model:
            team = _team(place / "team", agent.name, model.url, executor)
            done = subprocess.run(
                [
                    *(sys.executable, "-m", "rolewall", "run", str(team), "--tasks", str(task)),
                    *("--backend", backend, "--condition", condition, "--allow-team-models"),
                    *("--show", str(AGENTS), "-o", str(place / "run")),
                ],
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
                cwd=place,
                env={**os.environ, "ROLEWALL_TEST_KEY": KEY},
            )
            assert done.returncode == 0, done.stdout + done.stderr
            (episode,) = episodes_of(place / "run")
            assert not model.problems, model.problems
            return Played(agent, place / "run", episode, list(model.heard), script, done.stderr)

    return play


@pytest.fixture(scope="session")
def plays(playing: Play) -> Play:
    """An agent's one run on a backend, by its own script: made when it is first asked for."""
    return cache(lambda name, backend: playing(EVERY[name], EVERY[name].script(), backend))


def on_backends(*names: str, backends: Sequence[str] = BACKENDS) -> pytest.MarkDecorator:
    """A test of the run of each of these agents on each backend."""
    cases = [
        pytest.param((name, backend), marks=getattr(pytest.mark, backend), id=f"{name}-{backend}")
        for name in names
        for backend in backends
    ]
    return pytest.mark.parametrize("played", cases, indirect=True)


@pytest.fixture
def played(request: pytest.FixtureRequest, plays: Play) -> Played:
    return plays(*request.param)


def _task(root: Path, planted: dict[str, str]) -> Path:
    files = {f"workspace/{name}": text for name, text in {"app.py": APP, **planted}.items()}
    for name, text in {"grader/check.py": CHECK, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    grader = "grader: {command: {run: [python3, /grader/check.py], trust: outside}}"
    (root / "task.yaml").write_text(f"id: add-one\n{grader}\nseconds: 120\n")
    (root / "spec.md").write_text("add(x) returns x + 1\n")
    (root / "brief.md").write_text("make add(x) right\n")
    return root


def _team(root: Path, preset: str, url: str, executor: dict[str, object] | None) -> Path:
    root.mkdir()
    agent = {preset: {"model": MODEL}}
    team = {
        "team": "agents",
        "limits": {"phase_seconds": 100},
        "models": {"main": {"endpoint": url, "key": "ROLEWALL_TEST_KEY", "allow": [MODEL]}},
        "roles": {"executor": {"agent": executor or agent}, "verifier": {"agent": agent}},
    }
    path = root / "team.yaml"
    path.write_text(json.dumps(team))
    return path
