"""The harness's end of a box's control socket.

One SOCK_SEQPACKET datagram is one message: a letter and NUL-terminated fields;
``sandbox/init/README.md`` has the table. Every request has one answer, except
that the end of a command (``x``) may arrive at any time after its start.
"""

from __future__ import annotations

import array
import errno
import os
import select
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rolewall.errors import BoxError, InputError

if TYPE_CHECKING:
    from rolewall.sandbox.protocol import Listen

__all__ = ["Channel", "Hello", "NotStarted"]

PROTOCOL = 1
MESSAGE_MAX = 256 * 1024
ANSWER_MAX = 4096
ANSWER_SECONDS = 30.0
UNLIMITED = 2**64 - 1
CREDENTIALS = struct.Struct("3i")
# Steps at which a start fails because of the command or the role's own limits.
COMMAND_STEPS = frozenset({"exec", "chdir", "fork"})


@dataclass(frozen=True, slots=True)
class Hello:
    """Init is up: its pid as the harness sees it, and the protocol it speaks."""

    pid: int
    version: int


@dataclass(frozen=True, slots=True)
class NotStarted:
    """The command could not be started, by its own fault and not the box's.

    ``step`` is ``exec`` (no such program, not executable, too many arguments),
    ``chdir`` or ``fork`` (the role is at its process limit).
    """

    error: str
    step: str

    @property
    def returncode(self) -> int:
        """What a shell would return: 127 for a missing program, else 126."""
        return 127 if self.error == "ENOENT" and self.step == "exec" else 126

    @property
    def reason(self) -> str:
        """In words, such as ``exec: No such file or directory``."""
        code = getattr(errno, self.error, None)
        text = os.strerror(code) if code is not None else self.error
        return f"{self.step}: {text}"


@dataclass(frozen=True, slots=True)
class _Message:
    kind: str
    fields: tuple[str, ...]
    descriptors: tuple[int, ...]
    sender: int


