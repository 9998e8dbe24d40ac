"""Nothing of a role outlives the order to kill it, or its box."""

from __future__ import annotations

import os
import resource
import select
import signal
from typing import TYPE_CHECKING

import pytest

from rolewall.errors import BoxError

if TYPE_CHECKING:
    from conftest import InitBox

pytestmark = pytest.mark.bubblewrap

WAIT = 20.0

BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""


STUBBORN = """
import ctypes, os, signal, time
libc = ctypes.CDLL(None)
for act in ("stop", "trace", "ignore", "orphan"):
    if os.fork() == 0:
        os.setsid()
        if act == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if act == "trace":
            child = os.fork()
            if child == 0:
                libc.ptrace(0, 0, 0, 0)
                os.kill(os.getpid(), signal.SIGSTOP)
            os.waitpid(child, os.WUNTRACED)
        if act == "orphan" and os.fork():
            os._exit(0)
        for n in range(1, 32):
            if n not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(n, signal.SIG_IGN)
        time.sleep(1000)
time.sleep(0.2)
"""


def test_daemons_live_until_everything_is_killed(box: InitBox) -> None:
    assert box.run("sh", "-c", "(setsid sleep 1000 &) ; (setsid sleep 1000 &)")[0] == 0
    assert len(box.left()) == 2
    assert box.channel.kill_all(WAIT) == 2
    assert box.left() == []
    assert box.channel.kill_all(WAIT) == 0


def test_killing_ends_the_running_command_first(box: InitBox) -> None:
    begun, *streams = box.begin("sleep", "1000")
    assert isinstance(begun, int)
    assert box.channel.kill_all(WAIT) == 1
    assert box.channel.poll_exit(0) == 128 + signal.SIGKILL
    for stream in streams:
        os.close(stream)


def test_a_fork_bomb_at_its_limit_is_killed(box: InitBox) -> None:
    box.rlimits = {resource.RLIMIT_NPROC: (40, 40)}
    begun, *streams = box.begin(*box.script(BOMB))
    assert isinstance(begun, int)
    assert box.channel.poll_exit(0.3) is None
    assert box.channel.kill_all(WAIT) > 10
    assert box.left() == []
    for stream in streams:
        os.close(stream)


def test_stopped_traced_and_deaf_processes_are_killed(box: InitBox) -> None:
    assert box.run(*box.script(STUBBORN))[0] == 0
    assert len(box.left()) == 5
    assert box.channel.kill_all(WAIT) >= 4  # a child of a parent deaf to SIGCHLD reaps itself
    assert box.left() == []


def test_the_box_ends_with_its_socket(box: InitBox) -> None:
    begun, out, err = box.begin("sh", "-c", "setsid sleep 1000 & echo up; sleep 1000")
    assert isinstance(begun, int)
    assert os.read(out, 3) == b"up\n"
    box.channel.close()
    assert select.select([out], [], [], WAIT)[0]
    assert (os.read(out, 1), os.read(err, 1)) == (b"", b"")  # no writer is left
    box.process.wait(WAIT)
    os.close(out)
    os.close(err)


def test_the_box_ends_when_told_to(box: InitBox) -> None:
    box.channel.quit()
    box.process.wait(WAIT)
    with pytest.raises(BoxError, match="gone"):
        box.channel.kill_all(WAIT)


def test_a_dead_box_is_an_error(box: InitBox) -> None:
    os.kill(box.pid, signal.SIGKILL)
    box.process.wait(WAIT)
    for act in (lambda: box.run("true"), lambda: box.channel.kill_all(WAIT)):
        with pytest.raises(BoxError, match="gone"):
            act()
