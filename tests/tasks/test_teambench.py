from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from rolewall.errors import InputError, TaskError
from rolewall.graders import ScriptSpec
from rolewall.tasks import load_task, load_tasks, stage_grader

TEXT = """
task_id: GH7_example
difficulty: hard
languages: [python]
time_limit_sec: 1200
parameterized: true
seeds: [0, 1, 2]
network: false
something_new: {nested: 1}
"""
PLAIN = "#!/bin/bash\nexit 0\n"
SOURCING = '#!/bin/bash\nsource "$(dirname "$0")/../../harness/grader_helpers.sh"\n'


@pytest.fixture
def task(tmp_path: Path) -> Path:
    directory = tmp_path / "bench" / "tasks" / "GH7_example"
    (directory / "workspace" / "src").mkdir(parents=True)
    (directory / "workspace" / "src" / "app.py").write_text("x = 1\n")
    (directory / "task.yaml").write_text(TEXT)
    (directory / "spec.md").write_text("all\n")
    (directory / "brief.md").write_text("some\n")
    (directory / "grade.sh").write_text(SOURCING)
    (tmp_path / "bench" / "harness").mkdir()
    (tmp_path / "bench" / "harness" / "grader_helpers.sh").write_text("check() { :; }\n")
    (tmp_path / "bench" / "harness" / "secret.py").write_text("not copied\n")
    return directory


def test_a_task_as_it_is(task: Path, tmp_path: Path) -> None:
    loaded = load_task(task)
    assert (loaded.id, loaded.origin, loaded.seconds) == ("GH7_example", "teambench", 1200)
    assert (loaded.spec, loaded.brief) == ("all\n", "some\n")
    assert loaded.workspace == task / "workspace"
    assert loaded.grader == ScriptSpec(run="tasks/GH7_example/grade.sh")
    assert loaded.network == ()
    assert loaded.recipe is None
    assert [note.partition(":")[0] for note in loaded.notes] == ["no seed is applied"]
    stage_grader(loaded, tmp_path / "staged")
    files = {str(p.relative_to(tmp_path / "staged")) for p in (tmp_path / "staged").rglob("*.sh")}
    assert files == {"tasks/GH7_example/grade.sh", "harness/grader_helpers.sh"}
    assert not list((tmp_path / "staged").rglob("secret.py"))
    assert (tmp_path / "staged" / "tasks" / "GH7_example" / "workspace" / "src" / "app.py").exists()


def test_reached_from_inside_and_through_a_link(
    task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(task)
    assert load_task(Path()).id == "GH7_example"
    (tmp_path / "way").symlink_to(task)
    assert load_tasks([tmp_path / "way"])[0].digest == load_task(task).digest


def test_without_the_helper(task: Path) -> None:
    (task / "grade.sh").write_text(PLAIN)
    shutil.rmtree(task.parent.parent / "harness")
    assert all(file.target.startswith("tasks/") for file in load_task(task).grader_files)


def test_the_helper_must_be_there_and_is_digested(task: Path) -> None:
    helper = task.parent.parent / "harness" / "grader_helpers.sh"
    before = load_task(task).digest
    helper.write_text("check() { true; }\n")
    assert load_task(task).digest != before
    helper.unlink()
    with pytest.raises(TaskError, match=r"harness/grader_helpers\.sh: does not exist"):
        load_task(task)
    helper.symlink_to("/etc/passwd")
    with pytest.raises(TaskError, match="got 'link'"):
        load_task(task)
    shutil.rmtree(helper.parent)
    helper.parent.symlink_to("/etc")
    with pytest.raises(TaskError, match="through a link"):
        load_task(task)


@pytest.mark.parametrize("name", ["spec.md", "brief.md", "workspace"])
def test_what_is_absent_is_refused_with_what_was_looked_for(task: Path, name: str) -> None:
    os.rename(task / name, task.parent.parent / "gone")
    with pytest.raises(TaskError) as caught:
        load_task(task)
    assert "neither there nor generated" in str(caught.value)
    assert "generators/gen_gh7_example.py" in str(caught.value)
    assert str(task / name) in str(caught.value)


@pytest.mark.parametrize("name", ["spec.md", "brief.md", "grade.sh", "workspace", "task.yaml", "x"])
def test_links_are_refused(task: Path, name: str) -> None:
    if (task / name).exists():
        os.rename(task / name, task.parent.parent / "gone")
    (task / name).symlink_to(task.parent.parent / "gone")
    with pytest.raises(TaskError, match="link"):
        load_task(task)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("task_id: 7", "task_id"),
        ("task_id: ../x", "task_id"),
        ("task_id: x\ntime_limit_sec: soon", "time_limit_sec"),
        ("task_id: x\ntime_limit_sec: 0", "time_limit_sec"),
        ('task_id: x\nnetwork: "no"', "network"),
        ("task_id: x\nparameterized: 1", "parameterized"),
    ],
)
def test_types_of_known_keys_are_checked(task: Path, line: str, place: str) -> None:
    (task / "task.yaml").write_text(line + "\n")
    with pytest.raises(TaskError, match=rf"task\.yaml: {place}: not acceptable|task_id: string"):
        load_task(task)


