from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from rolewall.errors import InputError, TaskError
from rolewall.graders import CommandSpec, PytestSpec
from rolewall.policies import HostPort
from rolewall.tasks import load_task, load_tasks, stage_grader

GRADER = "grader: {pytest: {tests: [test_hidden.py]}}\n"


def make(directory: Path, text: str = "") -> Path:
    for name in ("workspace/tests", "grader", "solution"):
        (directory / name).mkdir(parents=True)
    (directory / "task.yaml").write_text(text or f"id: {directory.name}\n{GRADER}")
    (directory / "spec.md").write_text("all of it\n")
    (directory / "brief.md").write_text("some of it\n")
    (directory / "workspace" / "app.py").write_text("x = 1\n")
    (directory / "grader" / "test_hidden.py").write_text("def test(): pass\n")
    (directory / "solution" / "app.py").write_text("x = 2\n")
    return directory


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return make(tmp_path / "fix-parser")


def test_a_task(task: Path) -> None:
    loaded = load_task(task)
    assert (loaded.id, loaded.origin, loaded.seconds) == ("fix-parser", "native", 300)
    assert (loaded.spec, loaded.brief) == ("all of it\n", "some of it\n")
    assert loaded.workspace == task / "workspace"
    assert loaded.solution == task / "solution"
    assert loaded.network == ()
    assert loaded.image is None
    assert isinstance(loaded.grader, PytestSpec)
    assert loaded.grader.tests == ("test_hidden.py",)
    assert not loaded.grader.allow_conftest


def test_every_key(tmp_path: Path) -> None:
    text = (
        "id: t.1\nseconds: 12.5\nimage: python:3.12-slim\nnetwork: {allow: [models.internal:443]}\n"
        "grader: {command: {run: [python3, /grader/test_hidden.py], tools: [python3]}}\n"
    )
    loaded = load_task(make(tmp_path / "t", text))
    assert (loaded.id, loaded.seconds, loaded.image) == ("t.1", 12.5, "python:3.12-slim")
    assert loaded.network == (HostPort("models.internal", 443),)
    assert isinstance(loaded.grader, CommandSpec)


def test_workspace_and_solution_are_optional(task: Path) -> None:
    shutil.rmtree(task / "workspace")
    shutil.rmtree(task / "solution")
    loaded = load_task(task)
    assert loaded.workspace is None
    assert loaded.solution is None


REFUSED = {
    "unknown key": (f"id: t\ntimeout: 3\n{GRADER}", "timeout: unknown key; got 'timeout'; exp"),
    "no id": (GRADER, "id: missing"),
    "climbing id": (f"id: ../x\n{GRADER}", "id: "),
    "hidden id": (f"id: .x\n{GRADER}", "id: "),
    "long id": (f"id: {'a' * 65}\n{GRADER}", "id: "),
    "id with a newline": (f'id: "a\\n"\n{GRADER}', "id: "),
    "number as id": (f"id: 7\n{GRADER}", "id: not acceptable; got 7"),
    "two ids": (f"id: a\ntask_id: b\n{GRADER}", "both id and task_id"),
    "no grader": ("id: t\n", "grader: missing"),
    "unknown grader": ("id: t\ngrader: {llm: {}}\n", "one of command, pytest, script"),
    "no such test": ("id: t\ngrader: {pytest: {tests: [x.py]}}\n", "no such file in grader/"),
    "no such script": ("id: t\ngrader: {script: {run: grade.sh}}\n", "one of: test_hidden.py"),
    "no such program": (
        "id: t\ngrader: {command: {run: [python3, /grader/x.py]}}\n",
        "no such file in grader/; got 'x.py'",
    ),
    "climbing test": ("id: t\ngrader: {pytest: {tests: [../a.py]}}\n", "not a plain path"),
    "no time": (f"id: t\nseconds: 0\n{GRADER}", "seconds: not acceptable; got 0"),
    "network word": (f"id: t\nnetwork: true\n{GRADER}", "network: "),
    "wildcard": (f'id: t\nnetwork: {{allow: ["*:1"]}}\n{GRADER}', "network.allow[0]: wildcards"),
    "duplicate": (f"id: t\nid: u\n{GRADER}", "task.yaml:2: not acceptable YAML: duplicate key"),
    "junk": ("\x00\x01\x02", "task.yaml:1: not text"),
    "empty": ("\n", "not a mapping; got 'nothing'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(tmp_path: Path, case: str) -> None:
    text, message = REFUSED[case]
    directory = make(tmp_path / "t", text)
    with pytest.raises(TaskError) as caught:
        load_task(directory)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(directory / "task.yaml"))
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", ["spec.md", "brief.md", "grader"])
def test_what_must_be_there(task: Path, name: str) -> None:
    os.rename(task / name, task.parent / "gone")
    with pytest.raises(TaskError, match=f"{name}: does not exist"):
        load_task(task)


@pytest.mark.parametrize("name", ["spec.md", "brief.md"])
def test_text_that_is_none(task: Path, name: str) -> None:
    (task / name).write_bytes(b"line\n\xff\n")
    with pytest.raises(TaskError, match=f"{name}:2: not text"):
        load_task(task)
    (task / name).write_text(" \n")
    with pytest.raises(TaskError, match=f"{name}: the file is empty"):
        load_task(task)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("spec.md", "/etc/passwd"),
        ("spec.md", "brief.md"),
        ("brief.md", "spec.md"),
        ("task.yaml", "spec.md"),
        ("grader", "/"),
        ("grader/test_hidden.py", "/etc/passwd"),
        ("grader/deep/link", "../test_hidden.py"),
        ("workspace", "/etc"),
        ("workspace", "grader"),
        ("solution", "/"),
        ("solution/app.py", "../spec.md"),
        ("notes", "spec.md"),
        ("dangling", "nowhere"),
    ],
)
def test_links_are_refused_by_name(task: Path, name: str, target: str) -> None:
    load_task(task)
    path = task / name
    path.parent.mkdir(exist_ok=True)
    if path.exists():
        os.rename(path, task.parent / "gone")
    path.symlink_to(target)
    with pytest.raises(TaskError) as caught:
        load_task(task)
    assert name in str(caught.value)
    assert "link" in str(caught.value)
    assert "root:" not in str(caught.value)


