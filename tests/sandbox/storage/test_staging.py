from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rolewall.errors import InputError, StorageError
from rolewall.sandbox.blobs import BlobStore
from rolewall.sandbox.manifest import Manifest
from rolewall.sandbox.snapshot import ManifestLimits, take
from rolewall.sandbox.staging import copy_tree, export


@pytest.fixture
def dest(tmp_path: Path) -> Path:
    path = tmp_path / "dest"
    path.mkdir()
    return path


def populate(zone: Path) -> None:
    (zone / "d").mkdir()
    (zone / "d" / "f").write_text("x")
    (zone / "d" / "run").write_text("x")
    (zone / "d" / "run").chmod(0o4711)
    (zone / "d").chmod(0o700)
    os.link(zone / "d" / "f", zone / "again")
    (zone / "out").symlink_to("/etc/passwd")
    (zone / "dangling").symlink_to("nowhere")
    (zone / "\udcff\n").write_text("odd name")
    (zone / "empty").touch()
    os.utime(zone / "d" / "f", ns=(5, 1_234_567_891))


def test_a_start_state_is_copied_with_plain_modes(zone: Path, dest: Path) -> None:
    populate(zone)
    assert copy_tree(zone, dest) == []
    assert (dest / "d" / "f").stat().st_mtime_ns == 1_234_567_891
    modes = {p.name: stat.S_IMODE(p.lstat().st_mode) for p in dest.rglob("*") if p.name != "out"}
    assert (modes["d"], modes["f"], modes["run"]) == (0o755, 0o644, 0o755)
    assert os.readlink(dest / "out") == "/etc/passwd"
    assert os.readlink(dest / "dangling") == "nowhere"
    assert (dest / "\udcff\n").read_text() == "odd name"
    inodes = {p.lstat().st_ino for p in zone.rglob("*")}
    assert not inodes & {p.lstat().st_ino for p in dest.rglob("*")}
    assert (dest / "again").stat().st_nlink == 1


def test_a_repository_in_the_source_is_left_out_and_said(zone: Path, dest: Path) -> None:
    (zone / ".git").mkdir()
    (zone / ".git" / "secret").write_text("the fix")
    (zone / "f").write_text("x")
    assert [o.name for o in copy_tree(zone, dest)] == [".git"]
    assert os.listdir(dest) == ["f"]


@pytest.mark.parametrize("what", ["fifo", "socket", "char"])
def test_special_files_are_refused_by_name(zone: Path, dest: Path, what: str) -> None:
    (zone / "d").mkdir()
    path = zone / "d" / "special"
    if what == "fifo":
        os.mkfifo(path)
    elif what == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.fspath(path))
    elif os.geteuid() == 0:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    else:
        pytest.skip("only root makes devices")
    with pytest.raises(InputError) as caught:
        copy_tree(zone, dest)
    assert "d/special" in str(caught.value) and what in str(caught.value)


def test_an_unreadable_source_is_named(as_user: Callable[[Callable[[Path], None]], None]) -> None:
    def check(base: Path) -> None:
        for number, make in enumerate((lambda p: p.touch(), lambda p: p.mkdir())):
            source, dest = base / f"s{number}", base / f"d{number}"
            source.mkdir()
            dest.mkdir()
            make(source / "shut")
            (source / "shut").chmod(0)
            with pytest.raises(InputError, match="shut"):
                copy_tree(source, dest)

    as_user(check)


def test_holes_stay_holes(zone: Path, dest: Path) -> None:
    with open(zone / "sparse", "wb") as file:
        file.truncate(3 * 1024**3)
        file.seek(1024**3)
        file.write(b"data")
    copy_tree(zone, dest)
    status = (dest / "sparse").stat()
    assert status.st_size == 3 * 1024**3 and status.st_blocks < 10_000
    assert take(zone).by_path[b"sparse"].digest == take(dest).by_path[b"sparse"].digest


def test_an_export_is_exact(zone: Path, dest: Path, store: BlobStore) -> None:
    populate(zone)
    (zone / "d" / "run").chmod(0o511)
    manifest = take(zone, store)
    assert export(manifest, store, dest) == []
    copied = take(dest)
    assert copied.content_digest == manifest.content_digest
    times = {e.path: e.mtime_ns for e in manifest.entries}
    assert {e.path: e.mtime_ns for e in copied.entries} == times
    assert (dest / "again").samefile(dest / "d" / "f")
    assert not (dest / "again").samefile(zone / "again")


def blocks(top: Path) -> int:
    """Blocks of 512 bytes that a tree takes, each file once."""
    found = {s.st_ino: s.st_blocks for s in map(Path.lstat, top.rglob("*"))}
    return sum(found.values())


def test_a_copy_takes_no_more_room_than_its_zone(zone: Path, dest: Path, store: BlobStore) -> None:
    size = 24 * 1024 * 1024
    with open(zone / "many", "wb") as file:
        file.truncate(size)
    with open(zone / "some", "wb") as file:
        for offset, data in ((0, b"a"), (4095, b"bb"), (1 << 20, b"c" * 9000), (size - 1, b"\0")):
            file.seek(offset)
            file.write(data)
    (zone / "real").write_bytes(os.urandom(1 << 20))
    for number in range(100):
        os.link(zone / "many", zone / f"many{number}")
        os.link(zone / "real", zone / f"real{number}")
    manifest = take(zone, store)
    assert export(manifest, store, dest) == []
    assert take(dest).content_digest == manifest.content_digest
    assert (dest / "some").read_bytes() == (zone / "some").read_bytes()
    assert {(dest / f"{kind}9").stat().st_nlink for kind in ("many", "real")} == {101}
    assert blocks(dest) <= blocks(zone)


