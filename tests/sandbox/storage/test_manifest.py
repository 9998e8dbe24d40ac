from __future__ import annotations

import hashlib
import mmap
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rolewall.errors import RecordError, StorageError
from rolewall.sandbox.blobs import BlobStore
from rolewall.sandbox.difference import diff
from rolewall.sandbox.filesystem import notes_changes
from rolewall.sandbox.manifest import Manifest
from rolewall.sandbox.manifest_file import load
from rolewall.sandbox.names import escape, unescape
from rolewall.sandbox.remove import remove_tree
from rolewall.sandbox.snapshot import ManifestLimits, take
from rolewall.sandbox.walker import walk

GIB = 1024**3


def on_a_file_system_that_notes_changes() -> bool:
    with tempfile.TemporaryFile() as file:
        return notes_changes(file.fileno())


KEEPS = pytest.mark.skipif(
    not on_a_file_system_that_notes_changes(), reason="nothing is taken over on this file system"
)


def hostile(zone: Path, outside: Path) -> None:
    (zone / "dir").mkdir()
    (zone / "dir" / "file").write_bytes(b"content\n")
    (zone / "-rf").write_text("dash")
    (zone / "new\nline").write_text("newline")
    Path(os.fsdecode(os.fsencode(zone) + b"/\xff\xfe")).write_text("not utf-8")
    (zone / "out").symlink_to(outside)
    (zone / "loop").symlink_to("loop")
    os.mkfifo(zone / "fifo")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.fspath(zone / "socket"))
    listener.close()
    (zone / "suid").write_text("x")
    (zone / "suid").chmod(0o4755)
    (zone / "closed").write_text("secret")
    (zone / "closed").chmod(0)
    (zone / "shut").mkdir()
    (zone / "shut" / "in").write_text("x")
    os.link(zone / "dir" / "file", zone / "other-name")
    os.setxattr(zone / "dir" / "file", "user.note", b"short")
    os.setxattr(zone / "dir" / "file", "user.long", b"x" * 100)
    (zone / "shut").chmod(0)


