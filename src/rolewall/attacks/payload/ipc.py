"""What processes share beside files: keyrings, System V and POSIX objects, sockets.

A box has these for itself, so there is nobody's to be found in it; what lies outside, in
another box or on the host, is tried by tests that put something there.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
from collections.abc import Sequence

from .attempt import Place, attempt
from .calls import call

GROUP = "ipc"
IPC_CREAT = 0o1000
JOIN_SESSION, KEY_LINK, KEY_READ = 1, 8, 11
PROCESS, SESSION, USER = -2, -3, -4
ALONE = 64997  # a user whom nobody else is
ENGINES = (
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
)
SERVICES = (
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/run/systemd/journal/socket",
    "/run/systemd/notify",
    "/run/udev/control",
    "/dev/log",
    "/tmp/.X11-unix/X0",
)
CHECK = "@rolewall-check"


@attempt("key-add", "add_key(2) to the session keyring", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call("add_key", "user", "rolewall-attack", b"1", 1, PROCESS if place.allowed else SESSION)


@attempt("key-add-user", "add_key(2) to the keyring of all processes of one's user", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    if place.allowed:
        os.setresuid(*[ALONE] * 3)
    call("add_key", "user", "rolewall-attack", b"1", 1, USER)


@attempt("key-request", "request_key(2), which may start a program on the host", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    if place.allowed:
        call("add_key", "user", "rolewall-attack", b"1", 1, PROCESS)
    call("request_key", "user", "rolewall-attack", 0, 0)


@attempt("key-read", "keyctl(2) KEYCTL_READ of the session keyring", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    if place.allowed:
        call("add_key", "user", "rolewall-attack", b"1", 1, PROCESS)
    buffer = ctypes.create_string_buffer(64)
    call("keyctl", KEY_READ, PROCESS if place.allowed else SESSION, buffer, 64)


@attempt("key-join", "keyctl(2) KEYCTL_JOIN_SESSION_KEYRING by name", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    call("keyctl", JOIN_SESSION, "rolewall-attack")


@attempt("key-link", "keyctl(2) KEYCTL_LINK of the user's keyring to the process", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    if place.allowed:
        os.setresuid(*[ALONE] * 3)
    call("keyctl", KEY_LINK, USER, PROCESS)


@attempt("shm-find", "look for shared memory that somebody left (shmget)", twin="own",
         unseen="looks only; a box has an IPC namespace of its own")  # fmt: skip
def _(place: Place) -> None:
    if place.allowed:
        call("shmget", os.getpid(), 4096, IPC_CREAT | 0o600)
    _some("/proc/sysvipc/shm")


@attempt("sem-find", "look for semaphores that somebody left (semget)", twin="own",
         unseen="looks only; a box has an IPC namespace of its own")  # fmt: skip
def _(place: Place) -> None:
    if place.allowed:
        call("semget", os.getpid(), 1, IPC_CREAT | 0o600)
    _some("/proc/sysvipc/sem")


@attempt("msg-find", "look for message queues that somebody left (msgget)", twin="own",
         unseen="looks only; a box has an IPC namespace of its own")  # fmt: skip
def _(place: Place) -> None:
    if place.allowed:
        call("msgget", os.getpid(), IPC_CREAT | 0o600)
    _some("/proc/sysvipc/msg")


def _some(table: str) -> None:
    with open(table) as file:
        if len(file.readlines()) < 2:
            raise OSError(errno.ENOENT, "there is none")


@attempt("posix-shm-find", "look for POSIX shared memory that somebody left", twin="own",
         unseen="looks only; a box has a /dev/shm of its own")  # fmt: skip
def _(place: Place) -> None:
    if place.allowed:
        with open(f"/dev/shm/{os.getpid()}", "w"):
            pass
    if not os.listdir("/dev/shm"):
        raise OSError(errno.ENOENT, "there is none")


@attempt("engine-socket", "connect to the socket of a container engine", twin="own",
         unseen="connect(2) changes no file; the socket is not there")  # fmt: skip
def _(place: Place) -> None:
    _connect(place, ENGINES)


@attempt("host-socket", "connect to sockets of the host's services", twin="own",
         unseen="connect(2) changes no file; the socket is not there")  # fmt: skip
def _(place: Place) -> None:
    _connect(place, SERVICES)


@attempt("control-socket", "connect to the socket by which the harness reaches init", twin="own",
         unseen="connect(2) changes no file; the harness removed the socket")  # fmt: skip
def _(place: Place) -> None:
    _connect(place, ["/rolewall/control.sock"])


@attempt("any-socket", "connect to whatever socket lies in the zone or below /rolewall",
         twin="own", unseen="connect(2) changes no file; nobody listens")  # fmt: skip
def _(place: Place) -> None:
    found: list[str] = []
    for top in (place.zone, "/rolewall", "/run"):
        for folder, _, names in os.walk(top):
            paths = (os.path.join(folder, name) for name in names)
            found += [path for path in paths if os.path.exists(path) and _is_socket(path)]
    _connect(place, found)


def _is_socket(path: str) -> bool:
    return os.stat(path).st_mode & 0o170000 == 0o140000


def _connect(place: Place, paths: Sequence[str]) -> None:
    """Connect to one of ``paths``, or to a socket of one's own."""
    if place.allowed:
        path = os.path.join(place.own, "socket")
        mine = socket.socket(socket.AF_UNIX)
        mine.bind(path)
        mine.listen()
        paths = [path]
    why = OSError(errno.ENOENT, "there is none")
    for path in paths:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
            try:
                return socket.socket(socket.AF_UNIX, kind).connect(path)
            except OSError as error:
                why = error
    raise why


@attempt("abstract-socket", "connect to every abstract socket that the kernel lists", twin="own",
         unseen="connect(2) changes no file; a box has a network namespace of its own")  # fmt: skip
def _(place: Place) -> None:
    if place.allowed:
        mine = socket.socket(socket.AF_UNIX)
        mine.bind(f"\0rolewall-attack-{os.getpid()}")
        mine.listen()
    with open("/proc/net/unix") as file:
        last = [line.split()[-1] for line in file]
    why = OSError(errno.ENOENT, "there is none")
    for name in {name for name in last if name.startswith("@") and name != CHECK}:
        try:
            return socket.socket(socket.AF_UNIX).connect("\0" + name[1:])
        except OSError as error:
            why = error
    raise why


@attempt("fifo-message", "leave a message in a FIFO of the zone for whoever reads it next",
         twin="own", kind="edit")  # fmt: skip
def _(place: Place) -> None:
    """The kernel lets a FIFO be written on a read-only mount; it keeps nothing once closed."""
    path = place.fifo
    if place.allowed:
        path = os.path.join(place.own, "fifo")
        os.mkfifo(path)
    ours = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    os.write(ours, b"message")
    if not place.allowed:
        os.close(ours)
    if not os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 100):
        raise OSError(errno.ENODATA, "it kept nothing")
