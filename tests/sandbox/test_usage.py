from __future__ import annotations

import os
from pathlib import Path

import pytest

from rolewall.errors import StorageError
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


def test_the_end_of_a_command_ends_its_watch(zone: Path) -> None:
    watched = watch(zone)
    with pytest.raises(KeyError), watched.watching():
        raise KeyError
    assert not watched.full


def test_a_zone_that_cannot_be_read_is_an_error_at_the_start(zone: Path) -> None:
    with pytest.raises(StorageError):
        watch(zone / "none")
