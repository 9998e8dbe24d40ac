"""Grading a directory of the caller's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rolewall import InputError, grade_directory
from rolewall.errors import TaskError
from rolewall.sandbox import Backend


@pytest.fixture
def work(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    (made / "value").write_text("42\n")
    return made


def state(root: Path) -> list[tuple[str, int, int]]:
    return [
        (str(path), path.lstat().st_mtime_ns, path.lstat().st_mode)
        for path in sorted([root, *root.rglob("*")])
    ]


def command(script: str) -> dict[str, object]:
    return {"command": {"run": ["sh", "-c", script]}}


def test_a_grader_that_changes_the_work_changes_a_copy(work: Path, backend: Backend) -> None:
    before = state(work)
    script = "grep -q 42 value && echo 0 > value && rm -f value && touch new"
    assert grade_directory(work, command(script), backend=backend).grade == "pass"
    assert state(work) == before


def test_hidden_files_are_at_grader_and_read_only(
    work: Path, backend: Backend, tmp_path: Path
) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "truth").write_text("42\n")
    same = command("cmp -s value /grader/truth || exit 1")
    assert grade_directory(work, same, files=hidden, backend=backend).grade == "pass"
    change = command("cp value /grader/truth || exit 1")
    assert grade_directory(work, change, files=hidden, backend=backend).grade == "fail"


def test_who_broke_the_grader(work: Path, backend: Backend, tmp_path: Path) -> None:
    start = tmp_path / "start"
    start.mkdir()
    breaks = command("test -e value && exit 77; exit 1")
    blamed = grade_directory(work, breaks, start=start, backend=backend)
    assert (blamed.grade, blamed.why[:17]) == ("fail", "broke the grader:")
    assert grade_directory(work, breaks, backend=backend).grade == "error"


@pytest.mark.bubblewrap
def test_nothing_is_left_in_the_temporary_directory(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    hostile = command("mkdir d && touch d/f && chmod 0 d && ln -s /etc/passwd link")
    assert grade_directory(work, hostile, backend="bubblewrap").grade == "pass"
    assert not [name for name in os.listdir(scratch) if name.startswith("rolewall-grade-")]


def test_what_cannot_be_graded_is_refused_before_a_box_is_made(work: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a directory"):
        grade_directory(tmp_path / "absent", command("true"))
    with pytest.raises(InputError, match="hidden tests lie in the work"):
        grade_directory(work, command("true"), files=work)
    with pytest.raises(TaskError, match="not exactly one grader"):
        grade_directory(work, {})
