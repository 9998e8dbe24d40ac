"""What lies at a path that somebody calls tasks is told by its content."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.errors import TaskError
from rolewall.tasks import load_tasks

if TYPE_CHECKING:
    from conftest import Cli, Studio

DATA = Path(__file__).with_name("data")


@pytest.fixture
def mixed(studio: Studio) -> Path:
    """A repository with a native task, one of TeamBench's and one of Harbor's in ``tasks``."""
    tasks = studio.task("native").parent
    shutil.copytree(DATA / "harbor-words", tasks / "harbor-words")
    bench = tasks / "GH1_one"
    (bench / "workspace").mkdir(parents=True)
    (bench / "task.yaml").write_text("task_id: GH1_one\n")
    for name in ("spec.md", "brief.md", "grade.sh"):
        (bench / name).write_text("text\n")
    return tasks


@pytest.mark.parametrize("level", ["the tasks", "the repository"])
def test_every_layout_is_found_and_they_may_be_mixed(mixed: Path, level: str) -> None:
    found = load_tasks([mixed if level == "the tasks" else mixed.parent])
    origins = {task.id: task.origin for task in found}
    assert origins == {"native": "native", "GH1_one": "teambench", "harbor-words": "harbor"}


def test_a_task_is_found_by_itself(mixed: Path) -> None:
    for name in ("native", "GH1_one", "harbor-words"):
        assert [task.id for task in load_tasks([mixed / name])] == [name]


def test_what_is_hidden_or_deeper_is_not_looked_for(mixed: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    mixed.rename(outer / ".tasks")
    (outer / "a" / "b").mkdir(parents=True)
    (outer / ".tasks").joinpath("native").rename(outer / "a" / "b" / "native")
    with pytest.raises(TaskError, match="neither a task nor a directory of tasks"):
        load_tasks([outer])


def test_a_wrong_directory_says_what_was_looked_for(cli: Cli, studio: Studio) -> None:
    wrong = studio.path / "wrong"
    wrong.mkdir()
    for name in ("instruction.md", "README.md"):
        (wrong / name).write_text("text\n")
    done = cli("run", studio.team(), "--tasks", wrong)
    assert done.code == 2 and str(wrong) in done.err
    for word in (
        "no task.yaml, task.toml, grade.sh in it or two levels below",
        "it holds README.md, instruction.md",
        "task.yaml with spec.md, brief.md and grader/",
        "Harbor's task.toml with instruction.md and tests/test.sh",
    ):
        assert word in done.err
    (wrong / "instruction.md").unlink()
    (wrong / "README.md").unlink()
    assert "it holds nothing" in cli("run", studio.team(), "--tasks", wrong).err


def test_two_tasks_in_one_directory_are_none(mixed: Path) -> None:
    shutil.copy(mixed / "harbor-words" / "task.toml", mixed / "native" / "task.toml")
    with pytest.raises(TaskError, match=r"two tasks in one directory.*task.yaml and task.toml"):
        load_tasks([mixed / "native"])


def test_terminal_benchs_first_layout_is_named(mixed: Path) -> None:
    (mixed / "native" / "task.yaml").write_text("instruction: |\n  do it\nparser_name: pytest\n")
    with pytest.raises(TaskError, match=r"Terminal-Bench's first layout.*task.toml"):
        load_tasks([mixed])


def test_a_linked_task_of_harbors_is_refused_too(mixed: Path, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "one").symlink_to(mixed / "harbor-words")
    with pytest.raises(TaskError, match="a task's directory is a link"):
        load_tasks([tmp_path / "links"])