def test_every_kind_is_recorded_and_none_is_followed(
    zone: Path, tmp_path: Path, store: BlobStore
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    hostile(zone, outside)
    got = take(zone, store).by_path
    kinds = {path: entry.kind for path, entry in got.items()}
    assert kinds[b"out"] == kinds[b"loop"] == "link"
    assert (kinds[b"fifo"], kinds[b"socket"], kinds[b"\xff\xfe"]) == ("fifo", "socket", "file")
    assert not [path for path in got if path.startswith(b"out/")]
    assert got[b"out"].target == os.fsencode(outside)
    assert got[b"suid"].mode == 0o4755
    assert got[b"new\nline"].sha256 == hashlib.sha256(b"newline").hexdigest()
    assert (got[b"other-name"].nlink, got[b"other-name"].first) == (2, b"dir/file")
    assert dict(got[b"dir/file"].xattrs)["user.note"] == "=short"
    assert dict(got[b"dir/file"].xattrs)["user.long"].startswith("sha256:")
    assert store.get(got[b"-rf"].oid) == b"dash"


@pytest.mark.root
def test_root_reads_what_has_no_mode_bits_and_sees_devices(zone: Path, store: BlobStore) -> None:
    hostile(zone, zone)
    os.mknod(zone / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    got = take(zone, store)
    assert not any(entry.note for entry in got.entries)
    assert got.by_path[b"closed"].sha256 == hashlib.sha256(b"secret").hexdigest()
    assert b"shut/in" in got.by_path
    assert got.by_path[b"null"].rdev == os.makedev(1, 3)


def test_an_ordinary_user_notes_what_cannot_be_read(
    as_user: Callable[[Callable[[Path], None]], None],
) -> None:
    def check(base: Path) -> None:
        hostile(base, base)
        (base / "listed").mkdir()
        (base / "listed" / "in").write_text("x")
        (base / "listed").chmod(0o444)
        got = take(base)
        notes = {entry.path: entry.note for entry in got.entries if entry.note}
        assert notes == dict.fromkeys((b"closed", b"shut", b"listed/in"), "unreadable")
        assert got.by_path[b"listed/in"].kind == "unknown"
        assert any(entry.note for entry in got.entries)
        assert load_of(got, base / "m") == got

    as_user(check)


def load_of(manifest: Manifest, path: Path) -> Manifest:
    manifest.dump(path)
    return load(path)


def test_a_written_manifest_is_read_back_with_its_digest(
    zone: Path, tmp_path: Path, store: BlobStore
) -> None:
    hostile(zone, tmp_path)
    taken = take(zone, store)
    assert taken.dump(tmp_path / "m.jsonl") == taken.digest
    again = load(tmp_path / "m.jsonl")
    assert again == taken
    assert (again.digest, again.content_digest) == (taken.digest, taken.content_digest)
    assert hashlib.sha256((tmp_path / "m.jsonl").read_bytes()).hexdigest() == taken.digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"kind":"file"', b'"kind":"file","extra":1'),
        (b'"kind":"file"', b'"kind":"door"'),
        (b'"path":"a"', b'"path":"../a"'),
        (b'"path":"a"', b'"path":"/a"'),
        (b'"path":"a"', b'"path":"\\\\x61"'),
        (b'"size":1', b'"size":"1"'),
        (b'"size":1', b'"size":true'),
        (b'"mode":"0644"', b'"mode":"644"'),
        (b'"path":"b"', b'"path":"A"'),
        (b'"entries":3', b'"entries":4'),
        (b'"rolewall_manifest":1', b'"rolewall_manifest":2'),
        (b"\n", b"\n\xff\n"),
        (b'{"digest"', b'{ "digest"'),
    ],
)
def test_what_was_not_written_by_dump_is_refused(
    zone: Path, tmp_path: Path, old: bytes, new: bytes
) -> None:
    for name in ("a", "b"):
        (zone / name).write_text("x")
        (zone / name).chmod(0o644)
    path = tmp_path / "m.jsonl"
    take(zone).dump(path)
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))
    with pytest.raises(RecordError) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_a_missing_manifest_is_a_record_error(tmp_path: Path) -> None:
    with pytest.raises(RecordError):
        load(tmp_path / "none")


