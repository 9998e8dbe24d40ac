"""Every example task separates right from flawed work, and the teams use that."""

from __future__ import annotations

import filecmp
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from rolewall.roles import load_team
from rolewall.tasks import load_tasks

EXAMPLES = Path(__file__).parents[2] / "examples"
TEAMS = EXAMPLES / "teams"
TASKS = sorted(path for path in (EXAMPLES / "tasks").iterdir() if path.is_dir())
NAMES = ["diligent", "echo", "meddler", "rubber-stamp"]
of_each_task = pytest.mark.parametrize("task", TASKS, ids=[path.name for path in TASKS])


def files(directory: Path) -> set[str]:
    return {str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file()}


@of_each_task
def test_the_start_state_fails_its_grader(bench: Any, task: Path) -> None:
    judged = bench.judge(task, bench.workspace(task))
    assert (judged.visible, judged.hidden) == (False, False), judged.output


@of_each_task
def test_the_flawed_fix_passes_only_what_everybody_sees(bench: Any, task: Path) -> None:
    work = bench.workspace(task, TEAMS / "work" / task.name / "flawed")
    judged = bench.judge(task, work)
    assert (judged.visible, judged.hidden) == (True, False), judged.output
    assert not bench.accepts(task, work)


@of_each_task
def test_the_solution_passes_everything(bench: Any, task: Path) -> None:
    work = bench.workspace(task, task / "solution")
    judged = bench.judge(task, work)
    assert (judged.visible, judged.hidden) == (True, True), judged.output
    assert bench.accepts(task, work)


@of_each_task
def test_a_right_fix_repairs_a_flawed_one(bench: Any, task: Path) -> None:
    fixes = TEAMS / "work" / task.name
    repaired = bench.workspace(task, fixes / "flawed", fixes / "right")
    names = files(task / "solution") - {"DELETE"}
    _, differ, errors = filecmp.cmpfiles(task / "solution", repaired, names, shallow=False)
    assert (differ, errors) == ([], [])
    assert files(fixes / "right") == files(task / "solution")


@of_each_task
def test_a_workspace_is_small_and_holds_no_truth(task: Path) -> None:
    assert 2 <= len(files(task / "workspace")) <= 6
    assert not any("hidden" in name or "solution" in name for name in files(task / "workspace"))


def test_rounds_are_written_for_every_task() -> None:
    lines = [(TEAMS / "work" / task.name / "rounds").read_text().split() for task in TASKS]
    assert Counter(map(tuple, lines)) == {
        ("right", "right"): 5,
        ("flawed", "right"): 6,
        ("flawed", "flawed"): 1,
    }


def test_all_tasks_load() -> None:
    tasks = load_tasks([EXAMPLES / "tasks"])
    assert [task.id for task in tasks] == [path.name for path in TASKS]
    assert len(tasks) >= 10


@pytest.mark.parametrize("name", NAMES)
def test_a_team_loads(name: str) -> None:
    team = load_team(TEAMS / f"{name}.yaml")
    assert (team.name, team.roles) == (name, ("planner", "executor", "verifier"))


def test_teams_differ_in_their_verifier_alone() -> None:
    teams = [yaml.safe_load((TEAMS / f"{name}.yaml").read_text()) for name in NAMES]
    verifiers = {team["roles"].pop("verifier")["agent"]["script"] for team in teams}
    names = {team.pop("team") for team in teams}
    assert (len(verifiers), len(names)) == (len(NAMES), len(NAMES))
    assert all(team == teams[0] for team in teams)
    assert {path.stem for path in TEAMS.glob("*.yaml")} == {*NAMES, "release"}


def test_every_named_script_is_there() -> None:
    scripts = files(TEAMS / "scripts")
    places = [*(TEAMS / "scripts" / name for name in scripts), *TEAMS.glob("*.yaml")]
    text = "".join(place.read_text() for place in places).replace("{agents}", "/rolewall/agents")
    used: dict[str, Any] = {name: f"/rolewall/agents/scripts/{name}" in text for name in scripts}
    assert {name for name in scripts if not name.endswith(".yaml")} == {
        name for name, there in used.items() if there
    }
