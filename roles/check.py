"""The check box: where a verifier runs the work without lending it its own rights.

``rolewall-check -- COMMAND`` in the verifier's box asks the service here; the
command runs in a box of its own, on a private copy of the workspace, with
neither specification, verdict, nonce nor the agent's home.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rolewall.errors import BoxError, InfrastructureError
from rolewall.sandbox import Box, BoxSpec, Completed, Listen, ZoneMount

__all__ = ["CHECK_SOCKET", "CheckRun", "CheckService"]

CHECK_SOCKET = Listen("abstract", "rolewall-check")
FRAME_LIMIT = 256 * 1024
OUTPUT_LIMIT = 4 * 1024 * 1024
SEND_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class CheckRun:
    """One command that ran in a check box."""

    argv: tuple[str, ...]
    returncode: int
    started: float
    ended: float


class CheckService:
    """Answers ``rolewall-check`` for one verifier phase, one command at a time.

    Args:
        listener: the listening socket that init opened in the verifier's box.
        snapshot: makes a private copy of the workspace as it is, and returns it.
        open_check: opens a check box over that copy.
        seconds: the longest a command may take.

    ``trouble`` is what kept a command from running that was no fault of the
    verifier's: whoever serves must look at it, since the verifier was told only
    that the command failed.
    """

    def __init__(
        self,
        listener: int,
        snapshot: Callable[[], Path],
        open_check: Callable[[Path], Box],
        seconds: float,
    ) -> None:
        self.runs: list[CheckRun] = []
        self.trouble: InfrastructureError | None = None
        self._socket = socket.socket(fileno=listener)
        self._snapshot = snapshot
        self._open = open_check
        self._seconds = seconds
        self._thread = threading.Thread(target=self._serve, name="rolewall-check", daemon=True)
        self._box: Box | None = None
        self._closed = False
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.settimeout(self._seconds)
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        try:
            cwd, argv = _request(connection)
        except ValueError as error:
            _send(connection, b"M", str(error).encode())
            return
        try:
            result = self._run(cwd, argv)
        except InfrastructureError as error:
            if not self._closed:
                self.trouble = self.trouble or error
            _send(connection, b"M", b"the check box failed; the phase will not count")
            return
        _reply(connection, result)

    def _run(self, cwd: str, argv: Sequence[str]) -> Completed:
        with self._open(self._snapshot()) as box:
            self._box = box
            if self._closed:
                raise BoxError("the phase is over")
            result = box.run(argv, cwd=cwd, timeout=self._seconds, output_limit=OUTPUT_LIMIT)
            box.kill_all()
            box.finish()
        self.runs.append(CheckRun(result.argv, result.returncode, result.started, result.ended))
        return result

    def close(self) -> None:
        """Take no further command and end the one that runs."""
        self._closed = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        if self._box:
            self._box.interrupt()
        self._thread.join()


def check_spec(base: BoxSpec, copy: Path) -> BoxSpec:
    """The check box that belongs to a verifier's box ``base``."""
    files = {name: data for name, data in base.files.items() if name.startswith("agents/")}
    hidden = [m.zone for m in base.mounts if m.zone != "workspace"]
    return BoxSpec(
        label="check",
        mounts=(ZoneMount("workspace", copy, writable=True),),
        absent=(*base.absent, *hidden),
        files=files,
        image=base.image,
        limits=base.limits,
        tap=base.tap,
        env={k: v for k, v in base.env.items() if k == "ROLEWALL_TASK"},
    )


def _request(connection: socket.socket) -> tuple[str, list[str]]:
    size = struct.unpack("<I", _exactly(connection, 4))[0]
    if size > FRAME_LIMIT:
        raise ValueError(f"the command is too long: {size} bytes, at most {FRAME_LIMIT}")
    fields = _exactly(connection, size).split(b"\0")
    if len(fields) < 4 or not fields[1].isdigit() or len(fields) != int(fields[1]) + 3:
        raise ValueError("not a request of rolewall-check")
    words = [field.decode("utf-8", "surrogateescape") for field in fields]
    cwd = words[0] if words[0].startswith("/workspace") else "/workspace"
    return cwd, words[2:-1]


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ValueError("the request was cut off")
        data += piece
    return data


def _reply(connection: socket.socket, result: Completed) -> None:
    for kind, output in ((b"O", result.stdout), (b"E", result.stderr)):
        for start in range(0, len(output.data), SEND_CHUNK):
            _send(connection, kind, output.data[start : start + SEND_CHUNK])
        if output.truncated:
            _send(connection, b"M", f"output cut: {output.size} bytes in all".encode())
    if result.timed_out:
        _send(connection, b"M", b"the command took too long and was ended")
    _send(connection, b"X", str(result.returncode).encode())


def _send(connection: socket.socket, kind: bytes, data: bytes) -> None:
    connection.sendall(kind + struct.pack("<I", len(data)) + data)
