"""Repositories below a workspace are out of a verifier's way, and come back as they were."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rolewall.sandbox import (
    BlobStore,
    Manifest,
    ManifestLimits,
    diff,
    drop_repositories,
    nested_aside,
    restore_git,
    restore_nested,
    take,
    verifier_repo,
    with_nested,
)

Run = Callable[[Callable[[Path], None]], None]


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs.git")


@pytest.fixture
def zone(tmp_path: Path) -> Path:
    """Every kind of thing named .git, in directories open and closed."""
    zone = tmp_path / "zone"
    for name in (".git", "a/.git/modules/.git", "b", "c/d", "e/.git", "f/x.git", "f/.github"):
        (zone / name).mkdir(parents=True)
    (zone / "a/.git/config").write_text("[core]\n")
    (zone / "a/code.py").write_text("pass\n")
    (zone / "b/.git").write_text("gitdir: ../a/.git\n")
    (zone / "c/d/.git").symlink_to("/etc")
    os.mkfifo(zone / "c/.git")
    (zone / "e/.git").chmod(0)
    (zone / "c").chmod(0o555)
    for path in (zone / "a", zone / "c/d", zone / "c", zone):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    return zone


NESTED = {"a/.git", "b/.git", "c/.git", "c/d/.git", "e/.git"}


def names(manifest: Manifest) -> set[str]:
    return {entry.name for entry in manifest.entries}


def test_all_are_set_aside_and_nothing_else_changes(
    zone: Path, tmp_path: Path, store: BlobStore
) -> None:
    state = take(zone, store)
    moved = nested_aside(zone, tmp_path / "aside")
    assert {os.fsdecode(path) for path in moved.paths} == NESTED
    during = take(zone, store)
    gone = {d.name for d in diff(state, during) if not d.derived}
    assert gone == NESTED | {"a/.git/config", "a/.git/modules", "a/.git/modules/.git"}
    assert {".git", "f/x.git", "f/.github", "a/code.py"} <= names(during)
    assert with_nested(during, state, moved).digest == state.digest
    restore_nested(zone, moved)
    assert take(zone, store).digest == state.digest
    assert os.listdir(tmp_path / "aside") == []


def test_what_a_role_put_there_meanwhile_does_not_stay(
    zone: Path, tmp_path: Path, store: BlobStore
) -> None:
    state = take(zone, store)
    moved = nested_aside(zone, tmp_path / "aside")
    shutil.rmtree(zone / "b")
    shutil.rmtree(zone / "c/d")
    (zone / "c/d").symlink_to(tmp_path)
    (zone / "a/.git").symlink_to(tmp_path / "victim")
    (zone / "new/.git").mkdir(parents=True)
    during = take(zone, store)
    whole = names(with_nested(during, state, moved))
    assert {"a/.git/config", "e/.git", "new/.git"} <= whole
    assert not whole & {"b/.git", "c/d/.git"}
    restore_nested(zone, moved)
    after = take(zone, store)
    assert names(after) == whole
    assert not os.path.lexists(tmp_path / ".git") and not os.path.lexists(tmp_path / "victim")
    assert sorted(os.listdir(tmp_path / "aside")) == ["1", "3"], "their directories are gone"


def test_a_workspace_without_any_makes_no_directory(tmp_path: Path, store: BlobStore) -> None:
    zone = tmp_path / "plain"
    (zone / ".git").mkdir(parents=True)
    state = take(zone, store)
    moved = nested_aside(zone, tmp_path / "aside")
    assert moved.paths == () and not (tmp_path / "aside").exists()
    restore_nested(zone, moved)
    assert with_nested(state, state, moved) is state


def git_entries(zone: Path) -> set[str]:
    return {
        os.path.relpath(os.path.join(at, name), zone)
        for at, below, files in os.walk(zone)
        for name in (*below, *files)
        if name == ".git"
    }


@pytest.mark.parametrize("first", ["a", "!"])
def test_what_no_manifest_lists_is_set_aside_too(
    tmp_path: Path, store: BlobStore, first: str
) -> None:
    """``!`` comes before ``.git``, so that not even the workspace's own is listed."""
    zone = tmp_path / "zone"
    for name in (".git/mine", "zz/.git/mine", first):
        (zone / name).mkdir(parents=True)
    for number in range(40):
        (zone / first / str(number)).touch()
    limits = ManifestLimits(entries=30)
    whole, state = take(zone, store), take(zone, store, None, limits)
    assert "zz" not in names(state) and (".git" in names(state)) == (first == "a")
    moved = nested_aside(zone, tmp_path / "aside")
    assert moved.paths == (b"zz/.git",) and git_entries(zone) == {".git"}
    assert verifier_repo(zone, state, state, store, tmp_path / "git").dropped
    assert not (zone / ".git/mine").exists()
    theirs = with_nested(take(zone, store).with_git_of(state), state, moved)
    assert theirs.entries[0].note == state.entries[0].note != ""
    restore_git(zone, tmp_path / "git")
    restore_nested(zone, moved)
    assert take(zone, store).digest == whole.digest


def test_closed_directories_keep_nothing_away(as_user: Run) -> None:
    def check(base: Path) -> None:
        zone = base / "zone"
        (zone / "in/ner/.git").mkdir(parents=True)
        closing = (zone / "in/ner", zone / "in", zone)
        for close_first in (True, False):
            for path in closing if close_first else ():
                path.chmod(0)
            moved = nested_aside(zone, base / "aside")
            assert moved.paths == (b"in/ner/.git",)
            for path in () if close_first else closing:
                path.chmod(0)
            restore_nested(zone, moved)
            assert os.listdir(base / "aside") == []
            for path in reversed(closing):
                assert path.stat().st_mode & 0o777 == 0
                path.chmod(0o700)
            assert (zone / "in/ner/.git").is_dir()

    as_user(check)


def test_the_depth_of_a_disk_is_searched(tmp_path: Path) -> None:
    """Deeper than a path may be long, and beyond what is put back."""
    zone = tmp_path / "zone"
    zone.mkdir()
    at = os.open(zone, os.O_RDONLY)
    for _ in range(80):
        os.mkdir("d" * 250, dir_fd=at)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.mkdir(".git", dir_fd=at)
    moved = nested_aside(zone, tmp_path / "aside")
    assert os.listdir(at) == [] and moved.paths == ()
    assert os.listdir(tmp_path / "aside") == ["left-0"]
    restore_nested(zone, moved)
    os.mkdir(".git", dir_fd=at)
    drop_repositories(zone)
    assert os.listdir(at) == []
    os.close(at)


def test_another_zone_keeps_none(zone: Path, store: BlobStore) -> None:
    before = take(zone, store)
    drop_repositories(zone)
    assert git_entries(zone) == set()
    gone = {d.name for d in diff(before, take(zone, store)) if not d.derived}
    assert {".git", *NESTED} <= gone
    assert all(name == ".git" or name.split("/.git")[0] + "/.git" in NESTED for name in gone)
