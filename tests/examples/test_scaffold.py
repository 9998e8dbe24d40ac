"""``rolewall init`` writes files that run as they are, and overwrites nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from rolewall.errors import InputError
from rolewall.roles import load_team
from rolewall.scaffold import scaffold
from rolewall.tasks import load_tasks

TASKS = ["feature-flags", "retry-delays"]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    scaffold(tmp_path / "new" / "project")
    return tmp_path / "new" / "project"


def everything(directory: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(directory)): p.read_bytes() for p in directory.rglob("*") if p.is_file()
    }


def test_the_files_are_listed_and_there(tmp_path: Path) -> None:
    written = scaffold(tmp_path)
    assert {str(path.relative_to(tmp_path)) for path in written} == set(everything(tmp_path))
    assert {"README.md", "team/team.yaml", ".github/workflows/rolewall.yml"} <= set(
        everything(tmp_path)
    )


def test_team_and_tasks_load(made: Path) -> None:
    team = load_team(made / "team" / "team.yaml")
    assert [task.id for task in load_tasks([made / "tasks"])] == TASKS
    assert not any("grader" in name or "solution" in name for name in team.files())


@pytest.mark.parametrize("name", TASKS)
def test_the_grader_separates_start_first_and_solution(
    bench: Any, made: Path, name: str, tmp_path: Path
) -> None:
    task = made / "tasks" / name
    start = bench.judge(task, bench.workspace(task))
    assert (start.visible, start.hidden) == (False, False), start.output
    right = type(bench)(tmp_path / "new")
    solved = right.judge(task, right.workspace(task, task / "solution"))
    assert (solved.visible, solved.hidden) == (True, True), solved.output


def test_the_first_attempt_at_the_flags_only_looks_right(bench: Any, made: Path) -> None:
    task, work = made / "tasks" / "feature-flags", made / "team" / "work" / "feature-flags"
    judged = bench.judge(task, bench.workspace(task, work / "first"))
    assert (judged.visible, judged.hidden) == (True, False), judged.output


@pytest.mark.parametrize("taken", ["README.md", "team", "tasks/retry-delays/spec.md", ".github"])
def test_nothing_is_overwritten(tmp_path: Path, taken: str) -> None:
    path = tmp_path / taken
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    with pytest.raises(InputError) as caught:
        scaffold(tmp_path)
    assert everything(tmp_path) == {taken: b"mine"}
    assert taken.partition("/")[0] in str(caught.value)


@pytest.mark.parametrize("link", ["tasks", "team/work", "README.md"])
def test_links_are_not_followed(tmp_path: Path, link: str) -> None:
    elsewhere, directory = tmp_path / "elsewhere", tmp_path / "project"
    elsewhere.mkdir()
    (directory / link).parent.mkdir(parents=True, exist_ok=True)
    (directory / link).symlink_to(elsewhere)
    with pytest.raises(InputError):
        scaffold(directory)
    assert everything(elsewhere) == {}


def test_other_files_and_directories_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    (tmp_path / ".github" / "workflows" / "other.yml").write_text("mine")
    scaffold(tmp_path)
    assert (tmp_path / ".github" / "workflows" / "other.yml").read_text() == "mine"


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError):
        scaffold(tmp_path / "file")


@pytest.fixture
def workflow(made: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(
        (made / ".github" / "workflows" / "rolewall.yml").read_text()
    )
    return loaded


def test_the_workflow_needs_no_secret_and_no_rights(made: Path, workflow: dict[str, Any]) -> None:
    assert "secrets." not in (made / ".github" / "workflows" / "rolewall.yml").read_text()
    assert workflow["permissions"] == {"contents": "read"}


def steps(workflow: dict[str, Any], name: str) -> str:
    (step,) = [s for s in workflow["jobs"]["verifier"]["steps"] if s.get("name") == name]
    return str(step["run"])


@pytest.mark.parametrize(("source", "expected"), [("", 2), ("git+https://a/b/rolewall@1", 0)])
def test_the_workflow_installs_from_where_it_is_told(
    tmp_path: Path, workflow: dict[str, Any], source: str, expected: int
) -> None:
    assert workflow["env"]["ROLEWALL_SOURCE"] == "${{ vars.ROLEWALL_SOURCE }}"
    program = tmp_path / "python"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    done = bash(steps(workflow, "Install"), tmp_path, ROLEWALL_SOURCE=source)
    assert done.returncode == expected
    assert done.stdout.startswith("-I -m pip install git+" if source else "::error::")


def bash(script: str, path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-e", "-c", script],
        env={"PATH": f"{path}:/usr/bin:/bin", **env},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


@pytest.mark.parametrize(
    ("gate", "said", "undecided", "expected"),
    [
        (0, "holds", "warn", 0),
        (1, "failed", "warn", 1),
        (2, "", "warn", 2),
        (3, "refused", "warn", 3),
        (4, "refused", "warn", 4),
        (4, "undecided", "warn", 0),
        (4, "undecided", "fail", 4),
    ],
)
def test_the_workflow_passes_the_decision_on(
    tmp_path: Path, workflow: dict[str, Any], gate: int, said: str, undecided: str, expected: int
) -> None:
    decided = tmp_path / "rolewall"
    decided.write_text(f"#!/bin/sh\necho '{said}: why'\nexit {gate}\n")
    decided.chmod(0o755)
    env = {"MAX_FALSE_APPROVAL": "0.10", "ON_UNDECIDED": undecided}
    done = bash(steps(workflow, "Decide"), tmp_path, **env)
    assert done.returncode == expected
    assert ("::" in done.stdout) == (gate != 0)
