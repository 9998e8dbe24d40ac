"""The experiment, played through the command line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rolewall.cli import explain
from rolewall.cli.binding import command
from rolewall.errors import RolewallError


@dataclass(frozen=True)
class Played:
    """One run of ``rolewall binding``: its JSON, its text, and the directory it left."""

    found: dict[str, Any]
    text: str
    out: Path

    def arm(self, name: str) -> dict[str, Any]:
        return next(arm for arm in self.found["arms"] if arm["arm"] == name)

    def artifact(self, name: str, what: str) -> tuple[int, int]:
        rate = self.arm(name)["artifact"][what]
        return rate["events"], rate["total"]

    def endpoint(self, name: str, what: str) -> tuple[int, int]:
        rate = self.arm(name)["endpoint"][what]
        return rate["events"], rate["total"]

    def lines(self, arm: str, condition: str = "open") -> list[dict[str, Any]]:
        read = [json.loads(line) for line in (self.out / "episodes.jsonl").read_text().splitlines()]
        return [line for line in read if line["arm"] == arm and line["condition"] == condition]

    def attempts(self, box: str) -> list[dict[str, Any]]:
        ledger = (self.out / "attempts" / f"{box}.jsonl").read_text().splitlines()
        return [line for line in map(json.loads, ledger) if line["type"] == "attempt"]


class Binding:
    """Runs the command below a directory of its own, in this process: a new one is as long as
    what is played."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, *words: object, backend: str = "bubblewrap", code: int = 0) -> Played:
        out = self.path / f"out-{len(list(self.path.iterdir()))}"
        argv = [*words, "--backend", backend, "--json", "-o", out]
        done = CliRunner().invoke(command, list(map(str, argv)))
        ended, text = done.exit_code, done.stderr
        if isinstance(done.exception, RolewallError):
            ended, text = explain(done.exception)
        elif done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert ended == code, text
        return Played(json.loads(done.stdout) if done.stdout else {}, text, out)


@pytest.fixture
def binding(tmp_path: Path) -> Binding:
    return Binding(tmp_path)


@pytest.fixture(scope="module")
def careful(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Every arm, by the executor that is the default."""
    return Binding(tmp_path_factory.mktemp("careful"))("--episodes", 4, "--twins", 2)
