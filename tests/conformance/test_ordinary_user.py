"""A user who is not root gets the same wall, as far as that user can put it up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from conftest import Ran, User

pytestmark = pytest.mark.root

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


def result(done: Ran) -> list[object]:
    assert done.code == 0, done.err
    found = done.json
    assert isinstance(found, list)
    return found


def test_the_wall_is_the_same(backend: Backend, ordinary: User) -> None:
    write = ordinary.directory("write")
    bad, good, uid, killed, _ = result(ordinary.python("-c", BOX, backend.name, str(write)))
    assert (bad, good, uid) == (1, 0, str(ordinary.uid))
    assert killed != 0


@pytest.mark.deviates("bubblewrap", "an unprivileged user namespace maps one user, so no second")
def test_init_has_a_user_of_its_own(backend: Backend, ordinary: User) -> None:
    *_, distinct = result(
        ordinary.python("-c", BOX, backend.name, str(ordinary.directory("write")))
    )
    assert distinct is True


def test_a_zone_may_belong_to_somebody_else(backend: Backend, ordinary: User) -> None:
    write = ordinary.home / "shared"
    write.mkdir()
    write.chmod(0o777)
    assert write.stat().st_uid == 0
    bad, good, *_ = result(ordinary.python("-c", BOX, backend.name, str(write)))
    assert (bad, good) == (1, 0)
    assert (write / "new").stat().st_uid == ordinary.uid
