"""A user who is not root gets the same wall, as far as that user can put it up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import rolewall.errors
from rolewall.sandbox import Backend
from rolewall.sandbox.docker.engine import engine_address

pytestmark = pytest.mark.root

USER = 64101
Ordinary = Callable[..., subprocess.CompletedProcess[str]]

BOX = """
import json, os, sys
from pathlib import Path
from rolewall.policies import Limits
from rolewall.sandbox import BoxSpec, ZoneMount, find_backend, open_box
backend, write = sys.argv[1], Path(sys.argv[2])
read = Path("read").absolute()
read.mkdir()
mounts = (ZoneMount("brief", read, False), ZoneMount("workspace", write, True))
limits = Limits(memory_mb=512, pids=64, disk_mb=16)
spec = BoxSpec(label="test", mounts=mounts, tap=False, limits=limits)
with open_box(find_backend(backend), spec) as box:
    bad = box.run(["touch", "/brief/new"]).returncode
    good = box.run(["touch", "/workspace/new"]).returncode
    uid = box.run(["id", "-u"]).stdout.text()
    killed = box.run(["/bin/sh", "-c", "kill -9 1"]).returncode
print(json.dumps([bad, good, uid.strip(), killed, box.facts["distinct_uids"]]))
"""


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory of the ordinary user's, which that user can reach."""
    with tempfile.TemporaryDirectory() as name:
        os.chown(name, USER, USER)
        yield Path(name)


@pytest.fixture
def ordinary(home: Path) -> Ordinary:
    """Run Python as a user who may use the engine, and has nothing more."""
    groups = []
    with suppress(OSError):
        groups = [os.stat(engine_address().removeprefix("unix://")).st_gid]
    packages = [path for path in sys.path if path.endswith("site-packages")]
    packages.append(str(Path(rolewall.errors.__file__).parents[1]))
    environ = {
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(home),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": ":".join(packages),
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def run(python: str, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, "-c", script, *arguments],
            cwd=home,
            env=environ,
            user=USER,
            group=USER,
            extra_groups=groups,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    for python in (sys.executable, "/usr/bin/python3"):
        with suppress(OSError):
            if run(python, "import rolewall.sandbox").returncode == 0:
                return lambda script, *arguments: run(python, script, *arguments)
    pytest.skip("rolewall and its Python lie where no other user can read them")


def result(done: subprocess.CompletedProcess[str]) -> list[object]:
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found


def test_the_wall_is_the_same(backend: Backend, ordinary: Ordinary, home: Path) -> None:
    write = home / "write"
    write.mkdir()
    os.chown(write, USER, USER)
    bad, good, uid, killed, distinct = result(ordinary(BOX, backend.name, str(write)))
    assert (bad, good, uid) == (1, 0, str(USER))
    assert killed != 0
    assert distinct is (backend.name == "docker")


def test_a_zone_may_belong_to_somebody_else(
    backend: Backend, ordinary: Ordinary, home: Path
) -> None:
    write = home / "shared"
    write.mkdir()
    write.chmod(0o777)
    assert write.stat().st_uid == 0
    bad, good, *_ = result(ordinary(BOX, backend.name, str(write)))
    assert (bad, good) == (1, 0)
    assert (write / "new").stat().st_uid == USER
