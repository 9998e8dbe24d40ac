from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rolewall.errors import BoxError, InputError, StorageError
from rolewall.policies import HostPort
from rolewall.sandbox import kit as module
from rolewall.sandbox.kit import Kit, clean_kits
from rolewall.sandbox.protocol import BoxSpec
from rolewall.sandbox.uids import Identity

IDENTITY = Identity(5001, 5002, 6001, 6002)
MINE = f"-{os.getpid()}-"


@pytest.fixture
def kit() -> Iterator[Kit]:
    spec = BoxSpec(
        label="test",
        mounts=(),
        files={"prompt.md": b"words", "agents/a/b": b"x"},
        programs={"bin/tool": b"#!/bin/sh\n"},
        allow=(HostPort("a.example", 443),),
    )
    made = Kit.make(spec, IDENTITY)
    yield made
    made.close()


def mine() -> list[str]:
    return [path.name for path in module.kits_directory().iterdir() if MINE in path.name]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_what_is_in_it(kit: Kit) -> None:
    assert (kit.path / "prompt.md").read_bytes() == b"words"
    assert (kit.path / "agents/a/b").read_bytes() == b"x"
    modes = {name: (kit.path / name).stat().st_mode & 0o777 for name in ("prompt.md", "bin/tool")}
    assert modes == {"prompt.md": 0o644, "bin/tool": 0o755}
    assert os.access(kit.path / "init", os.X_OK)
    assert os.readlink(kit.path / "bin/rolewall-check") == "../init"
    assert b"role:x:5001:5002" in (kit.path / "etc/passwd").read_bytes()
    assert b"a.example" in kit.hosts.read_bytes()


def test_close_leaves_nothing_and_may_be_called_twice(kit: Kit) -> None:
    kit.close()
    kit.close()
    assert not kit.path.exists()


def test_the_door_opens_once(kit: Kit) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as init:
        init.connect(str(kit.path / "control.sock"))
        with kit.accept(10) as control:
            init.send(b"h")
            assert control.recv(10) == b"h"
    assert not (kit.path / "control.sock").exists()


def test_a_door_that_nobody_enters_is_an_error(kit: Kit) -> None:
    with pytest.raises(BoxError, match="did not answer"):
        kit.accept(0.01)
    assert not (kit.path / "control.sock").exists()


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (BoxSpec(label="test", mounts=(), files={"../out": b"x"}), BoxError),
        (BoxSpec(label="test", mounts=(), files={"init/below": b"x"}), StorageError),
        (BoxSpec(label="test", mounts=(), allow=(HostPort("192.0.2.1", 1),)), InputError),
    ],
)
def test_a_kit_that_cannot_be_made_leaves_nothing(spec: BoxSpec, error: type[Exception]) -> None:
    kits, open_before = mine(), descriptors()
    with pytest.raises(error):
        Kit.make(spec, IDENTITY)
    assert (mine(), descriptors()) == (kits, open_before)


DEAD = """
from rolewall.sandbox.kit import Kit
from rolewall.sandbox.protocol import BoxSpec
from rolewall.sandbox.uids import Identity
print(Kit.make(BoxSpec(label="dead", mounts=()), Identity(1, 1, 2, 2)).path, flush=True)
import os
os._exit(0)
"""


def test_only_kits_of_the_dead_are_removed(kit: Kit) -> None:
    argv = [sys.executable, "-c", DEAD]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    left = Path(done.stdout.strip())
    assert left.is_dir()
    assert f"kit {left.name}" in clean_kits()
    assert not left.exists()
    assert kit.path.is_dir()
    assert f"kit {left.name}" not in clean_kits()
