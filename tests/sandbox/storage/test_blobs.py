from __future__ import annotations

import io
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rolewall.errors import StorageError
from rolewall.sandbox.blobs import BlobStore
from rolewall.sandbox.gitdiff import render_diff
from rolewall.sandbox.gittree import write_tree
from rolewall.sandbox.objects import Collision, object_id
from rolewall.sandbox.snapshot import take


def git(store: BlobStore, *arguments: str) -> str:
    done = subprocess.run(
        ["git", f"--git-dir={store.path}", *arguments],
        cwd=store.path, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize("size", [0, 1, 70_000, 5 * 1024 * 1024 + 3])
def test_contents_come_back_and_git_agrees(store: BlobStore, size: int) -> None:
    data = os.urandom(size)
    stored = store.put(io.BytesIO(data), size)
    assert store.get(stored.oid, stored.sha256) == data
    assert stored.oid == object_id(b"blob", data)
    assert store.put(io.BytesIO(data), size) == stored
    assert git(store, "cat-file", "-s", stored.oid).strip() == str(size)
    git(store, "fsck", "--strict")


@pytest.mark.parametrize("size", [5, 5 * 1024 * 1024])
def test_a_short_stream_is_refused(store: BlobStore, size: int) -> None:
    with pytest.raises(StorageError):
        store.put(io.BytesIO(b"abc"), size)


@pytest.mark.parametrize("data", [b"", b"x", bytes(100)])
def test_a_damaged_object_is_found_and_written_again(store: BlobStore, data: bytes) -> None:
    stored = store.put_bytes(b"content")
    path = store.path / "objects" / stored.oid[:2] / stored.oid[2:]
    path.chmod(0o644)
    path.write_bytes(data)
    with pytest.raises(StorageError):
        store.get(stored.oid, stored.sha256)
    again = BlobStore(store.path)
    again.put_bytes(b"content")
    assert again.get(stored.oid, stored.sha256) == b"content"


def test_a_missing_object_is_a_storage_error(store: BlobStore) -> None:
    for oid in ("0" * 40, "junk", ""):
        with pytest.raises(StorageError):
            store.get(oid)


def test_two_contents_with_one_id_are_told_apart(store: BlobStore) -> None:
    stored = store.put_bytes(b"one")
    store._seen[stored.oid] = "another"
    with pytest.raises(Collision):
        store.put_bytes(b"one")


def test_several_threads_and_a_second_opening(store: BlobStore) -> None:
    contents = [b"%d" % (number % 50) for number in range(400)]
    stores = (store, BlobStore(store.path))
    with ThreadPoolExecutor(4) as pool:
        kept = list(pool.map(lambda n: stores[n % 2].put_bytes(contents[n]), range(400)))
    assert all(store.get(k.oid, k.sha256) == c for k, c in zip(kept, contents, strict=True))
    assert len(git(store, "cat-file", "--batch-all-objects", "--batch-check").split("\n")) == 51
    store.flush()


def test_two_processes_at_once(store: BlobStore) -> None:
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            try:
                mine = BlobStore(store.path)
                for number in range(200):
                    mine.put_bytes(b"%d" % number)
            finally:
                os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    git(store, "fsck", "--strict")
    assert store.get(store.put_bytes(b"199").oid) == b"199"


def test_a_tree_holds_what_git_can_hold(zone: Path, store: BlobStore) -> None:
    (zone / "a.b").mkdir()
    (zone / "a.b" / "f").write_text("x")
    (zone / "a").mkdir()
    (zone / "a" / "run").write_text("x")
    (zone / "a" / "run").chmod(0o755)
    (zone / "a0").symlink_to("../out")
    (zone / "new\nline").write_text("y")
    (zone / "nested" / ".GIT").mkdir(parents=True)
    (zone / "nested" / "f").write_text("z")
    os.mkfifo(zone / "fifo")
    tree = write_tree(store, take(zone, store))
    listed = git(store, "ls-tree", "-r", "-z", tree.oid).split("\0")
    assert sorted(line.split("\t")[1] for line in listed if line) == [
        "a.b/f", "a/run", "a0", "nested/f", "new\nline",
    ]  # fmt: skip
    assert {line.split()[0] for line in listed if line} == {"100644", "100755", "120000"}
    assert {(o.name, o.why) for o in tree.left_out} == {
        ("fifo", "fifo"),
        ("nested/.GIT", "nested repository"),
    }
    git(store, "fsck", "--strict")


def test_a_difference_runs_nothing_of_the_workspace(
    zone: Path, tmp_path: Path, store: BlobStore
) -> None:
    canary = tmp_path / "canary"
    (zone / "f").write_text("one\r\n\x1b[31m\n")
    (zone / "raw").write_bytes(b"\xff\n")
    (zone / ".gitattributes").write_text("* filter=x diff=x text eol=lf\n")
    (zone / ".git").mkdir()
    (zone / ".git" / "config").write_text(
        f'[filter "x"]\n\tclean = touch {canary}\n[diff "x"]\n\ttextconv = touch {canary}\n'
    )
    before = take(zone, store)
    (zone / "f").write_text("one\n\x1b[31m\n")
    (zone / "raw").write_bytes(b"\xfe\n")
    text = render_diff(store, before, take(zone, store))
    assert "-one\r\n" in text and "+one\n" in text and " \x1b[31m" in text
    assert "+\\xfe" in text
    assert not canary.exists()
    cut = render_diff(store, before, take(zone, store), limit=20)
    assert cut.endswith("[cut after 20 bytes]\n")
    assert render_diff(store, before, before) == ""


@pytest.mark.root
def test_a_full_disk_is_a_storage_error_with_its_place(zone: Path) -> None:
    """In a mount namespace of its own, left behind with the child."""
    script = f"""
import os, sys
from pathlib import Path
sys.path[:0] = {[p for p in sys.path if p]!r}
from rolewall.errors import StorageError
from rolewall.sandbox.blobs import BlobStore
from rolewall.sandbox.staging import copy_tree
small = Path({os.fspath(zone)!r})
source = small / "source"
source.mkdir()
(source / "f").write_bytes(os.urandom(700_000))
store = BlobStore(small / "blobs.git")
(small / "dest").mkdir()
for action in (
    lambda: store.put_bytes(os.urandom(700_000)),
    lambda: copy_tree(source, small / "dest"),
):
    try:
        action()
    except StorageError as error:
        assert "no space left" in str(error) and str(small) in str(error), error
        assert error.hint, error
    else:
        raise SystemExit("written")
"""
    mount = f'mount -t tmpfs -o size=1m none {zone} && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount, "sh", sys.executable, "-c", script],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
