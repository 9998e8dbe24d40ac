"""What differs from a recorded run is told before it is played again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.models import Heard, Say, ScriptedModel
from tests.replay.conftest import MakeStage, Stage

pytestmark = pytest.mark.bubblewrap

NOTE = "note: the run to replay was recorded with "
Recorded = tuple[Stage, Path, Path]


def says(heard: Heard) -> Say:
    return Say("", [("message", {"text": "there is nothing to do"})])


@pytest.fixture(scope="module")
def recorded(make_stage: MakeStage) -> Recorded:
    """A team with a model, and its run."""
    stage = make_stage("notes")
    team = stage.studio.team(executor={}, verifier={})
    with ScriptedModel(says) as model:
        body = json.loads(team.read_text())
        body["models"] = {"main": {"endpoint": model.url, "allow": ["m"]}}
        body["roles"]["executor"] = {"agent": {"chat": {"model": "m"}}}
        team.write_text(json.dumps(body))
        for name in ("hints.md", "run.sh"):
            (team.parent / name).write_text("add one\n")
        stage.played(team, "--allow-team-models", "--condition", "no-verify")
    return stage, team, stage.run


def notes(recorded: Recorded, team: Path) -> list[str]:
    """What is said of ``team``; nothing is played, since the directory is no run's."""
    stage, _, run = recorded
    stage.number += 1
    stage.run.mkdir()
    (stage.run / "file").touch()
    stage.number -= 1
    done = stage.plays(team, "--replay", run, "--condition", "no-verify")
    assert done.code == 2 and "neither empty nor a run" in done.err
    return [line.removeprefix(NOTE) for line in done.err.splitlines() if line.startswith(NOTE)]


def copied(recorded: Recorded, name: str) -> Path:
    _, team, _ = recorded
    root = team.parent.parent / name
    shutil.copytree(team.parent, root)
    return root / team.name


def test_the_same_team_is_not_spoken_of(recorded: Recorded) -> None:
    """Wherever it lies."""
    assert notes(recorded, copied(recorded, "moved")) == []
    info = json.loads((recorded[2] / "run.json").read_text())
    assert {"team.yaml", "hints.md"} <= set(info["team_files"])


def test_another_prompt_and_another_task_are_told_by_name(recorded: Recorded) -> None:
    team = copied(recorded, "other")
    body = json.loads(team.read_text())
    body["roles"]["executor"]["agent"]["chat"]["instructions"] = "Be quick."
    team.write_text(json.dumps(body))
    (team.parent / "hints.md").unlink()
    (team.parent / "more.sh").write_text("#!/bin/sh\n")
    (team.parent / "run.sh").chmod(0o755)
    brief = recorded[0].task / "brief.md"
    kept = brief.read_text()
    brief.write_text("add two\n")
    try:
        said = notes(recorded, team)
    finally:
        brief.write_text(kept)
    files = "hints.md (gone), more.sh (new), run.sh (changed), team.yaml (changed)"
    assert said == ["another version of the tasks add-one", f"other files of the team: {files}"]


def test_where_roles_play_again_their_own_team_file_is_no_news(recorded: Recorded) -> None:
    team = copied(recorded, "again")
    (team.parent / "hints.md").write_text("add two\n")
    said = ["other files of the team: hints.md (changed)"]
    assert notes(recorded, recorded[0].again(team, "executor")) == said