class Channel:
    """One box, commanded through its control socket, which the channel then owns.

    Every method raises ``BoxError`` when init does not answer, has died or
    refuses for a reason that is not the command's. Closing the channel ends
    the box with every process in it.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._sock.settimeout(ANSWER_SECONDS)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MESSAGE_MAX)
        self._commands = 0
        self._running = False
        self._returncode: int | None = None

    def hello(self, timeout: float) -> Hello:
        """Wait up to ``timeout`` seconds until init has shut itself in."""
        message = self._answer("h", timeout)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        version = int(message.fields[0])
        if version != PROTOCOL:
            raise BoxError("rolewall-init is of another version", got=version, expected=PROTOCOL)
        if message.sender <= 0:
            raise BoxError("the box is in a pid namespace that cannot be seen from here")
        return Hello(message.sender, version)

    def listen(self, listen: Listen) -> int:
        """Descriptor of a listening socket inside the box; only before the filter."""
        self._send(b"L", listen.kind, listen.address, listen.port)
        return self._descriptor("l")

    def install_filter(self, program: bytes) -> int:
        """Put a seccomp program in force, once; descriptor of its notification listener."""
        if not program or len(program) >= MESSAGE_MAX:
            raise BoxError("not a filter program", got=f"{len(program)} bytes")
        self._transmit(b"F" + program)
        return self._descriptor("f")

    def start(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        rlimits: Mapping[int, tuple[int, int]],
        stdin: int,
        stdout: int,
        stderr: int,
    ) -> int | NotStarted:
        """Start a command as the role; its pid inside the box, or why it did not start.

        ``argv[0]`` without a slash is looked up in ``env["PATH"]``. ``rlimits``
        are ``resource.RLIMIT_*`` to (soft, hard). Descriptors stay the caller's.
        """
        if self._running:
            raise BoxError("a command is already running in this box")
        self._commands += 1
        self._returncode = None
        limits = [str(n % (UNLIMITED + 1)) for k, v in rlimits.items() for n in (k, *v)]
        variables = [f"{name}={value}" for name, value in env.items()]
        fields: list[str | int] = [self._commands, cwd, len(rlimits), *limits]
        fields += [len(variables), *variables, len(argv), *argv]
        if not self._send(b"R", *fields, descriptors=(stdin, stdout, stderr)):
            return NotStarted("E2BIG", "exec")
        message = self._receive(ANSWER_SECONDS)
        if message.kind == "e" and message.fields[2] in COMMAND_STEPS:
            return _not_started(*message.fields[1:])
        self._check(message, "s")
        self._running = True
        return int(message.fields[1])

    def poll_exit(self, timeout: float | None) -> int | None:
        """Exit status of the command (128+N for signal N), or None if it still
        runs after ``timeout`` seconds; None waits for ever."""
        if self._running and self._readable(timeout):
            self._check(self._receive(0), "x")
        if not self._running and self._returncode is None:
            raise BoxError("no command was started in this box")
        return self._returncode

    def kill_all(self, timeout: float) -> int:
        """Kill every process of the role and see that none is left; how many were reaped."""
        self._send(b"K")
        return int(self._answer("k", timeout).fields[0])

    def signal(self, number: int) -> None:
        """Send a signal to the running command's process group, if one runs."""
        self._send(b"S", number)

    def quit(self) -> None:
        """Ask init to exit, which ends the box."""
        self._transmit(b"Q")

    @property
    def gone(self) -> bool:
        """Whether init has ended. The kernel then ends all else in the box.
        Of a channel that was closed on this side nothing is known, and False said."""
        if self._sock.fileno() < 0:
            return False
        poller = select.poll()
        poller.register(self._sock, 0)  # a hang-up is always reported
        return bool(poller.poll(0))

    def close(self) -> None:
        self._sock.close()

    def fileno(self) -> int:
        """For ``select`` and ``poll``: readable when a command ended or the box died."""
        return self._sock.fileno()

    def _send(self, kind: bytes, *fields: str | int, descriptors: Sequence[int] = ()) -> bool:
        try:
            texts = [os.fsencode(str(field)) for field in fields]
        except UnicodeEncodeError:
            raise InputError("half a character cannot be passed", place="command") from None
        if any(b"\0" in text for text in texts):
            raise InputError("a NUL byte cannot be passed to a command", place="command")
        body = b"".join(text + b"\0" for text in texts)
        return self._transmit(kind + body, descriptors)

    def _transmit(self, data: bytes, descriptors: Sequence[int] = ()) -> bool:
        """False when the message is larger than the socket takes."""
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
        try:
            self._sock.sendmsg([data], [rights] if descriptors else [], socket.MSG_NOSIGNAL)
        except OSError as error:
            if error.errno == errno.EMSGSIZE:
                return False
            raise BoxError("the box is gone", got=str(error)) from error
        return len(data) <= MESSAGE_MAX

    def _readable(self, timeout: float | None) -> bool:
        poller = select.poll()
        poller.register(self._sock, select.POLLIN)
        return bool(poller.poll(None if timeout is None else max(0, round(timeout * 1000))))

    def _receive(self, timeout: float) -> _Message:
        try:
            if not self._readable(timeout):
                raise BoxError("the box does not answer", got=f"nothing in {timeout:g} s")
            space = socket.CMSG_SPACE(CREDENTIALS.size) + socket.CMSG_SPACE(4)
            data, ancillary, _, _ = self._sock.recvmsg(ANSWER_MAX, space, socket.MSG_CMSG_CLOEXEC)
        except OSError as error:
            raise BoxError("the box is gone", got=str(error)) from error
        if not data:
            raise BoxError("the box is gone", got="end of its control socket")
        message = _decode(data, ancillary)
        if message.kind == "x":
            self._ended(message)
        return message

    def _ended(self, message: _Message) -> None:
        _, how, number = message.fields
        self._running = False
        self._returncode = int(number) + (128 if how == "signaled" else 0)

    def _answer(self, kind: str, timeout: float) -> _Message:
        deadline = time.monotonic() + timeout
        while True:
            message = self._receive(max(0.0, deadline - time.monotonic()))
            if message.kind != "x":
                self._check(message, kind)
                return message

    def _check(self, message: _Message, kind: str) -> None:
        if message.kind == kind:
            return
        if message.kind == "e":
            _, error, step = message.fields
            raise BoxError(f"rolewall-init refused: {step}", got=error)
        raise BoxError("rolewall-init answered out of turn", got=message.kind, expected=kind)

    def _descriptor(self, kind: str) -> int:
        message = self._answer(kind, ANSWER_SECONDS)
        if len(message.descriptors) != 1:
            raise BoxError("no descriptor came with the answer", got=message.kind)
        return message.descriptors[0]


def _not_started(error: str, step: str) -> NotStarted:
    if error == "ENOSYS" and step == "exec":  # the filter's answer when nobody listens
        raise BoxError("the tap is gone: no command can be started", got=error)
    return NotStarted(error, step)


def _decode(data: bytes, ancillary: list[tuple[int, int, bytes]]) -> _Message:
    descriptors = array.array("i")
    sender = 0
    for level, kind, content in ancillary:
        if level != socket.SOL_SOCKET:
            continue
        if kind == socket.SCM_RIGHTS:
            descriptors.frombytes(content[: len(content) // 4 * 4])
        elif kind == socket.SCM_CREDENTIALS:
            sender = CREDENTIALS.unpack(content)[0]
    fields = tuple(os.fsdecode(field) for field in data[1:].split(b"\0")[:-1])
    return _Message(chr(data[0]), fields, tuple(descriptors), sender)
