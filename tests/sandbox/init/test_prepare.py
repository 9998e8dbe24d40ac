"""Listeners and the filter, handed out before the first command."""

from __future__ import annotations

import fcntl
import os
import platform
import select
import socket
import struct
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from rolewall.errors import BoxError
from rolewall.sandbox.channel import Channel
from rolewall.sandbox.protocol import Listen

if TYPE_CHECKING:
    from conftest import InitBox

pytestmark = pytest.mark.bubblewrap

WAIT = 20.0

NOTIFY, ALLOW = 0x7FC00000, 0x7FFF0000
NOTIF_RECEIVE, NOTIF_SEND, NOTIF_CONTINUE = 0xC0502100, 0xC0182101, 1


CONNECT = """
import socket, sys
family, address = ((socket.AF_INET, ("127.0.3.1", 8443)), (socket.AF_UNIX, "\\0the-name"))[%d]
with socket.socket(family) as s:
    s.connect(address)
    s.sendall(b"ping")
    print(s.recv(4).decode())
"""


@pytest.mark.parametrize(
    "listen", [Listen("tcp", "127.0.3.1", 8443), Listen("abstract", "the-name")]
)
def test_listeners_inside_are_served_outside(box: InitBox, listen: Listen) -> None:
    with socket.socket(fileno=box.channel.listen(listen)) as listener:
        listener.settimeout(WAIT)
        begun, out, err = box.begin(*box.script(CONNECT % (listen.kind == "abstract")))
        assert isinstance(begun, int)
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(4) == b"ping"
            connection.sendall(b"pong")
        assert box.channel.poll_exit(WAIT) == 0
        assert (box.read(out), box.read(err)) == (b"pong\n", b"")


@pytest.mark.parametrize(
    "listen",
    [
        Listen("tcp", "0.0.0.0", 80),
        Listen("tcp", "::1", 80),
        Listen("tcp", "localhost", 80),
        Listen("tcp", "127.0.0.1", 70000),
        Listen("abstract", ""),
        Listen("abstract", "n" * 200),
        Listen("abstract", "name", 5),
    ],
)
def test_other_listeners_are_refused(box: InitBox, listen: Listen) -> None:
    with pytest.raises(BoxError, match="EPROTO"):
        box.channel.listen(listen)
    os.close(box.channel.listen(Listen("tcp", "127.0.0.1", 8080)))


def notify_filter(*numbers: int) -> bytes:
    """Asks the supervisor about these system calls and allows the rest."""
    rows = [(0x20, 0, 0, 0)]
    for number in numbers:
        rows += [(0x15, 0, 1, number), (0x06, 0, 0, NOTIFY)]
    return b"".join(struct.pack("<HBBI", *row) for row in [*rows, (0x06, 0, 0, ALLOW)])


def mkdir_filter() -> bytes:
    return notify_filter(*{"x86_64": (83, 258), "aarch64": (34,)}[platform.machine()])


def test_the_filter_is_handed_out_and_inherited(box: InitBox) -> None:
    listener = box.channel.install_filter(mkdir_filter())
    begun, out, err = box.begin("sh", "-c", "mkdir /tmp/seen && ls -d /tmp/seen")
    assert isinstance(begun, int)
    request = bytearray(80)
    assert select.select([listener], [], [], WAIT)[0]
    fcntl.ioctl(listener, NOTIF_RECEIVE, request)
    answer = bytearray(struct.pack("<QqiI", struct.unpack_from("<Q", request)[0], 0, 0, 1))
    fcntl.ioctl(listener, NOTIF_SEND, answer)
    assert box.channel.poll_exit(WAIT) == 0
    assert (box.read(out), box.read(err)) == (b"/tmp/seen\n", b"")
    os.close(listener)
    code, _, complaint = box.run("mkdir", "/tmp/unseen")
    assert code == 1
    assert b"Function not implemented" in complaint
    assert box.probe()["seccomp_filters"] == 1


def test_the_filter_closes_preparation(box: InitBox) -> None:
    for junk in (b"1234567", b"\xff" * 8, bytes(8 * 4097)):
        with pytest.raises(BoxError):
            box.channel.install_filter(junk)
    os.close(box.channel.install_filter(mkdir_filter()))
    with pytest.raises(BoxError, match="EPERM"):
        box.channel.install_filter(mkdir_filter())
    with pytest.raises(BoxError, match="EPERM"):
        box.channel.listen(Listen("tcp", "127.0.0.1", 8080))
    assert box.run("true")[0] == 0


def test_without_its_supervisor_nothing_starts(box: InitBox) -> None:
    numbers = {"x86_64": 59, "aarch64": 221}
    os.close(box.channel.install_filter(notify_filter(numbers[platform.machine()])))
    with pytest.raises(BoxError, match="tap is gone"):
        box.begin("true")
    assert box.channel.kill_all(WAIT) in (0, 1)


@pytest.mark.root
def test_a_listener_may_have_the_port_of_its_destination(
    root_command: Callable[[int], list[str]],
) -> None:
    for caps, allowed in (([], False), (["--cap-add", "CAP_NET_BIND_SERVICE"], True)):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        argv = root_command(theirs.fileno())
        at = argv.index("--cap-add")
        with subprocess.Popen([*argv[:at], *caps, *argv[at:]], pass_fds=[theirs.fileno()]):
            theirs.close()
            channel = Channel(ours)
            channel.hello(WAIT)
            if allowed:
                os.close(channel.listen(Listen("tcp", "127.0.1.1", 443)))
            else:
                with pytest.raises(BoxError, match="EACCES"):
                    channel.listen(Listen("tcp", "127.0.1.1", 443))
            channel.close()
