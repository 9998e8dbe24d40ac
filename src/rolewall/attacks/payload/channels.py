"""The harness's own channels: streams, inherited descriptors, the service of check boxes."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import socket
import stat
import struct
import termios
from collections.abc import Callable

from .attempt import Place, Skip, attempt
from .calls import call, or_skip

GROUP = "channels"
CHECK = "\0rolewall-check"
DESCRIPTORS = 1024
SECONDS = 200.0  # a check box is waited for, however slow the machine
SO_PEERPIDFD, PIDFD_GET_NET_NAMESPACE = 77, 0xFF04


@attempt("fd-inherited", "use an inherited descriptor that is no pipe of one's own", twin="own",
         unseen="looks at its own descriptors only")  # fmt: skip
def _(place: Place) -> None:
    kept = socket.socketpair() if place.allowed else ()
    if not any(map(_is_foreign, range(DESCRIPTORS))):
        raise OSError(errno.EBADF, "there is none")
    del kept


def _is_foreign(descriptor: int) -> bool:
    """A socket, a directory, a file or a device that stores: nothing that a box passes on."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return False
    if stat.S_ISCHR(found.st_mode):
        return found.st_rdev != os.stat(os.devnull).st_rdev
    return not stat.S_ISFIFO(found.st_mode)


@attempt("stdout-trunc", "truncate(2) of /proc/self/fd/1, where the transcript goes", twin="own",
         unseen="a pipe has no path, so nothing that could be changed is named")  # fmt: skip
def _(place: Place) -> None:
    _stand_in(place)
    os.truncate("/proc/self/fd/1", 0)


@attempt("stdout-seek", "write at the start of what is written to standard output", twin="own",
         unseen="a pipe has no path, so nothing that could be changed is named")  # fmt: skip
def _(place: Place) -> None:
    _stand_in(place)
    os.pwrite(os.open("/proc/self/fd/1", os.O_WRONLY), b"", 0)


@attempt("stdin-write", "write into standard input, for the next that reads it", twin="own",
         unseen="a pipe has no path, so nothing that could be changed is named")  # fmt: skip
def _(place: Place) -> None:
    """What is read back by oneself reached nobody."""
    if place.allowed:
        _stand_in(place)
        os.write(os.open("/proc/self/fd/1", os.O_WRONLY), b"x")
        return
    found = os.open("/proc/self/fd/0", os.O_RDWR | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(found).st_mode):
        raise OSError(errno.ESPIPE, "it keeps nothing")


def _stand_in(place: Place) -> None:
    """For a twin: a file as standard output, as a careless harness would pass it."""
    if place.allowed:
        os.dup2(os.open(place.mine(), os.O_RDWR), 1)


@attempt("tiocsti", "ioctl TIOCSTI: type into the terminal of whoever started the harness",
         twin="own", unseen="no standard stream is a terminal")  # fmt: skip
def _(place: Place) -> None:
    if not place.allowed:
        _type()
        return
    try:
        _in_own_terminal(_type)
    except OSError as error:
        if error.errno == errno.EIO:
            raise Skip("this kernel has no TIOCSTI") from None
        raise


def _type() -> None:
    for stream in range(3):
        fcntl.ioctl(stream, termios.TIOCSTI, b"x")


@attempt("dev-tty", "open the terminal of whoever started the harness", twin="own",
         unseen="counted among what the role writes to its own devices")  # fmt: skip
def _(place: Place) -> None:
    def look() -> None:
        os.open("/dev/tty", os.O_RDWR)

    _in_own_terminal(look) if place.allowed else look()


def _in_own_terminal(do: Callable[[], None]) -> None:
    """What comes of ``do`` in a new session with a terminal of its own as streams."""
    _, slave = pty.openpty()
    child = os.fork()
    if not child:
        code = 255
        try:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for stream in range(3):
                os.dup2(slave, stream)
            do()
            code = 0
        except OSError as error:
            code = error.errno or 255
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise OSError(code, os.strerror(code))


def _ask(directory: str, *command: str) -> int:
    """The exit code of a command in a check box.

    Raises:
        Skip: no service of check boxes is here.
    """
    with _connected() as service:
        fields = [directory, str(len(command)), *command, ""]
        frame = "\0".join(fields).encode()
        service.sendall(struct.pack("<I", len(frame)) + frame)
        while True:
            kind, size = struct.unpack("<cI", _exactly(service, 5))
            data = _exactly(service, size)
            if kind == b"X":
                return int(data)


def _connected() -> socket.socket:
    service = socket.socket(socket.AF_UNIX)
    service.settimeout(SECONDS)
    try:
        service.connect(CHECK)
    except ConnectionRefusedError:
        raise Skip("no check boxes here") from None
    return service


def _exactly(service: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = service.recv(size - len(data))
        if not more:
            raise OSError(errno.EPIPE, "the service closed the connection")
        data += more
    return data


@attempt("check-flood", "malformed and huge requests, so that no check runs any more", twin="own",
         unseen="connect(2) and send(2) change no file")  # fmt: skip
def _(place: Place) -> None:
    """It landed if an honest request is then not answered."""
    if place.allowed:
        _must_be(0, _ask("/workspace", "true"))
        return
    for frame in (b"", b"\0", b"\xff" * 4, struct.pack("<I", 3) + b"a\0b", _many(), b"\0" * 4):
        with _connected() as service:
            service.sendall(frame)
    if _ask("/workspace", "true") == 0:
        raise OSError(errno.EPROTO, "it answers on")


def _many() -> bytes:
    body = b"/workspace\0" + b"70000\0" + b"x\0" * 70000
    return struct.pack("<I", len(body)) + body


@attempt("check-hidden", "read specification, verdict or prompt by a check box", twin="own",
         unseen="connect(2) and send(2) change no file")  # fmt: skip
def _(place: Place) -> None:
    hidden = "cat /spec/* /verdict/* /rolewall/prompt.md | grep -q ."
    shown = "cat /workspace/work.txt | grep -q ."
    _must_be(0, _ask("/workspace", "/bin/sh", "-c", shown if place.allowed else hidden))


@attempt("check-write", "change the workspace by a check box", twin="own",
         unseen="connect(2) and send(2) change no file")  # fmt: skip
def _(place: Place) -> None:
    with open(place.file, "rb") as file:
        before = file.read()
    script = f"echo changed > {place.file}; cat {place.file} | grep -q changed"
    _must_be(0, _ask("/workspace", "/bin/sh", "-c", script))
    with open(place.file, "rb") as file:
        if not place.allowed and file.read() == before:
            raise OSError(errno.EROFS, "the copy alone changed")


@attempt("peer-pidfd", "SO_PEERPIDFD of that service: a descriptor of init, its namespaces",
         twin="own", unseen="getsockopt(2) and ioctl(2) of it change nothing")  # fmt: skip
def _(place: Place) -> None:
    """Init listens for it, and so is the peer, though pidfd_open(2) of it is refused."""
    with _own_peer() if place.allowed else _connected() as peer:
        lacks = (errno.ENOPROTOOPT, errno.ENOTTY, errno.EINVAL)
        pidfd = or_skip(lambda: peer.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD), *lacks)
        or_skip(lambda: call("ioctl", pidfd, PIDFD_GET_NET_NAMESPACE, 0), *lacks)


def _own_peer() -> socket.socket:
    return socket.socketpair()[0]


def _must_be(expected: int, code: int) -> None:
    if code != expected:
        raise OSError(errno.EACCES, f"the command ended with {code}")
