"""Many contents at once: a pack that git can read, whole or not there at all."""

from __future__ import annotations

import os
import resource
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rolewall.errors import StorageError
from rolewall.sandbox import batch as batch_module
from rolewall.sandbox.batch import batch
from rolewall.sandbox.blobs import BlobStore
from rolewall.sandbox.objects import object_id

FAN = 8 + 256 * 4  # bytes of an index before its names
MANY = [b"content %d\n" % number * (number % 7) for number in range(2000)]


def git(store: BlobStore, *arguments: str) -> str:
    done = subprocess.run(
        ["git", f"--git-dir={store.path}", *arguments],
        cwd=store.path, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout


def packs(store: BlobStore) -> list[Path]:
    return sorted((store.path / "objects" / "pack").iterdir())


def loose(store: BlobStore) -> int:
    return sum(
        len(list(fan.iterdir())) for fan in (store.path / "objects").glob("[0-9a-f][0-9a-f]")
    )


def keep(store: BlobStore, contents: list[bytes]) -> list[str]:
    with batch(store) as kept:
        return [kept.put_bytes(content).oid for content in contents]


def test_many_become_one_pack_that_git_verifies(store: BlobStore) -> None:
    oids = keep(store, MANY)
    assert oids == [object_id(b"blob", content) for content in MANY]
    index, pack = packs(store)
    assert (index.suffix, pack.suffix, loose(store)) == (".idx", ".pack", 0)
    git(store, "verify-pack", str(index))
    git(store, "fsck", "--strict")
    assert git(store, "cat-file", "blob", oids[1234]).encode() == MANY[1234]
    for opened in (store, BlobStore(store.path)):
        assert all(opened.get(oid) == data for oid, data in zip(oids, MANY, strict=True))


def test_few_stay_loose(store: BlobStore) -> None:
    keep(store, MANY[:100])
    assert packs(store) == [] and loose(store) == len(set(MANY[:100]))


def test_what_is_there_is_not_kept_again(store: BlobStore) -> None:
    keep(store, MANY)
    keep(BlobStore(store.path), MANY)
    keep(store, MANY[:10])
    assert len(packs(store)) == 2 and loose(store) == 0


def test_a_full_pack_is_followed_by_another(
    store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_module, "PACK_OBJECTS", 700)
    oids = keep(store, MANY)
    assert len(packs(store)) == 4
    assert all(store.get(oid) == data for oid, data in zip(oids, MANY, strict=True))
    git(store, "fsck", "--strict")


def test_large_ones_are_loose_beside_a_pack(store: BlobStore, tmp_path: Path) -> None:
    data = os.urandom(5 * 1024 * 1024)
    (tmp_path / "large").write_bytes(data)
    with batch(store) as kept, open(tmp_path / "large", "rb") as file:
        stored = kept.put_file(file.fileno(), len(data))
        for content in MANY:
            kept.put_bytes(content)
    assert (loose(store), len(packs(store))) == (1, 2)
    assert store.get(stored.oid, stored.sha256) == data


def test_an_error_leaves_nothing_half_written(store: BlobStore) -> None:
    with pytest.raises(KeyError), batch(store) as kept:
        for content in MANY:
            kept.put_bytes(content)
        raise KeyError("the walk failed")
    assert packs(store) == []


def test_a_killed_writer_leaves_nothing(store: BlobStore) -> None:
    child = os.fork()
    if child == 0:
        with batch(store) as kept:
            for content in MANY:
                kept.put_bytes(content)
            os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    assert packs(store) == []


def test_a_damaged_object_in_a_pack_is_found_and_kept_again(store: BlobStore) -> None:
    oids = keep(store, MANY)
    _, pack = packs(store)
    pack.chmod(0o644)
    data = bytearray(pack.read_bytes())
    data[len(data) // 3 : 2 * len(data) // 3] = bytes(len(data) // 3)
    pack.write_bytes(data)
    damaged = BlobStore(store.path)
    broken = [n for n, oid in enumerate(oids) if not _reads(damaged, oid)]
    assert broken
    keep(damaged, MANY)
    again = BlobStore(store.path)
    assert all(again.get(oid) == data for oid, data in zip(oids, MANY, strict=True))


def _reads(store: BlobStore, oid: str) -> bool:
    try:
        return object_id(b"blob", store.get(oid)) == oid
    except StorageError:
        return False


@pytest.mark.parametrize(
    "what", ["fifo", "link", "junk", "empty", "short", "sparse", "falling", "huge"]
)
def test_an_index_that_is_none_is_passed_over(store: BlobStore, what: str) -> None:
    oids = keep(store, MANY)
    index, pack = packs(store)
    planted = index.with_name("pack-" + "f" * 40 + ".idx")
    if what == "fifo":
        os.mkfifo(planted)
    elif what == "link":
        planted.symlink_to(index)
    else:
        whole = index.read_bytes()
        # One name more than there are, which lies where the checksums do.
        count, first = struct.unpack_from(">L", whole, FAN - 4)[0], bytes.fromhex(oids[5])[0]
        fan = struct.pack(">256L", *[count] * first, *[count + 1] * (255 - first), count)
        names, more = whole[FAN : FAN + 20 * count], whole[FAN + 20 * count + 20 :]
        made = {
            "junk": os.urandom(5000),
            "empty": b"",
            "short": whole[:-9],
            "falling": whole[:8] + fan + names + bytes.fromhex(oids[5]) + more,
        }
        planted.write_bytes(made.get(what, whole))
        if what in ("sparse", "huge"):
            # No index of 1 GiB is ever made here, and one of 8 TiB fits into no memory.
            os.truncate(planted, (1 << 30) + 40 if what == "sparse" else 1 << 43)
    opened = BlobStore(store.path)
    assert opened.get(oids[5]) == MANY[5]
    pack.unlink()
    with pytest.raises(StorageError):
        opened.get(oids[5])


def test_an_object_that_seems_to_be_as_long_as_a_sparse_pack_is_not_read(store: BlobStore) -> None:
    oids = keep(store, MANY)
    index, pack = packs(store)
    index.chmod(0o644)
    pack.chmod(0o644)
    data = bytearray(index.read_bytes())
    count = struct.unpack_from(">L", data, FAN - 4)[0]
    # One object that lasts for half a GiB: what lies between it and the next.
    offsets = [*range(12, 11 + count), 1 << 29]
    struct.pack_into(f">{count}L", data, FAN + count * 24, *offsets)
    index.write_bytes(data)
    os.truncate(pack, 1 << 30)
    opened = BlobStore(store.path)
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # An empty one needs no more than its head.
    assert not any(_reads(opened, oid) for oid, data in zip(oids, MANY, strict=True) if data)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - usage < 1 << 17
    index.chmod(0o444)


def test_a_pack_that_could_not_be_opened_once_is_opened_later(store: BlobStore) -> None:
    """A link stands for whatever the system refuses, as where no descriptor is left."""
    oids = keep(store, MANY)
    index, _ = packs(store)
    aside = index.with_name("aside")
    index.rename(aside)
    index.symlink_to(aside)
    opened = BlobStore(store.path)
    assert not _reads(opened, oids[5])
    index.unlink()
    aside.rename(index)
    assert _reads(opened, oids[5])


def test_several_threads_keep_the_same_at_once(store: BlobStore) -> None:
    with ThreadPoolExecutor(3) as pool:
        kept = list(pool.map(lambda _: keep(store, MANY), range(3)))
    assert kept[0] == kept[1] == kept[2]
    assert all(store.get(oid) == data for oid, data in zip(kept[0], MANY, strict=True))
    git(store, "fsck", "--strict")


def test_a_role_gets_what_it_may_see_out_of_a_larger_pack(store: BlobStore, tmp_path: Path) -> None:
    """A repository for a role is written from the store's packs, object by object."""
    oids = keep(store, MANY)
    extra = {object_id(b"blob", b"more"): (b"blob", b"more")}
    bare = BlobStore(tmp_path / "other.git")
    stem = bare.path / "objects" / "pack" / ("pack-" + "1" * 40)
    store.write_pack(oids[:50], extra, stem.with_suffix(".pack"), stem.with_suffix(".idx"))
    git(bare, "verify-pack", str(stem.with_suffix(".idx")))
    listed = git(bare, "cat-file", "--batch-all-objects", "--batch-check").split("\n")
    assert {line.split()[0] for line in listed if line} == {*oids[:50], *extra}


@pytest.mark.root
def test_a_full_disk_ends_a_batch_as_a_storage_error(tmp_path: Path) -> None:
    """In a mount namespace of its own, left behind with the child."""
    script = f"""
import os, sys
from pathlib import Path
sys.path[:0] = {[p for p in sys.path if p]!r}
from rolewall.errors import StorageError
from rolewall.sandbox.batch import batch
from rolewall.sandbox.blobs import BlobStore
store = BlobStore(Path({os.fspath(tmp_path)!r}) / "blobs.git")
try:
    with batch(store) as kept:
        for number in range(3000):
            kept.put_bytes(os.urandom(1000))
except StorageError as error:
    assert "no space left" in str(error), error
else:
    raise SystemExit("written")
assert os.listdir(store.path / "objects" / "pack") == []
"""
    mount = f'mount -t tmpfs -o size=1m none {tmp_path} && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount, "sh", sys.executable, "-c", script],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
