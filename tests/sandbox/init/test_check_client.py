"""``rolewall-check`` inside a box, against a server outside."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING

import pytest

from rolewall.sandbox.protocol import Listen

if TYPE_CHECKING:
    from conftest import InitBox

pytestmark = pytest.mark.bubblewrap

WAIT = 20.0

CHECK = "/rolewall/bin/rolewall-check"


def frames(connection: socket.socket, *parts: tuple[bytes, bytes]) -> None:
    for kind, data in parts:
        connection.sendall(kind + struct.pack("<I", len(data)) + data)


def exchange(
    box: InitBox,
    argv: tuple[str, ...],
    *parts: tuple[bytes, bytes],
    name: str = "rolewall-check",
) -> tuple[list[bytes], int | None, bytes, bytes]:
    """Run the check client against a server that answers with ``parts`` and hangs up."""
    where = Listen("abstract", name)
    with socket.socket(fileno=box.channel.listen(where)) as listener:
        listener.settimeout(WAIT)
        begun, out, err = box.begin(*argv, cwd="/tmp")
        assert isinstance(begun, int)
        with listener.accept()[0] as connection:
            (size,) = struct.unpack("<I", connection.recv(4, socket.MSG_WAITALL))
            request = connection.recv(size, socket.MSG_WAITALL)
            frames(connection, *parts)
        return request.split(b"\0"), box.channel.poll_exit(WAIT), box.read(out), box.read(err)


def test_check_passes_command_output_and_exit_code(box: InitBox) -> None:
    parts = ((b"O", b"out\n"), (b"E", b"err\n"), (b"O", b"x" * 30_000), (b"M", b"slow"))
    argv = (CHECK, "--", "pytest", "-q", "")
    request, code, out, err = exchange(box, argv, *parts, (b"X", b"5"))
    assert request == [b"/tmp", b"3", b"pytest", b"-q", b"", b""]
    assert (code, out) == (5, b"out\n" + b"x" * 30_000)
    assert err == b"err\nrolewall-check: slow\n"


def test_check_is_also_a_subcommand(box: InitBox) -> None:
    argv = ("/rolewall/init", "check", "--", "true")
    assert exchange(box, argv, (b"X", b"0"))[:2] == ([b"/tmp", b"1", b"true", b""], 0)


@pytest.mark.parametrize(
    "parts",
    [
        (),
        ((b"O", b"half"),),
        ((b"X", b""),),
        ((b"X", b"256"),),
        ((b"X", b"-1"),),
        ((b"X", b"0" * 5000),),
        ((b"?", b""),),
    ],
)
def test_check_never_takes_a_broken_answer_for_success(
    box: InitBox, parts: tuple[tuple[bytes, bytes], ...]
) -> None:
    _, code, _, err = exchange(box, (CHECK, "true"), *parts)
    assert (code, err.startswith(b"rolewall-check: the harness ")) == (125, True)


def test_a_tool_is_asked_for_on_a_socket_of_its_own(box: InitBox) -> None:
    argv = ("/rolewall/init", "tool", "page", "{}")
    parts = ((b"O", b"{}\n"), (b"X", b"2"))
    request, code, out, err = exchange(box, argv, *parts, name="rolewall-tool")
    assert request == [b"/tmp", b"2", b"page", b"{}", b""]
    assert (code, out, err) == (2, b"{}\n", b"")
    for arguments, words in (
        ((), b"usage: rolewall-tool NAME"),
        (("page",), b"rolewall-tool: no "),
    ):
        code, _, err = box.run("/rolewall/init", "tool", *arguments)
        assert (code, err.startswith(words)) == (125, True)


def test_check_without_command_or_harness_fails(box: InitBox) -> None:
    for arguments in ((), ("--",), ("--help",)):
        code, _, err = box.run(CHECK, *arguments)
        assert (code, err.split()[0]) == (125, b"usage:")
    code, _, err = box.run(CHECK, "--", "true")
    assert (code, err) == (125, b"rolewall-check: no check box here (ECONNREFUSED)\n")
