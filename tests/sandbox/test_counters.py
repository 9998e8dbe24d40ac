"""What is read of control groups, in the layouts of either version."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolewall.sandbox import counters
from rolewall.sandbox.counters import LimitCounters, group_directories

VERSION_1 = "4:memory:/docker/abc\n3:pids:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/other\n"
VERSION_2 = "0::/rolewall/abc\n"


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(counters, "ROOT", tmp_path)
    return tmp_path


def lay(place: Path, **files: str) -> None:
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (place / name.replace("_", ".", 1)).write_text(text)


def version_1(root: Path, *, most: int = 1000) -> None:
    lay(
        root / "memory/docker/abc",
        memory_oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
        memory_max_usage_in_bytes=f"{most}\n",
        memory_limit_in_bytes="1000\n",
    )
    lay(root / "pids/docker/abc", pids_events="max 7\n")
    lay(root / "cpu/docker/abc", cpu_stat="nr_periods 9\nnr_throttled 2\nthrottled_time 5\n")


def version_2(root: Path, *, oom: int = 1) -> None:
    lay(
        root / "rolewall/abc",
        memory_events=f"low 0\nhigh 0\nmax 12\noom {oom}\noom_kill 3\noom_group_kill 0\n",
        pids_events="max 7\n",
        cpu_stat="usage_usec 1\nnr_periods 9\nnr_throttled 2\nthrottled_usec 5\n",
    )


def test_counts_of_either_version(root: Path) -> None:
    counted = {"memory_mb": 3, "pids": 7, "cpus": 2}
    version_1(root)
    version_2(root)
    assert LimitCounters(VERSION_1).read() == counted
    assert LimitCounters(VERSION_2).read() == counted


def test_a_machine_out_of_memory_is_no_limit_of_the_box(root: Path) -> None:
    version_1(root, most=500)
    version_2(root, oom=0)
    for groups in (VERSION_1, VERSION_2):
        assert LimitCounters(groups).read()["memory_mb"] == 0


def test_what_nothing_counts_is_left_out(root: Path) -> None:
    version_2(root)
    (root / "rolewall/abc/pids.events").unlink()
    (root / "rolewall/abc/cpu.stat").write_text("usage_usec 1\n")
    (root / "rolewall/abc/memory.events").write_bytes(b"\xff")
    assert LimitCounters(VERSION_2).read() == {}
    assert LimitCounters("").read() == {}


def test_a_group_that_is_gone_keeps_its_last_counts(root: Path) -> None:
    version_2(root)
    found = LimitCounters(VERSION_2)
    counted = found.read()
    assert not found.gone
    for path in (root / "rolewall/abc").iterdir():
        path.unlink()
    (root / "rolewall/abc").rmdir()
    assert found.gone
    assert found.read() == counted


def test_controllers_that_share_a_directory_are_found(root: Path) -> None:
    assert list(group_directories(VERSION_1, "cpu")) == [root / "cpu/docker/abc", root / "other"]
    assert list(group_directories(VERSION_2, "cpu")) == [root / "rolewall/abc"]
