"""What ``rolewall-check`` and its service say to each other, and ``rolewall-tool`` and its own.

A request is one frame: a length, then directory, number of arguments and
arguments, each ended by NUL. An answer is a row of frames: a letter, a length,
data; ``O`` output, ``E`` errors, ``M`` a message, ``X`` the exit code, last.
"""

from __future__ import annotations

import socket
import struct
import time
from dataclasses import dataclass

from rolewall.sandbox import Completed

__all__ = [
    "ConnectionLost",
    "Request",
    "read_request",
    "send_message",
    "send_output",
    "send_result",
]

FRAME_LIMIT = 256 * 1024
MOST_ARGUMENTS = 32_768
REQUEST_SECONDS = 10.0
REPLY_SECONDS = 30.0
CHUNK = 64 * 1024
HOME = "/workspace"


class ConnectionLost(Exception):
    """The other side is gone, or takes too long. Nobody is left to be told."""


@dataclass(frozen=True, slots=True)
class Request:
    """A command to run in ``cwd``, a directory of the workspace."""

    cwd: str
    argv: tuple[str, ...]


def read_request(connection: socket.socket, workdir: str = HOME) -> Request:
    """The one request of a connection.

    Its ``cwd`` is the caller's, if that is in the work; else ``workdir``, where the work
    is as well.

    Raises:
        ValueError: it is none; the message says why.
        ConnectionLost: it did not arrive whole in ten seconds.
    """
    until = time.monotonic() + REQUEST_SECONDS
    size = struct.unpack("<I", _exactly(connection, 4, until))[0]
    if size > FRAME_LIMIT:
        raise ValueError(f"the command is too long: {size} bytes, at most {FRAME_LIMIT}")
    fields = _exactly(connection, size, until).split(b"\0")
    if len(fields) < 4 or not fields[1].isdigit() or len(fields) != int(fields[1]) + 3:
        raise ValueError("not a request of rolewall-check")
    if int(fields[1]) > MOST_ARGUMENTS:
        raise ValueError(f"too many arguments: {int(fields[1])}, at most {MOST_ARGUMENTS}")
    words = [field.decode("utf-8", "surrogateescape") for field in fields]
    inside = any(f"{words[0]}/".startswith(f"{home}/") for home in (HOME, workdir))
    return Request(words[0] if inside else workdir, tuple(words[2:-1]))


def send_message(connection: socket.socket, text: str) -> None:
    """Tell the caller something that is no output of its command."""
    _send(connection, b"M", text.encode("utf-8", "replace"), time.monotonic() + REPLY_SECONDS)


def send_output(connection: socket.socket, data: bytes, code: int) -> None:
    """Output, and the exit code."""
    until = time.monotonic() + REPLY_SECONDS
    for start in range(0, len(data), CHUNK):
        _send(connection, b"O", data[start : start + CHUNK], until)
    _send(connection, b"X", str(code).encode(), until)


def send_result(connection: socket.socket, result: Completed) -> None:
    """Output, what was cut of it, and the exit code."""
    until = time.monotonic() + REPLY_SECONDS
    for kind, output in ((b"O", result.stdout), (b"E", result.stderr)):
        for start in range(0, len(output.data), CHUNK):
            _send(connection, kind, output.data[start : start + CHUNK], until)
        if output.truncated:
            _send(connection, b"M", f"output cut: {output.size} bytes in all".encode(), until)
    for ended, words in (
        (result.timed_out, b"the command took too long and was ended"),
        (result.disk_full, b"the command outgrew its disk and was ended"),
        (result.out_of_memory, b"the command ran out of memory and was killed"),
    ):
        if ended:
            _send(connection, b"M", words, until)
    _send(connection, b"X", str(result.returncode).encode(), until)


def _exactly(connection: socket.socket, size: int, until: float) -> bytes:
    data = b""
    try:
        while len(data) < size:
            connection.settimeout(max(0.001, until - time.monotonic()))
            piece = connection.recv(size - len(data))
            if not piece:
                raise ConnectionLost("cut off")
            data += piece
    except OSError as error:
        raise ConnectionLost(str(error)) from error
    return data


def _send(connection: socket.socket, kind: bytes, data: bytes, until: float) -> None:
    try:
        connection.settimeout(max(0.001, until - time.monotonic()))
        connection.sendall(kind + struct.pack("<I", len(data)) + data)
    except OSError as error:
        raise ConnectionLost(str(error)) from error