def test_what_is_not_granted_is_noted(task: Path) -> None:
    (task / "task.yaml").write_text(
        "task_id: x\nnetwork: true\nroles: [executor]\nbudget: 20\nexpertise_tools: [bandit]\n"
    )
    (task / "corpus").mkdir()
    loaded = load_task(task)
    assert loaded.seconds == 900
    assert loaded.network == ()
    assert [note.split(maxsplit=1)[0] for note in loaded.notes] == [
        "network:", "roles", "expertise_tools", "budget", "corpus",
    ]  # fmt: skip


def test_the_three_roles_need_no_note(task: Path) -> None:
    (task / "task.yaml").write_text("task_id: x\nroles: [planner, executor, verifier]\n")
    assert load_task(task).notes == ()


@pytest.fixture
def lacking(task: Path) -> Path:
    """Beside ``task``, one that has no grader."""
    shutil.copytree(task, task.parent / "lacking")
    (task.parent / "lacking" / "task.yaml").write_text("task_id: lacking\n")
    (task.parent / "lacking" / "grade.sh").unlink()
    return task.parent / "lacking"


def test_one_without_a_grader_is_refused_by_name(lacking: Path) -> None:
    for paths in ([lacking], [lacking.parent]):
        with pytest.raises(TaskError, match=r"lacking/grade\.sh: does not exist"):
            load_tasks(paths)
    with pytest.raises(TaskError, match=r"lacking/grade\.sh: does not exist"):
        load_tasks([lacking], [])


def test_among_others_it_is_left_out_where_somebody_is_told(lacking: Path) -> None:
    left_out: list[str] = []
    assert [task.id for task in load_tasks([lacking.parent], left_out)] == ["GH7_example"]
    assert left_out == ["lacking"]


def test_a_directory_of_nothing_else_is_no_directory_of_tasks(lacking: Path, task: Path) -> None:
    shutil.rmtree(task)
    with pytest.raises(InputError, match="1 without a grader"):
        load_tasks([lacking.parent], [])


def test_what_else_is_wrong_is_not_left_out(lacking: Path) -> None:
    (lacking / "task.yaml").write_text("id: lacking\n")
    with pytest.raises(TaskError, match="grader"):
        load_tasks([lacking.parent], [])


def test_both_layouts_side_by_side(task: Path) -> None:
    native = task.parent / "native"
    (native / "grader").mkdir(parents=True)
    (native / "grader" / "check.sh").write_text(PLAIN)
    (native / "task.yaml").write_text("id: native\ngrader: {script: {run: check.sh}}\n")
    (native / "spec.md").write_text("s")
    (native / "brief.md").write_text("b")
    assert [t.origin for t in load_tasks([task.parent])] == ["teambench", "native"]