def test_huge_sparse_files_cost_their_data_only(zone: Path, store: BlobStore) -> None:
    for name, size in (("terabyte", 1024 * GIB), ("two", 2 * GIB + 1)):
        with open(zone / name, "wb") as file:
            file.truncate(size)
            file.seek(size // 2)
            file.write(b"data")
    got = take(zone, store).by_path
    assert got[b"terabyte"].size == 1024 * GIB
    assert got[b"terabyte"].digest.startswith("blocks:")
    assert got[b"terabyte"].note == got[b"two"].note == "not kept: size"
    with open(zone / "two", "r+b") as file:
        file.seek(GIB + 5)
        file.write(b"other")
    assert take(zone, store).by_path[b"two"].digest != got[b"two"].digest


def test_the_digest_of_a_large_file_does_not_depend_on_its_holes(zone: Path) -> None:
    size = 300 * 1024 * 1024
    with open(zone / "holes", "wb") as file:
        file.truncate(size)
        file.seek(1000)
        file.write(b"x" * 10)
    with open(zone / "zeros", "wb") as file:
        file.write(bytes(1000) + b"x" * 10 + bytes(200_000))
        file.truncate(size)
    got = take(zone).by_path
    assert got[b"holes"].digest == got[b"zeros"].digest


def test_limits_are_said_and_the_rest_is_kept(zone: Path, store: BlobStore) -> None:
    (zone / "a").write_bytes(b"x" * 10)
    (zone / "b").write_bytes(b"y" * 100)
    (zone / "c").write_bytes(b"z" * 10)
    got = take(zone, store, limits=ManifestLimits(file_bytes=50, zone_bytes=15)).by_path
    assert got[b"a"].oid and not got[b"a"].note
    assert (got[b"b"].note, got[b"c"].note) == ("not kept: size", "not kept: zone is full")
    assert got[b"b"].digest and got[b"c"].digest
    few = take(zone, limits=ManifestLimits(entries=2))
    assert few.entries[0].note == "not walked: entries"
    unread = take(zone, limits=ManifestLimits(hash_bytes=15))
    assert unread.by_path[b"b"].note == "not hashed: size"


NAMED: dict[str, Callable[[Path, int], None]] = {
    "paths": lambda zone, number: (zone / f"{number}{'n' * 200}").touch(),
    "first names": lambda zone, number: os.link(zone / "a", zone / f"{number}"),
    "targets": lambda zone, number: (zone / f"{number}").symlink_to("t" * 200),
    "escapes": lambda zone, number: (zone / f"{number}{os.fsdecode(bytes([255]) * 50)}").touch(),
}


@pytest.mark.parametrize("what", NAMED)
def test_all_names_in_a_manifest_count(zone: Path, what: str) -> None:
    (zone / ("0" * 200)).mkdir()
    (zone / ("0" * 200) / "a").touch()
    os.link(zone / ("0" * 200) / "a", zone / "a")
    for number in range(1, 40):
        NAMED[what](zone, number)
    few = take(zone, limits=ManifestLimits(names_bytes=4000))
    assert few.entries[0].note == "not walked: entries"
    assert 10 < len(few.entries) < 30
    assert sum(map(len, few.lines())) < 4000 + 300 * len(few.entries)
    whole = take(zone, limits=ManifestLimits(names_bytes=20_000))
    assert not whole.entries[0].note


def test_a_million_ordinary_names_fit() -> None:
    limits = ManifestLimits()
    path = "packages/some-library/node_modules/@scope/another-library/dist/esm/internal/module.d.ts"
    assert 1_000_000 * len(path) < limits.names_bytes and limits.entries > 1_000_000


def test_paths_longer_than_path_max(
    zone: Path, tmp_path: Path, store: BlobStore, deep: Callable[[Path, int], bytes]
) -> None:
    path = deep(zone, 6000)
    (zone / "z").write_text("after")
    got = take(zone, store)
    assert got.by_path[path].sha256 == hashlib.sha256(b"deep\n").hexdigest()
    assert b"z" in got.by_path
    assert load_of(got, tmp_path / "m") == got
    capped = take(zone, limits=ManifestLimits(path_bytes=100))
    assert [entry.note for entry in capped.entries if entry.note] == ["not walked: depth"]


def test_a_wide_zone_needs_few_descriptors(zone: Path) -> None:
    for number in range(2000):
        (zone / f"{number % 100}").mkdir(exist_ok=True)
        (zone / f"{number % 100}" / f"{number}").touch()
    before = len(os.listdir("/proc/self/fd"))
    most = max(len(os.listdir("/proc/self/fd")) for node in walk(zone) if node.leaving)
    assert most - before < 10
    assert len(os.listdir("/proc/self/fd")) == before
    assert len(take(zone).entries) == 2101


def test_twenty_thousand_files_in_one_directory(store: BlobStore) -> None:
    memory = Path("/dev/shm")
    base = Path(tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None))
    try:
        for number in range(20_000):
            os.close(os.open(base / f"{number}", os.O_CREAT | os.O_WRONLY))
        first = take(base, store)
        assert len(first.entries) == 20_001 and not any(entry.note for entry in first.entries)
        assert diff(first, take(base, store, first)) == []
    finally:
        remove_tree(base)


