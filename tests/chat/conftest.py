"""Teams of chat agents, played through the command line against a model that is scripted."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Episode, Studio, episodes_of
from tests.models import Heard, Say, ScriptedModel
from tests.models.scripted import Script

EXECUTOR, VERIFIER = "You are the executor", "You are the verifier"
REJECTS = {"agent": {"command": ["/bin/true"]}}  # a verifier that is not of interest


@dataclass(frozen=True)
class Chatted:
    """One episode, and what its model heard."""

    episode: Episode
    heard: list[Heard]
    err: str

    def of(self, name: str) -> list[Heard]:
        return [heard for heard in self.heard if name in heard.text]

    def first(self, name: str) -> str:
        """All that the model was told before its first answer as that role."""
        return self.of(name)[0].text

    def results(self, name: str) -> list[str]:
        return self.of(name)[-1].results

    def transcript(self, role: str) -> list[dict[str, Any]]:
        path = self.episode.directory / self.episode.phase(role)["transcript"]
        return [json.loads(line) for line in path.read_text().splitlines()]

    def tools(self, role: str) -> list[str]:
        return [line["tool"] for line in self.transcript(role) if "tool" in line]

    def notes(self, role: str) -> list[str]:
        return [line["note"] for line in self.transcript(role) if "note" in line]

    def changed(self, role: str) -> set[str]:
        return {change["path"] for change in self.episode.phase(role)["changes"]}


class Chats:
    """Runs chat agents below a directory of its own."""

    def __init__(self, path: Path) -> None:
        (path / "studio").mkdir()
        self.path = path
        self.studio = Studio(path / "studio")

    def team(
        self,
        url: str,
        *,
        roles: dict[str, Any] | None = None,
        rounds: int = 1,
        seconds: int = 60,
        budget: dict[str, Any] | None = None,
        **settings: Any,
    ) -> Path:
        """A team whose executor and verifier are chat agents with the same ``settings``;
        ``roles`` are agents besides, or in their place."""
        agent: dict[str, Any] = {"chat": {"model": "scripted", **settings}}
        agent |= {"budget": budget} if budget else {}
        body = {
            "team": "chatters",
            "limits": {"phase_seconds": seconds, "memory_mb": 512, "pids": 64},
            "rounds": rounds,
            "models": {"main": {"endpoint": url, "allow": ["scripted"]}},
            "roles": {"executor": {"agent": agent}, "verifier": {"agent": agent}, **(roles or {})},
        }
        root = self.studio.path / f"chat-{len(list(self.studio.path.iterdir()))}"
        root.mkdir()
        (root / "team.yaml").write_text(json.dumps(body))
        return root / "team.yaml"

    def run(
        self, team: Path, task: Path, *more: str, backend: str = "bubblewrap", code: int = 0
    ) -> tuple[Episode, str]:
        out = self.path / f"run-{len(list(self.path.iterdir()))}"
        words = [sys.executable, "-m", "rolewall", "run", team, "--tasks", task, "-o", out,
                 "--backend", backend, "--allow-team-models", *more]  # fmt: skip
        done = subprocess.run(
            list(map(str, words)), capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        (episode,) = episodes_of(out)
        return episode, done.stderr

    def play(
        self,
        script: Script,
        task: Path,
        *more: str,
        backend: str = "bubblewrap",
        code: int = 0,
        **settings: Any,
    ) -> Chatted:
        """Play one episode; whatever the model was asked beyond its script is a failure."""
        with ScriptedModel(script) as model:
            team = self.team(model.url, **settings)
            episode, err = self.run(team, task, *more, backend=backend, code=code)
        assert not model.problems
        return Chatted(episode, model.heard, err)


@pytest.fixture
def chats(tmp_path: Path) -> Chats:
    return Chats(tmp_path)


def calls(*made: tuple[str, Any]) -> Say:
    return Say(calls=made)
