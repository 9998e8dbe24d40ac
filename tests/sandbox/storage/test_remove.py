from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rolewall.errors import StorageError
from rolewall.sandbox.remove import empty_directory, remove_tree
from rolewall.sandbox.snapshot import take


def hostile(zone: Path, victim: Path) -> None:
    (zone / "a" / "b").mkdir(parents=True)
    (zone / "a" / "b" / "f").touch()
    (zone / "link").symlink_to(victim)
    (zone / "a" / "b" / "link").symlink_to(victim)
    os.mkfifo(zone / "fifo")
    (zone / "a" / "b").chmod(0)
    (zone / "a").chmod(0o100)


@pytest.mark.pain(16)
def test_everything_goes_and_nothing_beyond(
    tmp_path: Path, deep: Callable[[Path, int], bytes]
) -> None:
    zone, victim = tmp_path / "zone", tmp_path / "victim"
    zone.mkdir()
    victim.mkdir()
    (victim / "f").touch()
    hostile(zone, victim)
    deep(zone, 6000)
    empty_directory(zone)
    assert list(zone.iterdir()) == []
    hostile(zone, victim)
    remove_tree(zone)
    assert not zone.exists()
    assert (victim / "f").exists()


def test_an_ordinary_user_removes_what_is_its_own(
    as_user: Callable[[Callable[[Path], None]], None], deep: Callable[[Path, int], bytes]
) -> None:
    def check(base: Path) -> None:
        (base / "zone").mkdir()
        (base / "victim").mkdir()
        hostile(base / "zone", base / "victim")
        deep(base / "zone", 6000)
        remove_tree(base / "zone")
        assert os.listdir(base) == ["victim"]

    as_user(check)


def test_a_chain_longer_than_the_descriptor_limit(
    as_user: Callable[[Callable[[Path], None]], None], deep: Callable[[Path, int], bytes]
) -> None:
    def check(base: Path) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, limits[1]))
        deep(base, 15_000)
        assert len(take(base).entries) == 502
        empty_directory(base)
        assert os.listdir(base) == []

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        as_user(check)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_link_goes_and_its_target_stays(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to("target")
    remove_tree(tmp_path / "link")
    assert os.listdir(tmp_path) == ["target"]


def test_nothing_there_is_no_error(tmp_path: Path) -> None:
    remove_tree(tmp_path / "none")
    remove_tree(tmp_path / "none" / "below")


@pytest.mark.root
def test_immutable_and_append_only_entries(tmp_path: Path) -> None:
    zone = tmp_path / "zone"
    (zone / "d").mkdir(parents=True)
    (zone / "d" / "f").touch()
    (zone / "log").touch()
    for flag, name in (("+i", "d/f"), ("+i", "d"), ("+a", "log")):
        done = subprocess.run(["chattr", flag, zone / name], check=False, timeout=30)
        if done.returncode:
            pytest.skip("this file system has no flags")
    remove_tree(zone)
    assert not zone.exists()


@pytest.mark.root
def test_a_mount_is_not_crossed(tmp_path: Path) -> None:
    """In a mount namespace of its own, left behind with the child."""
    zone, victim = tmp_path / "zone", tmp_path / "victim"
    (zone / "d").mkdir(parents=True)
    victim.mkdir()
    (victim / "f").touch()
    script = f"""
import sys
from pathlib import Path
sys.path[:0] = {[p for p in sys.path if p]!r}
from rolewall.errors import StorageError
from rolewall.sandbox.remove import remove_tree
from rolewall.sandbox.snapshot import take
for action in (remove_tree, take):
    try:
        action(Path({os.fspath(zone)!r}))
    except StorageError as error:
        assert "mount" in str(error), error
    else:
        raise SystemExit("crossed")
"""
    mount = f'mount --bind {victim} {zone / "d"} && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount, "sh", sys.executable, "-c", script],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (victim / "f").exists()


def test_what_may_not_be_removed_is_a_storage_error(
    as_user: Callable[[Callable[[Path], None]], None],
) -> None:
    def check(base: Path) -> None:
        (base / "shut" / "d").mkdir(parents=True)
        (base / "shut").chmod(0o500)
        with pytest.raises(StorageError, match="shut"):
            remove_tree(base / "shut" / "d")

    as_user(check)
