from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rolewall.errors import StorageError
from rolewall.sandbox import usage
from rolewall.sandbox.protocol import ZoneMount
from rolewall.sandbox.usage import DiskWatch

MEBIBYTE = 1024 * 1024


def watch(*sources: Path, disk_mb: int = 2, writable: bool = True) -> DiskWatch:
    return DiskWatch([ZoneMount(p.name, p, writable) for p in sources], disk_mb)


@pytest.fixture
def zone(tmp_path: Path) -> Path:
    path = tmp_path / "zone"
    path.mkdir()
    return path


def full_after(watched: DiskWatch, path: Path, size: int) -> bool:
    with watched.watching():
        path.write_bytes(bytes(size))
    return watched.full


def test_growth_counts_and_not_what_was_there(zone: Path) -> None:
    (zone / "old").write_bytes(bytes(5 * MEBIBYTE))
    watched = watch(zone)
    assert not full_after(watched, zone / "a", MEBIBYTE)
    assert full_after(watched, zone / "b", 2 * MEBIBYTE)
    (zone / "old").unlink()
    assert not full_after(watched, zone / "c", MEBIBYTE)


def test_all_writable_zones_count_together_and_others_not(tmp_path: Path) -> None:
    zones = [tmp_path / name for name in ("one", "two")]
    for each in zones:
        each.mkdir()
    both, first = watch(*zones), watch(zones[0])
    reading = watch(zones[0], writable=False)
    (zones[0] / "a").write_bytes(bytes(MEBIBYTE * 3 // 2))
    assert full_after(both, zones[1] / "a", MEBIBYTE)
    assert not full_after(first, zones[1] / "a", MEBIBYTE)
    assert not full_after(reading, zones[0] / "b", 9 * MEBIBYTE)


def test_holes_and_further_names_take_no_room(zone: Path) -> None:
    watched = watch(zone)
    with watched.watching():
        with open(zone / "sparse", "wb") as sparse:
            sparse.truncate(1 << 40)
        (zone / "file").write_bytes(bytes(MEBIBYTE))
        for n in range(5):
            os.link(zone / "file", zone / f"name{n}")
    assert not watched.full
    assert full_after(watched, zone / "more", MEBIBYTE * 3 // 2)


def test_links_are_not_followed_and_depth_is_no_hiding_place(zone: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "large").write_bytes(bytes(9 * MEBIBYTE))
    watched = watch(zone)
    with watched.watching():
        (zone / "link").symlink_to(outside)
        (zone / "file").symlink_to(outside / "large")
    assert not watched.full
    here = zone
    for _ in range(100):
        here /= "d"
    here.mkdir(parents=True)
    assert full_after(watched, here / "f", 3 * MEBIBYTE)


def test_a_command_that_runs_is_seen_to_fill_the_zone(zone: Path) -> None:
    watched = watch(zone)
    with watched.watching():
        (zone / "a").write_bytes(bytes(3 * MEBIBYTE))
        assert watched._full.wait(30)
    assert watched.full


def test_what_the_file_system_has_left_tells_when_to_measure(
    zone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "PAUSE_SECONDS", 3600.0)
    watched = watch(zone)
    with watched.watching():
        for n in range(500):
            (zone / str(n)).write_bytes(bytes(MEBIBYTE))
            if watched._full.wait(0.01):
                break
        assert watched._full.is_set()


def test_entries_take_room_though_they_hold_nothing(zone: Path) -> None:
    watched = watch(zone)
    for count, full in ((3500, False), (1000, True)):
        with watched.watching():
            for n in range(count):
                (zone / f"{count}-{n}").touch()
        assert watched.full is full


def hold(zone: Path, way: str) -> subprocess.Popen[bytes]:
    """A process, and one below it that holds a deleted file of 3 MiB in the zone."""
    keep = {
        "open": "pass",
        "mapped": "m = mmap.mmap(f.fileno(), 1 << 20); f.close()",
        "private": "m = mmap.mmap(f.fileno(), 1 << 20, flags=mmap.MAP_PRIVATE); f.close()",
    }
    program = (
        "import mmap, os, sys, time\n"
        "if os.fork(): os.wait()\n"
        "f = open(sys.argv[1], 'w+b'); f.write(bytes(3 << 20)); f.flush(); os.unlink(sys.argv[1])\n"
        f"{keep[way]}\nprint('ready', flush=True); time.sleep(60)\n"
    )
    argv = [sys.executable, "-c", program, str(zone / "gone")]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout and process.stdout.readline() == b"ready\n"
    return process


@pytest.mark.root
@pytest.mark.parametrize("way", ["open", "mapped", "private"])
def test_a_deleted_file_counts_while_a_process_holds_it(zone: Path, way: str) -> None:
    process = hold(zone, way)
    try:
        assert list(zone.iterdir()) == []
        unaware = watch(zone)
        aware = DiskWatch([ZoneMount("zone", zone, writable=True)], 2, process.pid)
        for watched in (unaware, aware):
            with watched.watching():
                pass
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)
    assert (unaware.full, aware.full) == (False, True)
    with aware.watching():
        pass
    assert not aware.full


def test_the_end_of_a_command_ends_its_watch(zone: Path) -> None:
    watched = watch(zone)
    with pytest.raises(KeyError), watched.watching():
        raise KeyError
    assert not watched.full


def test_a_directory_that_is_moved_ahead_of_the_walk_counts_once(zone: Path) -> None:
    (zone / "a").mkdir()
    (zone / "z").mkdir()
    for n in range(10):
        (zone / "a" / str(n)).write_bytes(bytes(4096))
    still = sum(usage._sizes([zone]))
    sizes = usage._sizes([zone])
    found = sum(itertools.islice(sizes, 12))  # the zone, a, and what a holds
    (zone / "a").rename(zone / "z" / "a")
    assert found + sum(sizes) == still


@pytest.mark.parametrize("short", [False, True])
def test_a_last_walk_without_end_is_broken_off_and_the_file_system_asked(
    zone: Path, monkeypatch: pytest.MonkeyPatch, short: bool
) -> None:
    monkeypatch.setattr(usage, "LAST_SECONDS", 0.2)
    watched = watch(zone, disk_mb=1 << 30)
    if short:
        watched._had = 1 << 62  # so much is gone from it since
    monkeypatch.setattr(usage, "_sizes", lambda *_: itertools.repeat(0))
    with watched.watching():
        pass
    assert watched.full is short


def test_a_zone_that_cannot_be_measured_in_the_end_counts_as_full(zone: Path) -> None:
    watched = watch(zone)
    with watched.watching():
        zone.rmdir()
    assert watched.full


@pytest.mark.parametrize("descriptors", [0, 64])
def test_the_harness_out_of_descriptors_is_nobody_elses_fault(zone: Path, descriptors: int) -> None:
    program = (
        "import os, resource, sys\nfrom pathlib import Path\n"
        "from rolewall.errors import BoxError\n"
        "from rolewall.sandbox.protocol import ZoneMount\n"
        "from rolewall.sandbox.usage import DiskWatch\n"
        "watched = DiskWatch([ZoneMount('zone', Path(sys.argv[1]), True)], 2)\n"
        "free, most = os.dup(0), resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "try:\n"
        "    with watched.watching():\n"
        "        resource.setrlimit(resource.RLIMIT_NOFILE, (free + int(sys.argv[2]), most[1]))\n"
        "except BoxError as error: print(error.message)\n"
        "print(watched.full)\n"
    )
    argv = [sys.executable, "-c", program, str(zone), str(descriptors)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    refused = "" if descriptors else "shared zones cannot be measured: too many open files\n"
    assert done.stdout == refused + "False\n"


def test_a_zone_that_cannot_be_read_is_an_error_at_the_start(zone: Path) -> None:
    with pytest.raises(StorageError):
        watch(zone / "none")
