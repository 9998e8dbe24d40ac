"""A model's key that is missing is found before a start is generated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Bench, Cli, Ran

pytestmark = [pytest.mark.bubblewrap]

URL = "https://models.example/v1"


def team_of(path: Path) -> Path:
    agent = {"agent": {"command": ["/bin/true"], "endpoint": "main"}}
    models = {"main": {"endpoint": URL, "key": "ROLEWALL_TEST_KEY", "allow": ["m"]}}
    body = {"team": "t", "models": models, "roles": {"executor": agent, "verifier": agent}}
    (path / "team").mkdir()
    (path / "team" / "team.yaml").write_text(json.dumps(body))
    return path / "team" / "team.yaml"


def asked(bench: Bench, tmp_path: Path, cli: Cli, key: str) -> Ran:
    """A run whose directory is no run's, so that it is refused in any case."""
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    task, team = bench.generated("SUM1_two"), team_of(tmp_path)
    return cli("run", team, "--tasks", task, "--backend", "bubblewrap", "--allow-team-models",
               "-o", tmp_path / "taken", env={"ROLEWALL_TEST_KEY": key})  # fmt: skip


def test_nothing_is_generated_for_a_team_that_could_call_no_model(
    bench: Bench, own_cache: Path, cli: Cli, tmp_path: Path
) -> None:
    done = asked(bench, tmp_path, cli, "")
    assert done.code == 2 and "the variable ROLEWALL_TEST_KEY is not set" in done.err
    assert "generating" not in done.err
    assert not [path for path in own_cache.rglob("*") if path.is_file()]


def test_with_its_key_it_is(bench: Bench, own_cache: Path, cli: Cli, tmp_path: Path) -> None:
    """The twin."""
    done = asked(bench, tmp_path, cli, "sk-0123456789")
    assert done.code == 2 and "neither empty nor a run" in done.err
    assert "generating 1 start in boxes" in done.err
    assert [path for path in own_cache.rglob("*") if path.is_file()]
