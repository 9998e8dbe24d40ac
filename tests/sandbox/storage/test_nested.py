"""Repositories below a workspace are out of a verifier's way, and come back as they were."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from rolewall.sandbox import (
    BlobStore,
    Manifest,
    diff,
    nested_aside,
    restore_nested,
    take,
    with_nested,
)


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
    moved = nested_aside(zone, state, tmp_path / "aside")
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
    moved = nested_aside(zone, state, tmp_path / "aside")
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
    moved = nested_aside(zone, state, tmp_path / "aside")
    assert moved.paths == () and not (tmp_path / "aside").exists()
    restore_nested(zone, moved)
    assert with_nested(state, state, moved) is state