def test_hard_links_are_kept_where_that_is_asked_for(zone: Path, dest: Path) -> None:
    (zone / "d").mkdir()
    (zone / "d" / "f").write_bytes(os.urandom(1 << 20))
    (zone / "d" / "f").chmod(0o700)
    for number in range(50):
        os.link(zone / "d" / "f", zone / f"{number}")
    assert copy_tree(zone, dest, hard_links=True) == []
    assert blocks(dest) <= blocks(zone)
    for name in ("0", "49", "d/f"):
        assert (dest / name).samefile(dest / "0") and not (dest / name).samefile(zone / "0")
    assert (dest / "49").read_bytes() == (zone / "49").read_bytes()


def test_zeros_that_were_written_out_are_holes_in_the_copy(
    zone: Path, dest: Path, store: BlobStore
) -> None:
    data = bytes(5_000_000) + b"x" * 10_001 + bytes(3_000_001)
    (zone / "f").write_bytes(data)
    (zone / "zero").write_bytes(bytes(777))
    export(take(zone, store), store, dest)
    assert (dest / "f").read_bytes() == data and (dest / "zero").read_bytes() == bytes(777)
    assert blocks(dest) <= 64


def test_a_further_name_does_not_need_the_first(zone: Path, dest: Path, store: BlobStore) -> None:
    (zone / ".git").mkdir()
    (zone / ".git" / "first").write_text("x")
    for name in ("a", "b"):
        os.link(zone / ".git" / "first", zone / name)
    export(take(zone, store), store, dest)
    assert sorted(os.listdir(dest)) == ["a", "b"] and (dest / "a").samefile(dest / "b")
    assert (dest / "b").read_text() == "x"


def test_names_seen_in_two_states_stay_two_files(zone: Path, dest: Path, store: BlobStore) -> None:
    (zone / "a").write_text("x")
    os.link(zone / "a", zone / "b")
    entries = take(zone, store).entries
    entries = tuple(replace(e, mode=0o600) if e.path == b"b" else e for e in entries)
    export(Manifest(entries), store, dest)
    assert not (dest / "a").samefile(dest / "b")
    assert stat.S_IMODE((dest / "b").stat().st_mode) == 0o600


def test_an_export_says_what_it_leaves_out(zone: Path, dest: Path, store: BlobStore) -> None:
    os.mkfifo(zone / "fifo")
    (zone / "large").write_text("x" * 100)
    (zone / "suid").write_text("x")
    (zone / "suid").chmod(0o6755)
    (zone / ".git").mkdir()
    (zone / ".git" / "config").write_text("x")
    manifest = take(zone, store, limits=ManifestLimits(file_bytes=50))
    left = {o.name: o.why for o in export(manifest, store, dest)}
    assert left == {"fifo": "fifo", "large": "not kept: size", "suid": "set-id bits"}
    assert sorted(os.listdir(dest)) == ["suid"]
    assert stat.S_IMODE((dest / "suid").stat().st_mode) == 0o755


def test_an_export_with_git(zone: Path, dest: Path, store: BlobStore) -> None:
    (zone / ".git").mkdir()
    (zone / ".git" / "config").write_text("x")
    export(take(zone, store), store, dest, git=True)
    assert (dest / ".git" / "config").read_text() == "x"


def test_an_export_of_closed_directories(zone: Path, dest: Path, store: BlobStore) -> None:
    (zone / "d" / "e").mkdir(parents=True)
    (zone / "d" / "e" / "f").write_text("x")
    (zone / "d" / "e").chmod(0)
    (zone / "d").chmod(0o500)
    manifest = take(zone, store)
    (zone / "d" / "e").chmod(0o700)
    export(manifest, store, dest)
    assert stat.S_IMODE((dest / "d" / "e").stat().st_mode) == 0


def test_deep_paths_are_exported(
    zone: Path, dest: Path, store: BlobStore, deep: Callable[[Path, int], bytes]
) -> None:
    path = deep(zone, 6000)
    manifest = take(zone, store)
    export(manifest, store, dest)
    assert take(dest).by_path[path].digest == manifest.by_path[path].digest
    again = dest.parent / "again"
    again.mkdir()
    copy_tree(zone, again)
    assert path in take(again).by_path


def test_an_export_never_follows_what_is_planted(zone: Path, dest: Path, store: BlobStore) -> None:
    (zone / "d").mkdir()
    (zone / "d" / "f").write_text("x")
    manifest = take(zone, store)
    (dest / "d").symlink_to(zone)
    with pytest.raises(StorageError):
        export(manifest, store, dest)
    assert sorted(os.listdir(zone)) == ["d"]


def test_a_damaged_content_is_no_export(zone: Path, dest: Path, store: BlobStore) -> None:
    (zone / "f").write_text("x")
    manifest = take(zone, store)
    other = store.put_bytes(b"y")
    oid = manifest.by_path[b"f"].oid
    objects = store.path / "objects"
    os.replace(objects / other.oid[:2] / other.oid[2:], objects / oid[:2] / oid[2:])
    with pytest.raises(StorageError, match="damaged"):
        export(manifest, store, dest)
