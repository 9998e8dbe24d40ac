from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rolewall.errors import StorageError
from rolewall.sandbox.blobs import BlobStore
from rolewall.sandbox.difference import diff
from rolewall.sandbox.gitrepo import fresh_repo, restore_git, verifier_repo
from rolewall.sandbox.manifest import Manifest, is_git
from rolewall.sandbox.readable import make_readable, restore_modes
from rolewall.sandbox.snapshot import ManifestLimits, take


def git(zone: Path, *arguments: str) -> str:
    """What a role would see of its own repository."""
    env = {"PATH": os.defpath, "HOME": "/nonexistent", "GIT_OPTIONAL_LOCKS": "0"}
    done = subprocess.run(
        ["git", *arguments],
        cwd=zone, env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def populate(zone: Path) -> None:
    (zone / "src").mkdir()
    (zone / "src" / "app.py").write_text("print(1)\n")
    (zone / "src.txt").write_text("sorts between\n")
    (zone / "empty").mkdir()
    (zone / "-n").write_text("dash")
    (zone / "new\nline").write_text("x")
    (zone / "link").symlink_to("src/app.py")
    (zone / "run.sh").write_text("#!/bin/sh\n")
    (zone / "run.sh").chmod(0o755)
    (zone / ("long" * 60)).mkdir()
    (zone / ("long" * 60) / ("name" * 60)).write_text("long path")


def test_a_fresh_repository_has_one_commit_and_nothing_else(zone: Path, store: BlobStore) -> None:
    populate(zone)
    placed = fresh_repo(zone, store)
    assert not placed.dropped and not placed.left_out
    assert git(zone, "status", "--porcelain", "--ignored") == ""
    assert git(zone, "log", "--all", "--format=%H %an <%ae> %s").split(" ", 1) == [
        placed.commits[0],
        "rolewall <rolewall@localhost> start\n",
    ]
    assert git(zone, "branch", "--show-current") == "main\n"
    assert git(zone, "fsck", "--strict", "--lost-found", "--unreachable") == ""
    for nothing in (("reflog", "--all"), ("tag",), ("remote",), ("stash", "list")):
        assert git(zone, *nothing) == ""
    assert os.listdir(zone / ".git" / "hooks") == []
    assert not (zone / ".git" / "objects" / "info" / "alternates").exists()
    assert git(zone, "ls-files", "-z").count("\0") == 7
    count = git(zone, "cat-file", "--batch-all-objects", "--batch-check")
    assert len(count.splitlines()) == 7 + 3 + 1


def test_equal_workspaces_give_equal_commits(zone: Path, tmp_path: Path, store: BlobStore) -> None:
    populate(zone)
    other = tmp_path / "other"
    other.mkdir()
    populate(other)
    assert fresh_repo(zone, store).commits == fresh_repo(other, store).commits


def test_a_role_can_work_with_the_repository(zone: Path, store: BlobStore) -> None:
    populate(zone)
    fresh_repo(zone, store)
    (zone / "src" / "app.py").write_text("print(2)\n")
    assert git(zone, "status", "--porcelain") == " M src/app.py\n"
    git(zone, "commit", "-qam", "work")
    assert git(zone, "status", "--porcelain") == ""
    git(zone, "gc", "-q")
    assert git(zone, "log", "--format=%s") == "work\nstart\n"


@pytest.mark.parametrize("what", ["dir", "file", "link"])
def test_a_repository_of_the_task_is_dropped(
    zone: Path, tmp_path: Path, store: BlobStore, what: str
) -> None:
    populate(zone)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    git(elsewhere, "init", "-q", "-b", "secret")
    if what == "dir":
        (elsewhere / ".git").rename(zone / ".git")
    elif what == "file":
        (zone / ".git").write_text(f"gitdir: {elsewhere}/.git\n")
    else:
        (zone / ".git").symlink_to(elsewhere / ".git")
    assert fresh_repo(zone, store).dropped
    assert git(zone, "branch", "--all", "--format=%(refname)") == "refs/heads/main\n"
    assert what == "dir" or (elsewhere / ".git" / "HEAD").exists()


def test_an_empty_workspace(zone: Path, store: BlobStore) -> None:
    fresh_repo(zone, store)
    assert git(zone, "status", "--porcelain") == ""
    assert git(zone, "log", "--format=%s") == "start\n"


def executor_works(zone: Path) -> None:
    (zone / "src" / "app.py").write_text("print(2)\n")
    (zone / "src.txt").unlink()
    (zone / ".gitignore").write_text("*.log\n")
    (zone / "new.log").write_text("ignored by the executor\n")
    (zone / "crlf").write_bytes(b"a\r\nb\r\n")
    (zone / ".gitattributes").write_text("crlf text eol=lf\n* filter=evil\n")
    git(zone, "commit", "-qam", "mine")


def verified(zone: Path, tmp_path: Path, store: BlobStore) -> tuple[Manifest, Manifest]:
    populate(zone)
    fresh_repo(zone, store)
    start = take(zone, store)
    executor_works(zone)
    executor = take(zone, store, start)
    placed = verifier_repo(zone, start, executor, store, tmp_path / "aside")
    assert placed.dropped
    return start, executor


def test_the_verifier_sees_the_true_difference(
    zone: Path, tmp_path: Path, store: BlobStore
) -> None:
    _, executor = verified(zone, tmp_path, store)
    assert git(zone, "status", "--porcelain") == ""
    assert git(zone, "log", "--all", "--format=%s") == "executor\nstart\n"
    assert git(zone, "diff", "--name-status", "HEAD~1").splitlines() == [
        "A\t.gitattributes",
        "A\t.gitignore",
        "A\tcrlf",
        "A\tnew.log",
        "D\tsrc.txt",
        "M\tsrc/app.py",
    ]
    assert git(zone, "fsck", "--strict", "--unreachable") == ""
    found = diff(executor, take(zone, store))
    assert [d for d in found if d.path and not is_git(d.path)] == []


def test_the_executor_gets_its_own_repository_back(
    zone: Path, tmp_path: Path, store: BlobStore
) -> None:
    _, executor = verified(zone, tmp_path, store)
    restore_git(zone, tmp_path / "aside")
    assert diff(executor, take(zone, store, executor)) == []
    assert git(zone, "log", "--format=%s") == "mine\nstart\n"


def test_a_workspace_without_git_gets_none_back(
    zone: Path, tmp_path: Path, store: BlobStore
) -> None:
    populate(zone)
    only = take(zone, store)
    assert not verifier_repo(zone, only, only, store, tmp_path / "aside").dropped
    restore_git(zone, tmp_path / "aside")
    assert diff(only, take(zone, store)) == []


@pytest.mark.parametrize("target", ["../victim", "victim"])
def test_git_as_a_link_is_moved_and_not_followed(
    zone: Path, tmp_path: Path, store: BlobStore, target: str
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "config").write_text("untouched")
    (zone / ".git").symlink_to(target)
    state = take(zone, store)
    verifier_repo(zone, state, state, store, tmp_path / "aside")
    assert os.readlink(tmp_path / "aside") == target
    assert (zone / ".git").is_dir() and not (zone / ".git").is_symlink()
    restore_git(zone, tmp_path / "aside")
    assert os.readlink(zone / ".git") == target
    assert [p.name for p in victim.iterdir()] == ["config"]
    assert (victim / "config").read_text() == "untouched"


def test_what_was_set_aside_is_never_overwritten(
    zone: Path, tmp_path: Path, store: BlobStore
) -> None:
    verified(zone, tmp_path, store)
    state = take(zone, store)
    with pytest.raises(StorageError):
        verifier_repo(zone, state, state, store, tmp_path / "aside")


def test_a_nested_repository_runs_nothing_anywhere(
    zone: Path, tmp_path: Path, store: BlobStore
) -> None:
    canary = tmp_path / "canary"
    populate(zone)
    fresh_repo(zone, store)
    start = take(zone, store)
    nested = zone / "vendor"
    nested.mkdir()
    (nested / "lib.py").write_text("x = 1\n")
    git(nested, "init", "-q")
    git(nested, "add", ".")
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {canary}\ncat\n")
    hook.chmod(0o755)
    for repository in (nested, zone):
        with (repository / ".git" / "config").open("a") as config:
            config.write(f"[core]\n\tfsmonitor = {hook}\n\thooksPath = {tmp_path}\n")
            config.write(f'[filter "x"]\n\tclean = {hook}\n\tsmudge = {hook}\n\tprocess = {hook}\n')
            config.write(f'[diff "x"]\n\ttextconv = {hook}\n\texternal = {hook}\n')
        (repository / ".gitattributes").write_text("* filter=x diff=x\n")
        (repository / ".git" / "hooks").mkdir(exist_ok=True)
        (repository / ".git" / "hooks" / "post-index-change").symlink_to(hook)
    executor = take(zone, store, start)
    placed = verifier_repo(zone, start, executor, store, tmp_path / "aside")
    assert [(o.name, o.why) for o in placed.left_out] == [("vendor/.git", "nested repository")]
    assert git(zone, "status", "--porcelain") == ""
    assert "vendor/lib.py" in git(zone, "diff", "--stat", "HEAD~1")
    git(zone, "diff", "HEAD")
    git(zone, "add", "--dry-run", ".")
    assert not canary.exists()
    restore_git(zone, tmp_path / "aside")
    assert not canary.exists()
    subprocess.run(["git", "status"], cwd=nested, capture_output=True, timeout=60, check=False)
    assert canary.exists(), "the trap itself must work"


@pytest.mark.parametrize("said", ["* -diff", "*.py diff=x", "* binary", "* -whitespace"])
def test_the_work_cannot_hide_a_change_from_a_diff(
    said: str, zone: Path, tmp_path: Path, store: BlobStore
) -> None:
    populate(zone)
    fresh_repo(zone, store)
    start = take(zone, store)
    (zone / ".gitattributes").write_text(f"{said}\n")
    (zone / "backdoor.py").write_text("x = 1\n")
    verifier_repo(zone, start, take(zone, store, start), store, tmp_path / "aside")
    assert "+x = 1" in git(zone, "diff", "HEAD~1").splitlines()


def test_contents_that_were_not_kept_are_ignored_and_said(
    zone: Path, tmp_path: Path, store: BlobStore
) -> None:
    (zone / "small").write_text("x")
    (zone / "large [1]*").write_text("x" * 100)
    os.mkfifo(zone / "fifo")
    state = take(zone, store, limits=ManifestLimits(file_bytes=10))
    placed = verifier_repo(zone, state, state, store, tmp_path / "aside")
    assert {o.name: o.why for o in placed.left_out} == {
        "large [1]*": "not kept: size",
        "fifo": "fifo",
    }
    assert git(zone, "status", "--porcelain") == ""
    assert git(zone, "ls-files") == "small\n"


def test_files_from_the_future_and_the_past_stay_clean(
    zone: Path, tmp_path: Path, store: BlobStore
) -> None:
    (zone / ".gitattributes").write_text("* text eol=lf\n")
    for name, seconds in (("future", 4_000_000_000), ("past", -5), ("now", 1_600_000_000)):
        (zone / name).write_bytes(b"a\r\n")
        os.utime(zone / name, (seconds, seconds))
    fresh_repo(zone, store)
    assert git(zone, "status", "--porcelain") == ""


def test_unreadable_files_are_opened_and_closed_again(zone: Path, store: BlobStore) -> None:
    (zone / "d").mkdir()
    (zone / "d" / "f").write_text("x")
    (zone / "d" / "f").chmod(0o200)
    (zone / "d").chmod(0)
    (zone / "out").symlink_to("/etc/shadow")
    before = take(zone, store)
    changed = make_readable(zone)
    assert [(c.name, c.old, c.new) for c in changed] == [("d", 0, 0o500), ("d/f", 0o200, 0o600)]
    assert restore_modes(zone, changed) == []
    assert diff(before, take(zone, store)) == []


def test_a_mode_that_a_role_changed_is_left_alone(zone: Path) -> None:
    for name in ("f", "gone", "swapped"):
        (zone / name).write_text("x")
        (zone / name).chmod(0)
    changed = make_readable(zone)
    (zone / "f").chmod(0o640)
    (zone / "gone").unlink()
    (zone / "swapped").unlink()
    (zone / "swapped").symlink_to("/etc/passwd")
    mode = os.stat("/etc/passwd").st_mode
    assert {c.name for c in restore_modes(zone, changed)} == {"f", "gone", "swapped"}
    assert (zone / "f").stat().st_mode & 0o777 == 0o640
    assert os.stat("/etc/passwd").st_mode == mode
