"""What an agent told of itself is exported as its own program tells it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.trajectory.atifmodel import AtifTrajectory
from tests.agents.conftest import on_backends

if TYPE_CHECKING:
    from tests.agents.conftest import Played
    from tests.conftest import Cli

pytestmark = [pytest.mark.agents, on_backends("mini-swe-agent", "opencode")]


def test_it_is_exported_as_its_own_program_tells_it(
    played: Played, cli: Cli, tmp_path: Path
) -> None:
    done = cli("export", played.run, "--format", "atif", "-o", tmp_path / "out", "--json")
    assert (done.code, done.json["origins"]) == (0, {"agent": 2}), done.err
    for file in (tmp_path / "out").rglob("*.json"):
        made = AtifTrajectory.model_validate_json(file.read_bytes(), strict=True)
        assert made.agent.name == played.agent.name
        assert played.episode.record["verdicts"][0]["nonce"] not in file.read_text()
