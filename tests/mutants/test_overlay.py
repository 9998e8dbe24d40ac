"""Laying a solution over a workspace: what it may not reach, and what it may."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from rolewall.errors import TaskError
from rolewall.mutants import Overlay, OverlayFile, lay, read_solution
from rolewall.tasks import load_task

FILE = OverlayFile(b"new\n", executable=True)


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A workspace, and a directory outside with one file."""
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    (outside / "kept").write_text("old\n")
    return work, outside


def test_files_are_laid_and_removed(places: tuple[Path, Path]) -> None:
    work, _ = places
    (work / "gone").write_text("x")
    (work / "kept").write_text("y")
    (work / "below").mkdir()
    lay(Overlay({"below/deep/a.sh": FILE, "b": OverlayFile(b"")}, ("gone", "never")), work)
    assert (work / "below/deep/a.sh").read_bytes() == b"new\n"
    assert stat.S_IMODE((work / "below/deep/a.sh").stat().st_mode) == 0o755
    assert stat.S_IMODE((work / "b").stat().st_mode) == 0o644
    assert not (work / "gone").exists() and (work / "kept").read_text() == "y"


@pytest.mark.parametrize("name", ["kept", "below/kept", "link/kept"])
def test_no_link_is_followed(places: tuple[Path, Path], name: str) -> None:
    work, outside = places
    (work / "kept").symlink_to(outside / "kept")
    (work / "link").symlink_to(outside)
    (work / "below").mkdir()
    (work / "below" / "kept").symlink_to(outside / "kept")
    lay(Overlay({name: FILE}), work)
    assert (work / name).read_bytes() == b"new\n"
    assert (outside / "kept").read_text() == "old\n"
    assert [path.name for path in outside.iterdir()] == ["kept"]


def test_nothing_is_removed_through_a_link(places: tuple[Path, Path]) -> None:
    work, outside = places
    (work / "link").symlink_to(outside)
    (work / "here").mkdir()
    (work / "here" / "kept").write_text("x")
    lay(Overlay({}, ("link/kept", "here/kept")), work)
    assert (outside / "kept").exists()
    assert not (work / "here" / "kept").exists()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("DELETE", "../../outside\n", "not a plain path"),
        ("DELETE", "/etc/passwd\n", "not a plain path"),
        ("DELETE", "a//b\n", "not a plain path"),
        ("DELETE", "a.txt\n", "both removed and laid"),
        ("DELETE", "never.txt\n", "nothing to remove there"),
        (".git/config", "x\n", "no repository"),
        ("sub/.git/config", "x\n", "no repository"),
    ],
)
def test_a_solution_that_reaches_out_is_refused(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    root = tmp_path / "task"
    for folder in ("grader", "solution/.git", "solution/sub/.git", "workspace"):
        (root / folder).mkdir(parents=True)
    (root / "task.yaml").write_text(
        "id: t\ngrader: {command: {run: [python3, /grader/check.py], trust: outside}}\n"
    )
    for file in ("spec.md", "brief.md", "grader/check.py", "solution/a.txt", "workspace/a.txt"):
        (root / file).write_text("x\n")
    sound = read_solution(load_task(root))
    assert sound is not None and sound.paths == ("a.txt",)
    (root / "solution" / name).write_text(text)
    with pytest.raises(TaskError, match=words):
        read_solution(load_task(root))