def test_links_inside_a_workspace_are_kept_and_digested(task: Path) -> None:
    before = load_task(task).digest
    (task / "workspace" / "link").symlink_to("/etc/passwd")
    with_link = load_task(task).digest
    assert with_link != before
    (task / "workspace" / "link").unlink()
    (task / "workspace" / "link").symlink_to("/etc/hosts")
    assert load_task(task).digest not in (before, with_link)


@pytest.mark.parametrize("folder", ["grader", "workspace", "solution", "."])
def test_special_files_are_refused_by_name(task: Path, folder: str) -> None:
    os.mkfifo(task / folder / "pipe")
    with pytest.raises(TaskError, match=r"pipe: a FIFO in a task"):
        load_task(task)


@pytest.mark.parametrize(
    "name", ["task.yaml", "spec.md", "workspace/app.py", "grader/test_hidden.py"]
)
def test_the_digest_covers_every_file(task: Path, name: str) -> None:
    before = load_task(task).digest
    with open(task / name, "a") as file:
        file.write("# more\n")
    assert load_task(task).digest != before


def test_the_digest_covers_modes_and_directories_and_not_caches(task: Path) -> None:
    before = load_task(task).digest
    (task / "grader" / "__pycache__").mkdir()
    (task / "grader" / "__pycache__" / "x.pyc").touch()
    assert load_task(task).digest == before
    (task / "workspace" / "app.py").chmod(0o755)
    executable = load_task(task).digest
    assert executable != before
    (task / "workspace" / "empty").mkdir()
    assert load_task(task).digest not in (before, executable)
    moved = task.parent / "moved"
    shutil.copytree(task, moved)
    assert load_task(moved).digest == load_task(task).digest


def test_staging_the_grader(task: Path, tmp_path: Path) -> None:
    (task / "grader" / "data").mkdir()
    (task / "grader" / "data" / "run.sh").write_text("true\n")
    (task / "grader" / "data" / "run.sh").chmod(0o755)
    loaded = load_task(task)
    stage_grader(loaded, tmp_path / "staged")
    staged = tmp_path / "staged"
    assert (staged / "test_hidden.py").read_text() == "def test(): pass\n"
    assert os.access(staged / "data" / "run.sh", os.X_OK)
    assert sorted(p.name for p in staged.rglob("*") if p.is_file()) == ["run.sh", "test_hidden.py"]


@pytest.mark.pain(9)
@pytest.mark.parametrize("how", ["changed", "link", "gone"])
def test_staging_refuses_what_changed_since(task: Path, tmp_path: Path, how: str) -> None:
    loaded = load_task(task)
    path = task / "grader" / "test_hidden.py"
    path.unlink()
    if how == "changed":
        path.write_text("def test(): assert True\n")
    elif how == "link":
        path.symlink_to("/etc/passwd")
    with pytest.raises(TaskError, match=r"test_hidden\.py"):
        stage_grader(loaded, tmp_path / "staged")


def test_discovery(tmp_path: Path) -> None:
    for name in ("b", "a"):
        make(tmp_path / "tasks" / name)
    (tmp_path / "tasks" / "notes").mkdir()
    (tmp_path / "tasks" / "README.md").touch()
    make(tmp_path / "c")
    found = load_tasks([tmp_path / "tasks", tmp_path / "c", tmp_path / "tasks" / "a"])
    assert [t.id for t in found] == ["a", "b", "c"]
    (tmp_path / "way").symlink_to("tasks")
    assert [t.id for t in load_tasks([tmp_path / "way"])] == ["a", "b"]


def test_duplicate_ids(tmp_path: Path) -> None:
    make(tmp_path / "tasks" / "a", f"id: same\n{GRADER}")
    make(tmp_path / "tasks" / "b", f"id: same\n{GRADER}")
    with pytest.raises(TaskError, match="two tasks have the id same"):
        load_tasks([tmp_path / "tasks"])


def test_a_linked_task_in_a_directory_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "tasks" / "a")
    make(tmp_path / "other")
    (tmp_path / "tasks" / "b").symlink_to(tmp_path / "other")
    with pytest.raises(TaskError, match=r"/b: a task's directory is a link"):
        load_tasks([tmp_path / "tasks"])


def test_nothing_found(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no tasks were named"):
        load_tasks([])
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path):
        with pytest.raises(InputError, match=r"no task\.yaml.*expected task\.yaml with spec\.md"):
            load_tasks([path])
    with pytest.raises(InputError, match="does-not-exist: cannot be read: No such file"):
        load_tasks([tmp_path / "does-not-exist"])
    (tmp_path / "task.toml").touch()
    with pytest.raises(InputError, match=r"instruction\.md: does not exist"):
        load_tasks([tmp_path])
    with pytest.raises(InputError, match="a directory"):
        load_tasks([tmp_path / "task.toml"])


def test_one_bad_task_stops_the_directory_and_says_the_way_out(tmp_path: Path) -> None:
    make(tmp_path / "tasks" / "a")
    make(tmp_path / "tasks" / "b", "id: b\n")
    with pytest.raises(TaskError, match=r"grader: missing.*named one by one"):
        load_tasks([tmp_path / "tasks"])
