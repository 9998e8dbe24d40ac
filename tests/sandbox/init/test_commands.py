"""One command: what it gets, how it ends, why it did not start."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.errors import BoxError, InputError
from rolewall.sandbox.channel import Channel, NotStarted

if TYPE_CHECKING:
    from conftest import InitBox

pytestmark = pytest.mark.bubblewrap

WAIT = 20.0


def test_hello_carries_the_pid_in_our_namespace(box: InitBox) -> None:
    status = Path(f"/proc/{box.pid}/status").read_text()
    assert "rolewall-init" in status.splitlines()[0] or "init" in status.splitlines()[0]
    assert [line.split()[-1] for line in status.splitlines() if line[:6] == "NSpid:"] == ["1"]


def test_a_command_gets_its_streams_environment_directory_and_nothing_else(box: InitBox) -> None:
    script = "cat; pwd; env | sort; ls /proc/self/fd | wc -w; umask; id -u; echo no >&2; exit 7"
    code, out, err = box.run("sh", "-c", script, cwd="/tmp", stdin=b"hello\n")
    lines = out.decode().splitlines()
    assert (code, err) == (7, b"no\n")
    assert lines[:2] == ["hello", "/tmp"]
    assert {"PATH=" + box.env["PATH"], "LC_ALL=C"} <= set(lines)
    assert lines[-3:] == ["4", "0022", str(box.uid)]  # ls itself has one descriptor more


def test_commands_run_one_after_the_other(box: InitBox) -> None:
    for code in (0, 1, 255):
        assert box.run("sh", "-c", f"exit {code}")[0] == code


def test_a_signal_is_128_and_its_number(box: InitBox) -> None:
    assert box.run("sh", "-c", "kill -SEGV $$")[0] == 128 + signal.SIGSEGV


def test_the_session_is_signalled_politely(box: InitBox) -> None:
    script = "trap 'echo bye; exit 3' TERM; echo up; sleep 1000 & wait"
    begun, out, err = box.begin("sh", "-c", script)
    assert isinstance(begun, int)
    assert os.read(out, 3) == b"up\n"
    assert box.channel.poll_exit(0) is None
    box.channel.signal(signal.SIGTERM)
    assert box.channel.poll_exit(WAIT) == 3
    assert (box.read(out), box.read(err)) == (b"bye\n", b"")
    box.channel.signal(signal.SIGTERM)
    assert box.run("true")[0] == 0


def test_ignored_signals_and_masks_are_not_inherited(box: InitBox) -> None:
    _, out, _ = box.run("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")
    assert {line.split()[1] for line in out.decode().splitlines()} == {"0" * 16}


# Ignores every signal there is, those too that libc keeps for itself, blocks two, and
# becomes the program it is told.
DEAF = """
import ctypes, os, platform, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 13, "aarch64": 134}[platform.machine()]
ignore = (ctypes.c_ulong * 8)(1)
for each in range(1, 65):
    if each not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD):
        assert libc.syscall(number, each, ignore, None, 8) == 0
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.root
def test_signals_are_as_new_whoever_started_the_box(
    root_command: Callable[[int], list[str]],
) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        argv = [sys.executable, "-c", DEAF, *root_command(theirs.fileno())]
        process = subprocess.Popen(argv, pass_fds=[theirs.fileno()])
    channel = Channel(ours)
    reader, writer = os.pipe()
    try:
        channel.hello(WAIT)
        with open(os.devnull, "rb") as null:
            channel.start(
                ["/usr/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"],
                cwd="/",
                env={},
                rlimits={},
                stdin=null.fileno(),
                stdout=writer,
                stderr=writer,
            )
        assert channel.poll_exit(WAIT) == 0
        said = os.read(reader, 4096).decode()
    finally:
        os.close(reader)
        os.close(writer)
        channel.close()
        process.wait(WAIT)
    assert [line.split()[1] for line in said.splitlines()] == ["0" * 16] * 2


def test_limits_are_set(box: InitBox) -> None:
    box.rlimits = {
        resource.RLIMIT_NOFILE: (32, 64),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_CPU: (resource.RLIM_INFINITY, resource.RLIM_INFINITY),
    }
    code, out, _ = box.run("sh", "-c", "ulimit -Sn; ulimit -Hn; ulimit -c; ulimit -t")
    assert (code, out) == (0, b"32\n64\n0\nunlimited\n")


@pytest.mark.parametrize(
    ("argv", "error", "code"),
    [
        (("no-such-program",), "ENOENT", 127),
        (("/no/such/program",), "ENOENT", 127),
        (("",), "ENOENT", 127),
        (("/tmp",), "EACCES", 126),
        (("/usr/share/dict/../../share/doc",), None, 126),
        (("/proc/self/cmdline",), "EACCES", 126),
    ],
)
def test_what_cannot_be_executed_is_the_commands_failure(
    box: InitBox, argv: tuple[str, ...], error: str | None, code: int
) -> None:
    begun, out, err = box.begin(*argv)
    assert isinstance(begun, NotStarted)
    assert begun.step == "exec"
    if error:
        assert (begun.error, begun.returncode) == (error, code)
    os.close(out)
    os.close(err)
    assert box.run("true")[0] == 0


def test_a_missing_directory_is_the_commands_failure(box: InitBox) -> None:
    begun, *streams = box.begin("true", cwd="/absent")
    assert begun == NotStarted("ENOENT", "chdir")
    assert begun.returncode == 126
    for stream in streams:
        os.close(stream)


def test_too_long_a_command_is_the_commands_failure(box: InitBox) -> None:
    assert box.run("true", "x" * 100_000, "y" * 100_000)[0] == 0
    begun, *streams = box.begin("true", *["x" * 100_000] * 3)
    assert begun == NotStarted("E2BIG", "exec")
    for stream in streams:
        os.close(stream)
    with pytest.raises(InputError, match="NUL"):
        box.run("echo", "a\0b")


def test_an_impossible_limit_is_the_boxs_failure(box: InitBox) -> None:
    box.rlimits = {999: (1, 1)}
    with pytest.raises(BoxError, match="rlimits"):
        box.run("true")
    box.rlimits = {}
    assert box.run("true")[0] == 0


def test_a_second_command_waits_its_turn(box: InitBox) -> None:
    begun, *streams = box.begin("sleep", "1000")
    assert isinstance(begun, int)
    with open(os.devnull, "rb") as null:
        message = b"R9\0/\x000\x000\x001\0true\0"
        socket.send_fds(box.raw, [message], [null.fileno()] * 3)
    assert box.raw.recv(512) == b"e9\0EBUSY\0run\0"
    with pytest.raises(BoxError, match="already running"):
        box.begin("true")
    assert box.channel.kill_all(WAIT) == 1
    for stream in streams:
        os.close(stream)
