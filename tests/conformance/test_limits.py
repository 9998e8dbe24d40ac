"""What a box says of its limits, and what its end for want of memory looks like."""

from __future__ import annotations

import os
from collections.abc import Callable
from io import BytesIO

import pytest

from rolewall.errors import BoxError
from rolewall.policies import Limits
from rolewall.sandbox import Backend, Box, Streams, ZoneMount

Start = Callable[..., Box]
Zone = Callable[..., ZoneMount]

TIGHT = Limits(memory_mb=48, pids=32, cpus=1.0, disk_mb=64)
# Memory that belongs to no process: nothing is freed by killing any.
STARVE = """
import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
print('begun', flush=True)
while True:
    place = libc.shmat(libc.shmget(0, 1 << 20, 0o1600), None, 0)
    ctypes.memset(place, 1, 1 << 20)
    libc.shmdt(ctypes.c_void_p(place))
"""
FILL = (
    "for n in 1 2 3 4 5 6; do for d in /tmp /home /dev/shm; do"
    " head -c 2m /dev/zero > $d/$n & done; done; wait"
)


@pytest.mark.root
def test_a_box_that_is_ended_at_its_memory_limit(start: Start) -> None:
    box = start(limits=TIGHT)
    sink = BytesIO()
    hog = box.run(["python3", "-c", STARVE], streams=Streams(sink))
    assert (hog.returncode, hog.out_of_memory) == (137, True)
    assert (hog.stdout.data, sink.getvalue()) == (b"begun\n", b"begun\n")
    assert not box.starved and box.facts["limits_hit"] == {"memory_mb": 1, "pids": 0, "cpus": 0}
    for _ in range(50):
        done = box.run(["sh", "-c", f"echo x; {FILL}"], timeout=30)
        if box.starved:
            break
    assert box.starved
    assert (done.returncode, done.out_of_memory) == (137, True)
    assert done.stdout.data in (b"", b"x\n")
    again = box.run(["true"])
    assert (again.returncode, again.out_of_memory, again.stdout.size) == (137, True, 0)
    assert box.kill_all() == 0
    assert box.facts["limits_hit"]["memory_mb"] > 1  # type: ignore[index]
    box.close()


@pytest.mark.root
def test_a_box_that_starves_while_nobody_looks(start: Start) -> None:
    box = start(limits=TIGHT)
    box.run(["python3", "-c", STARVE])
    for _ in range(200):
        leave = f"(while :; do {FILL}; done) >/dev/null 2>&1 & exit 0"
        assert box.run(["setsid", "sh", "-c", leave], timeout=30).returncode in (0, 137)
        assert box.kill_all() >= 0
        if box.starved:
            break
    assert box.starved


def test_a_box_that_breaks_otherwise_is_no_lack_of_memory(start: Start) -> None:
    box = start(limits=TIGHT)
    assert box.run(["true"]).returncode == 0
    box.interrupt()
    with pytest.raises(BoxError):
        box.run(["true"])
    assert not box.starved


def test_what_was_not_met_is_counted_too(start: Start, backend: Backend) -> None:
    box = start()
    assert box.run(["true"]).returncode == 0
    hit = box.facts["limits_hit"]
    counted = backend.name == "docker" or os.geteuid() == 0
    assert hit == ({"memory_mb": 0, "pids": 0, "cpus": 0} if counted else {})
