from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from rolewall.sandbox.blobs import BlobStore
from rolewall.sandbox.gitrepo import fresh_repo, restore_git, verifier_repo
from rolewall.sandbox.readable import make_readable, restore_modes
from rolewall.sandbox.remove import remove_tree
from rolewall.sandbox.snapshot import take
from rolewall.sandbox.staging import copy_tree, export

Run = Callable[[Callable[[Path], None]], None]


def staged(base: Path) -> tuple[Path, BlobStore]:
    source, zone = base / "source", base / "zone"
    (source / "d").mkdir(parents=True)
    zone.mkdir()
    (source / "d" / "f").write_text("x")
    copy_tree(source, zone)
    store = BlobStore(base / "blobs.git")
    fresh_repo(zone, store)
    return zone, store


def test_the_whole_way_of_a_workspace(as_user: Run) -> None:
    def check(base: Path) -> None:
        zone, store = staged(base)
        start = take(zone, store)
        (zone / "d" / "f").chmod(0)
        closed = take(zone, store, start)
        assert closed.by_path[b"d/f"].note == "unreadable"
        modes = make_readable(zone)
        executor = take(zone, store, start)
        assert not any(entry.note for entry in executor.entries)
        placed = verifier_repo(zone, start, executor, store, base / "aside")
        assert placed.dropped and len(placed.commits) == 2
        (base / "copy").mkdir()
        assert export(executor, store, base / "copy") == []
        restore_git(zone, base / "aside")
        assert restore_modes(zone, modes) == []
        assert take(zone, store).content_digest == closed.content_digest
        remove_tree(zone)

    as_user(check)


def test_closing_its_own_directories_stops_nobody(as_user: Run) -> None:
    def check(base: Path) -> None:
        zone, store = staged(base)
        state = take(zone, store)
        (zone / ".git").chmod(0)
        zone.chmod(0)
        closed = take(zone, store)
        assert closed.by_path[b""].note == "unreadable"
        verifier_repo(zone, state, state, store, base / "aside")
        assert zone.stat().st_mode & 0o777 == 0
        assert (base / "aside").stat().st_mode & 0o777 == 0
        restore_git(zone, base / "aside")
        assert zone.stat().st_mode & 0o777 == 0
        zone.chmod(0o755)
        assert (zone / ".git").stat().st_mode & 0o777 == 0
        assert os.listdir(zone) == [".git", "d"] or os.listdir(zone) == ["d", ".git"]

    as_user(check)