def churn(zone: Path, outside: Path) -> None:
    """Grow, shrink, replace and swap with links, until killed."""
    while True:
        (zone / "d").mkdir()
        for size in (1, 100_000, 10):
            (zone / "d" / "f").write_bytes(b"x" * size)
            (zone / f"{size}").write_bytes(b"x" * size)
        (zone / "d").rename(zone / "old")
        (zone / "d").symlink_to(outside)
        (zone / "10").unlink()
        (zone / "10").symlink_to(outside / "f")
        for name in ("d", "old/f", "1", "10", "100000"):
            (zone / name).unlink()
        (zone / "old").rmdir()


def test_a_writer_that_is_alive_leads_nowhere(zone: Path, tmp_path: Path, store: BlobStore) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("secret")
    child = os.fork()
    if child == 0:
        try:
            churn(zone, outside)
        finally:
            os._exit(0)
    try:
        taken = [take(zone, store) for _ in range(100)]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    secret = hashlib.sha256(b"secret").hexdigest()
    assert not [e for manifest in taken for e in manifest.entries if e.sha256 == secret]


def test_a_descriptor_serves_as_a_path(zone: Path) -> None:
    (zone / "f").write_text("x")
    fd = os.open(zone, os.O_RDONLY)
    assert take(fd) == take(zone)
    os.close(fd)


@pytest.mark.parametrize("what", ["file", "link", "dir"])
def test_git_is_recorded_whatever_it_is(zone: Path, what: str) -> None:
    if what == "file":
        (zone / ".git").write_text("gitdir: /elsewhere\n")
    elif what == "link":
        (zone / ".git").symlink_to("/elsewhere")
    else:
        (zone / ".git").mkdir()
    got = take(zone)
    assert got.by_path[b".git"].kind == what
    assert b".git" not in got.with_git_of(Manifest(())).by_path


def test_a_link_in_place_of_the_zone_is_refused(zone: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(zone)
    with pytest.raises(StorageError):
        take(tmp_path / "alias")
    with pytest.raises(StorageError, match="missing"):
        take(tmp_path / "missing")


def settled(manifest: Manifest) -> Manifest:
    return Manifest(
        tuple(
            replace(e, stamp=replace(e.stamp, settled=True)) if e.stamp else e
            for e in manifest.entries
        )
    )


def test_a_changed_file_with_its_old_size_and_time_is_read_again(
    zone: Path, store: BlobStore
) -> None:
    (zone / "f").write_text("one")
    first = settled(take(zone, store))
    status = (zone / "f").stat()
    (zone / "f").write_text("two")
    os.utime(zone / "f", ns=(status.st_atime_ns, status.st_mtime_ns))
    second = take(zone, store, first)
    assert second.by_path[b"f"].mtime_ns == first.by_path[b"f"].mtime_ns
    assert second.by_path[b"f"].sha256 == hashlib.sha256(b"two").hexdigest()


@pytest.fixture
def memory() -> Iterator[Path]:
    """A directory on a tmpfs."""
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no tmpfs to write to")
    path = Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield path
    remove_tree(path)


def test_a_store_that_sets_no_time_is_seen_on_a_tmpfs(memory: Path, store: BlobStore) -> None:
    (memory / "f").write_text("one")
    first = settled(take(memory, store))
    with open(memory / "f", "r+b") as file, mmap.mmap(file.fileno(), 3) as shared:
        assert shared[:] == b"one"
        shared[:] = b"two"
    status = (memory / "f").stat()
    stamp = first.by_path[b"f"].stamp
    assert stamp is not None and status.st_ctime_ns == stamp.ctime_ns
    second = take(memory, store, first)
    assert second.by_path[b"f"].sha256 == hashlib.sha256(b"two").hexdigest()


@KEEPS
def test_only_a_settled_unchanged_file_is_taken_over(zone: Path, store: BlobStore) -> None:
    (zone / "f").write_text("one")
    first = take(zone, store)
    forged = {**first.by_path, b"f": replace(first.by_path[b"f"], digest="sha256:known")}
    fresh = Manifest(tuple(forged.values()))
    assert take(zone, store, fresh).by_path[b"f"].digest == first.by_path[b"f"].digest
    assert take(zone, store, settled(fresh)).by_path[b"f"].digest == "sha256:known"


@pytest.mark.parametrize("name", [b"plain", b"\\", b"a\nb", b"\xff", "ü€\u202e".encode(), b"\x7f"])
def test_names_come_back(name: bytes) -> None:
    assert unescape(escape(name)) == name
    assert escape(name).isprintable()


@pytest.mark.parametrize("text", ["\\", "\\x61", "\\xzz", "a\nb"])
def test_text_that_is_no_escaped_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="escaped"):
        unescape(text)


