from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rolewall.errors import InputError
from rolewall.sandbox.sources import check_sources


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    return one, two


def test_separate_directories_pass(pair: tuple[Path, Path]) -> None:
    one, two = pair
    (one / "f").write_text("x")
    os.link(one / "f", one / "g")
    (one / "link").symlink_to(two)
    (two / "dir").mkdir()
    check_sources({"a": one, "b": two})


def refused(sources: dict[str, Path], message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_sources(sources)
    assert message in str(caught.value)
    for zone in sources:
        assert zone in str(caught.value)


def test_equal(pair: tuple[Path, Path]) -> None:
    refused({"alpha": pair[0], "beta": pair[0]}, "are the same directory")
    refused({"alpha": pair[0], "beta": pair[1] / ".." / "one"}, "are the same directory")


@pytest.mark.parametrize("depth", ["sub", "sub/deeper"])
def test_inside(pair: tuple[Path, Path], depth: str) -> None:
    (pair[0] / depth).mkdir(parents=True)
    refused({"alpha": pair[0], "beta": pair[0] / depth}, "contain one another")
    refused({"beta": pair[0] / depth, "alpha": pair[0]}, "contain one another")


def test_inside_by_a_linked_parent(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    (pair[0] / "sub").mkdir()
    (tmp_path / "way").symlink_to(pair[0])
    refused({"alpha": pair[0], "beta": tmp_path / "way" / "sub"}, "contain one another")


def test_hard_link_in_two_zones(pair: tuple[Path, Path]) -> None:
    (pair[0] / "d").mkdir()
    (pair[0] / "d" / "f").write_text("x")
    os.link(pair[0] / "d" / "f", pair[1] / "g")
    refused({"alpha": pair[0], "beta": pair[1]}, "share a file: d/f and g")


def test_what_is_no_directory(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    (tmp_path / "link").symlink_to(pair[0])
    (tmp_path / "file").write_text("")
    for path, message in (
        (tmp_path / "link", "got 'a link'"),
        (tmp_path / "file", "is not a directory"),
        (tmp_path / "none", "cannot be used: No such file"),
        (Path("/"), "whole file system"),
        (Path("/etc/.."), "whole file system"),
        (Path("nul\0"), "not a path"),
    ):
        refused({"alpha": path}, message)


def test_a_parent_that_is_a_link_is_fine(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    (tmp_path / "way").symlink_to(tmp_path)
    check_sources({"a": tmp_path / "way" / "one", "b": pair[1]})


def make_special(path: Path, kind: str) -> None:
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.fspath(path))
    else:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))


@pytest.mark.parametrize("kind", ["FIFO", "socket", pytest.param("device", marks=pytest.mark.root)])
def test_what_a_read_only_mount_does_not_stop(pair: tuple[Path, Path], kind: str) -> None:
    (pair[0] / "sub").mkdir()
    (pair[0] / "sub" / "way out").write_text("a file of that name")
    check_sources({"alpha": pair[0], "beta": pair[1]})
    (pair[0] / "sub" / "way out").unlink()
    make_special(pair[0] / "sub" / "way out", kind)
    with pytest.raises(InputError) as caught:
        check_sources({"alpha": pair[0], "beta": pair[1]})
    for words in ("zone alpha", kind, "sub/way out"):
        assert words in str(caught.value)


def test_too_many_files_to_say(pair: tuple[Path, Path]) -> None:
    for index in range(4):
        (pair[0] / str(index)).touch()
    check_sources({"a": pair[0]}, most=4)
    with pytest.raises(InputError, match="too many files"):
        check_sources({"a": pair[0]}, most=3)


_BOUND = """
import sys
from pathlib import Path
from rolewall.errors import InputError
from rolewall.sandbox.sources import check_sources
try:
    check_sources({"alpha": Path(sys.argv[1]), "beta": Path(sys.argv[2])})
except InputError as problem:
    print(problem)
"""


@pytest.mark.root
@pytest.mark.parametrize(
    ("binding", "zones", "message"),
    [
        ("one/in", "one two", "a mount lies below"),
        ("three", "one three", "zones alpha and beta share the directory"),
        ("three", "two three", ""),
    ],
)
def test_bind_mounts(
    tmp_path: Path, pair: tuple[Path, Path], binding: str, zones: str, message: str
) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    for name in ("one/in", "one/deep/er", "three"):
        (tmp_path / name).mkdir(parents=True)

    source = tmp_path / "one" / "deep" / "er"
    command = (
        f'mount --bind "{source}" "{tmp_path / binding}" && exec "{sys.executable}" -c "$CODE" '
        + " ".join(f'"{tmp_path / zone}"' for zone in zones.split())
    )
    unshare = shutil.which("unshare")
    assert unshare
    done = subprocess.run(
        [unshare, "--mount", "--propagation", "private", "/bin/sh", "-c", command],
        env={**os.environ, "CODE": _BOUND},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert message in done.stdout
    assert bool(message) == bool(done.stdout.strip())
