"""What a manifest and its contents cost, beside git and tar on the same files.

    python bench/scale.py [--files N ...] [--in DIR] [--json]

For each N a harmless tree of N small files, 500 to a directory, is made once and
measured in one run, each thing after the other: the manifest with all contents
kept, a second manifest when nothing and when one file in a hundred has changed,
the written form, an exact copy out of the store, removal of that copy; ``git
add`` with ``git write-tree``; ``tar`` with and without gzip. Git may have this
tree as work tree because nobody else wrote it.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from rolewall.errors import RolewallError
from rolewall.sandbox import BlobStore, Manifest, diff, export, remove_tree, take

__all__ = ["main"]

COMMAND_SECONDS = 3600.0
IN_A_DIRECTORY = 500
SETTLE_SECONDS = 0.2  # a younger change of a file is not told from a later one
Made = TypeVar("Made")
QUIET = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


@dataclass
class Measured:
    """Seconds of the clock and of processors, by what was done to one tree."""

    files: int
    wall: dict[str, float] = field(default_factory=dict)
    busy: dict[str, float] = field(default_factory=dict)
    memory_mb: int = 0  # most that this process has had so far

    def measure(self, name: str, do: Callable[[], Made]) -> Made:
        wall, busy = time.monotonic(), _busy()
        done = do()
        self.wall[name], self.busy[name] = time.monotonic() - wall, _busy() - busy
        return done


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _arguments(arguments)
    found = []
    try:
        for files in sorted(asked.files):
            with _scratch(asked.place) as place:
                found.append(_tree(place, files))
    except (RolewallError, OSError, subprocess.SubprocessError) as error:
        print(f"scale.py: {error}", file=sys.stderr)
        return 3
    print(json.dumps(_facts(found)) if asked.json else "\n".join(_lines(found)))
    return 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, nargs="+", default=[10_000], metavar="N")
    parser.add_argument("--in", dest="place", type=Path, help="a directory for the trees")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


@contextmanager
def _scratch(place: Path | None) -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="rolewall-scale-", dir=place))
    try:
        yield path
    finally:
        remove_tree(path)


def _tree(place: Path, files: int) -> Measured:
    measured = Measured(files)
    tree = place / "tree"
    measured.measure("make the tree", lambda: _make(tree, files))
    time.sleep(SETTLE_SECONDS)
    _ours(measured, place, tree)
    measured.memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    _git(measured, place, tree)
    for name, flags in (("tar", "-cf"), ("tar and gzip", "-czf")):
        argv = ["tar", flags, os.fspath(place / "tree.tar"), "-C", os.fspath(place), "tree"]
        measured.measure(name, functools.partial(_run, argv))
    return measured


def _make(tree: Path, files: int) -> None:
    tree.mkdir()
    for number in range(files):
        folder = tree / f"{number // IN_A_DIRECTORY}"
        if number % IN_A_DIRECTORY == 0:
            folder.mkdir()
        (folder / f"{number}.txt").write_bytes(b"file number %d\n" % number)


def _ours(measured: Measured, place: Path, tree: Path) -> None:
    store = BlobStore(place / "blobs.git")
    first = measured.measure("manifest, contents kept", lambda: take(tree, store))
    same = measured.measure("manifest, nothing changed", lambda: take(tree, store, first))
    _expect(diff(first, same) == [], "something changed")
    for number in range(0, measured.files, 100):
        (tree / f"{number // IN_A_DIRECTORY}" / f"{number}.txt").write_bytes(b"changed\n")
    third = measured.measure("manifest, 1 % changed", lambda: take(tree, store, same))
    changed = measured.measure("difference", lambda: diff(same, third))
    _expect(len(changed) == -(-measured.files // 100), "not all changes were found")
    measured.measure("manifest written", lambda: third.dump(place / "manifest"))
    measured.measure("copy out of the store", lambda: _export(third, store, place / "copy"))
    _expect(take(place / "copy").content_digest == third.content_digest, "the copy differs")
    measured.measure("copy removed", lambda: remove_tree(place / "copy"))
    measured.measure("contents on the disk", store.flush)


def _export(manifest: Manifest, store: BlobStore, place: Path) -> None:
    place.mkdir()
    _expect(export(manifest, store, place) == [], "something was left out")


def _expect(holds: bool, words: str) -> None:
    if not holds:
        raise RolewallError(f"the measurement is worth nothing: {words}")


def _git(measured: Measured, place: Path, tree: Path) -> None:
    git = ["git", f"--git-dir={place / 'git'}", f"--work-tree={tree}"]
    _run([*git, "init", "-q"])
    measured.measure("git add", lambda: _run([*git, "add", "-A"]))
    measured.measure("git write-tree", lambda: _run([*git, "write-tree"]))
    measured.measure("git add, nothing changed", lambda: _run([*git, "add", "-A"]))


def _run(argv: Sequence[str]) -> None:
    subprocess.run(
        argv,
        check=True,
        env={**os.environ, **QUIET},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        timeout=COMMAND_SECONDS,
    )


def _busy() -> float:
    """Seconds of processors, of this process and of its children that have ended."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))


def _facts(found: Sequence[Measured]) -> dict[str, object]:
    return {
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "system": platform.platform(),
        "trees": [vars(measured) for measured in found],
    }


def _lines(found: Sequence[Measured]) -> Iterator[str]:
    load = os.getloadavg()[0]
    yield f"machine: {platform.machine()}, {os.cpu_count()} cores, load {load:.1f} at the end"
    yield f"system: {platform.platform()}, Python {platform.python_version()}"
    for measured in found:
        yield f"{measured.files} files, {measured.memory_mb} MB of memory at most"
        yield f"    {'':28}{'seconds':>9}{'busy':>9}{'µs a file':>11}"
        for name, wall in measured.wall.items():
            busy = measured.busy[name]
            each = busy / measured.files * 1e6
            yield f"    {name:28}{wall:9.2f}{busy:9.2f}{each:11.1f}"


if __name__ == "__main__":
    sys.exit(main())
