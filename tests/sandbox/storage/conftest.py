from __future__ import annotations

import os
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rolewall.sandbox.blobs import BlobStore
from rolewall.sandbox.remove import remove_tree

USER = 64101

Run = Callable[[Callable[[Path], None]], None]


@pytest.fixture(autouse=True)
def _nothing_left(tmp_path: Path) -> Iterator[None]:
    """What is too deep for a path is too deep for pytest, which keeps the last directories."""
    yield
    for path in tmp_path.iterdir():
        if path.is_dir() and not path.is_symlink():
            remove_tree(path)


@pytest.fixture
def zone(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "zone"
    path.mkdir()
    yield path
    remove_tree(path)


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs.git")


@pytest.fixture
def deep() -> Callable[[Path, int], bytes]:
    """Makes a chain of directories of so many bytes, and a file at its end."""

    def make(root: Path, size: int) -> bytes:
        here = os.open(root, os.O_RDONLY)
        name, path = b"d" * 29, b""
        while len(path) < size:
            os.mkdir(name, dir_fd=here)
            below = os.open(name, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here, path = below, path + name + b"/"
        file = os.open(b"end", os.O_WRONLY | os.O_CREAT, dir_fd=here)
        os.write(file, b"deep\n")
        os.close(file)
        os.close(here)
        return path + b"end"

    return make


@pytest.fixture
def as_user() -> Iterator[Run]:
    """Runs a function as an ordinary user, with a directory of that user's."""
    base = Path(tempfile.mkdtemp(prefix="rolewall-test-"))

    def run(function: Callable[[Path], None]) -> None:
        if os.geteuid() != 0:
            function(base)
            return
        os.chown(base, USER, USER)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            _child(function, base, writer)
        os.close(writer)
        with open(reader, "rb") as pipe:
            said = pipe.read().decode()
        os.waitpid(child, 0)
        assert said == "done", said

    yield run
    remove_tree(base)


def _child(function: Callable[[Path], None], base: Path, writer: int) -> None:
    said = "done"
    os.closerange(3, writer)  # whatever else the test process holds is not part of the test
    os.closerange(writer + 1, 65536)
    try:
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)
        function(base)
    except BaseException:
        said = traceback.format_exc()
    finally:
        os.write(writer, said.encode())
        os._exit(0)