LEASE = """
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = os.open(sys.argv[1], os.O_RDONLY)
fcntl.fcntl(file, 1024, fcntl.F_WRLCK)  # F_SETLEASE
print("held", flush=True)
sys.stdin.read()
"""


def test_a_leased_file_is_noted_and_not_waited_for(zone: Path, store: BlobStore) -> None:
    (zone / "leased").write_text("x")
    (zone / "plain").write_text("x")
    argv = [sys.executable, "-I", "-c", LEASE, os.fspath(zone / "leased")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        try:
            during = take(zone, store)
        finally:
            holder.stdin.close()
    assert (during.by_path[b"leased"].note, during.by_path[b"leased"].digest) == (
        "unreadable: leased", ""
    )  # fmt: skip
    assert any(entry.note for entry in during.entries)
    assert during.by_path[b"plain"].digest
    after = take(zone, store)
    assert not any(entry.note for entry in after.entries)
    assert after.by_path[b"leased"].digest == after.by_path[b"plain"].digest


def relink(path: Path) -> None:
    """Replace a file by another of the same size, times and mode."""
    status = path.stat()
    path.rename(path.with_name("gone"))
    path.with_name("gone").unlink()
    path.write_text("two")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def to_link(path: Path) -> None:
    status = path.lstat()
    path.unlink()
    path.symlink_to("two")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns), follow_symlinks=False)


def through_memory(path: Path) -> None:
    """Change a mapped page, and put the times back before it is written out."""
    status = path.stat()
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 3) as memory:
        memory[:] = b"two"
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


SLY = {
    "in place": lambda path: os.pwrite(os.open(path, os.O_WRONLY), b"two", 0),
    "replaced": relink,
    "a link": to_link,
    "mapped": through_memory,
    "mode": lambda path: path.chmod(0o600),
    "attribute": lambda path: os.setxattr(path, "user.sly", b"1"),
    "second name": lambda path: os.link(path, path.with_name("second")),
}


@KEEPS
@pytest.mark.parametrize("how", SLY)
def test_an_entry_is_passed_over_unopened_only_while_nothing_of_it_changes(
    zone: Path, store: BlobStore, how: str
) -> None:
    for name in ("f", "same"):
        (zone / name).write_text("one")
    first = settled(take(zone, store))
    status = (zone / "f").stat()
    SLY[how](zone / "f")
    if how != "a link":
        os.utime(zone / "f", ns=(status.st_atime_ns, status.st_mtime_ns))
    second = take(zone, store, first)
    assert second.by_path[b"same"] is first.by_path[b"same"]
    assert second == take(zone, store), "it is what is seen without knowing anything before"
    assert [d.name for d in diff(first, second) if d.name not in {".", "second"}] == ["f"]


def test_what_is_known_is_not_opened(zone: Path, store: BlobStore) -> None:
    (zone / "f").write_text("x")
    (zone / "link").symlink_to("f")
    os.mkfifo(zone / "fifo")
    seen = [node.kind for node in walk(zone, unopened=lambda *_: True) if node.fd < 0]
    assert seen == ["file", "fifo", "link"]
