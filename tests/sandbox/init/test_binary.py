"""The program itself: where it is, what it refuses to be."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.errors import BackendUnavailable, BoxError
from rolewall.sandbox.channel import Channel
from rolewall.sandbox.init import init_path, locate

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.bubblewrap

WAIT = 20.0


def test_serve_is_for_pid_1_only() -> None:
    arguments = ["serve", "--control", "fd:0", "--role", "64101:64101"]
    done = subprocess.run([init_path(), *arguments], capture_output=True, timeout=WAIT, check=False)
    assert (done.returncode, b"must be pid 1" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("serve",),
        ("serve", "--control", "fd:3"),
        ("serve", "--control", "fd:3", "--role", "0:0"),
        ("serve", "--control", "fd:3", "--role", "5"),
        ("serve", "--control", "fd:3", "--role", "5:4294967295"),
        ("serve", "--control", "fd:3", "--role", "5:5", "--rolle", "6:6"),
        ("probe", "--zone", "x"),
        ("probe", "--zone", "/a/b:ro"),
        ("probe", "x"),
        ("unknown",),
    ],
)
def test_usage(arguments: tuple[str, ...]) -> None:
    done = subprocess.run([init_path(), *arguments], capture_output=True, timeout=WAIT, check=False)
    assert (done.returncode, done.stderr.split()[0]) == (2, b"usage:")


@pytest.mark.root
def test_init_that_may_not_become_the_role_says_so(
    root_command: Callable[[int], list[str]],
) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    argv = root_command(theirs.fileno())
    start = argv.index("--cap-add")
    process = subprocess.Popen(argv[:start] + argv[start + 6 :], pass_fds=[theirs.fileno()])
    theirs.close()
    channel = Channel(ours)
    with pytest.raises(BoxError, match=r"setgroups.*EPERM"):
        channel.hello(WAIT)
    channel.close()
    assert process.wait(WAIT) == 1


def test_a_missing_binary_names_the_way_out(tmp_path: Path) -> None:
    copy = shutil.copy(str(locate.__file__), tmp_path / "locate.py")
    spec = importlib.util.spec_from_file_location("locate_copy", copy)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(BackendUnavailable, match="make -C sandbox/init"):
        module.init_path()


def test_the_binary_is_static_and_small() -> None:
    data = init_path().read_bytes()
    assert data[:4] == b"\x7fELF"
    assert b"/ld-linux" not in data
    assert len(data) < 2_000_000
