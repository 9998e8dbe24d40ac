"""One real run that every test of the export reads: exchanges in three protocols, a script."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ran
from tests.models import Heard, Say, ScriptedModel

MODEL = "scripted-model"
HOSTILE = "\x1b[31mred\x07 <script>alert(1)</script> \u202eback"
SPOILT = {"command": "true", "deep": {"a": [1, None, 2.5]}, "esc": HOSTILE}
CHECK = 'import sys; sys.exit("x + 1" not in open("/workspace/app.py").read())\n'
VERIFIER = {
    "steps": [
        {"run": "cat /rolewall/prompt.md"},
        {"run": "touch /workspace/mine || true; exit 3"},
    ],
    "verdict": "approve",
    "summary": "fine",
}


def answer(heard: Heard) -> Say:
    """A tool call at first; when its result is there, the last words."""
    results = heard.results
    if results:
        return Say(f"{heard.protocol} heard: {results[-1]}", tokens=(200, 50, 10))
    return Say(f"{heard.protocol} begins {HOSTILE}", [("run", SPOILT)])


@dataclass(frozen=True)
class Made:
    """A finished run; ``nonce`` is its verifier's."""

    path: Path
    episode: Path
    record: dict[str, Any]

    @property
    def nonce(self) -> str:
        return str(self.record["verdicts"][0]["nonce"])

    def copy(self, to: Path) -> Path:
        return Path(shutil.copytree(self.path, to, symlinks=True))


def rolewall(*arguments: object, cwd: Path) -> Ran:
    done = subprocess.run(
        [sys.executable, "-m", "rolewall", *map(str, arguments)],
        capture_output=True, text=True, timeout=200, check=False, cwd=cwd,
        env={**os.environ, "ROLEWALL_TEST_KEY": "sk-of-nobody-4711"},
    )  # fmt: skip
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    place = tmp_path_factory.mktemp("exported")
    _task(place / "task")
    with ScriptedModel(answer) as model:
        _team(place / "team", model.url)
        done = rolewall("run", place / "team" / "team.yaml", "--tasks", place / "task",
                        "--backend", "bubblewrap", "--allow-team-models", "-o", place / "run",
                        cwd=place)  # fmt: skip
    assert done.code == 0, done.err
    (episode,) = (place / "run" / "episodes").iterdir()
    return Made(place / "run", episode, json.loads((episode / "episode.json").read_text()))


def _task(root: Path) -> None:
    for name, text in {
        "workspace/app.py": "def add(x):\n    return x\n",
        "grader/check.py": CHECK,
        "spec.md": "add(x) returns x + 1\n",
        "brief.md": "make add(x) right\n",
        "task.yaml": "id: add-one\nseconds: 60\n"
        "grader: {command: {run: [python3, /grader/check.py], trust: outside}}\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def _team(root: Path, url: str) -> None:
    root.mkdir()
    (root / "verify.yaml").write_text(json.dumps(VERIFIER))
    shutil.copy(Path(__file__).with_name("agent.py"), root / "agent.py")
    price = {MODEL: {"input": 3, "output": 15, "cached": 1}}
    endpoint = {"endpoint": url, "key": "ROLEWALL_TEST_KEY", "allow": [MODEL], "prices": price}
    executor = {"command": ["python3", "{agents}/agent.py"], "endpoint": "main"}
    team = {
        "team": "exported",
        "limits": {"phase_seconds": 60, "memory_mb": 512, "pids": 64},
        "models": {"main": endpoint},
        "roles": {
            "executor": {"agent": executor},
            "verifier": {"agent": {"script": "verify.yaml"}},
        },
    }
    (root / "team.yaml").write_text(json.dumps(team))
