"""The only way out of a box: listed destinations, through the harness.

Init opens a loopback socket in the box for each destination and hands it to
the harness, which accepts on it and connects onward. A name resolves to its
loopback address by the box's ``/etc/hosts``, so TLS sees the true name.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from rolewall.errors import BoxError, InputError
from rolewall.policies import HostPort
from rolewall.sandbox.guard import start_thread
from rolewall.sandbox.protocol import Listen

__all__ = ["Relay", "hosts_file", "relay_listens"]

CHUNK = 64 * 1024
CONNECT_SECONDS = 20.0


def addresses(allow: Sequence[HostPort]) -> dict[str, str]:
    """A loopback address for each allowed host. Loopback itself keeps its own.

    Raises:
        InputError: an address that is not loopback: only names can be relayed.
    """
    found: dict[str, str] = {}
    for entry in allow:
        if entry.host not in found:
            found[entry.host] = _address(entry.host, len(found))
    return found


def _address(host: str, index: int) -> str:
    if host == "localhost":
        return "127.0.0.1"
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        return f"127.0.{1 + index // 250}.{1 + index % 250}"
    if literal.version == 4 and literal.is_loopback:
        return host
    raise InputError(
        "a network destination must be a name or an IPv4 loopback address",
        got=host,
        hint="give the address a name in the host's /etc/hosts",
    )


def hosts_file(allow: Sequence[HostPort]) -> bytes:
    """The box's ``/etc/hosts``."""
    lines = ["127.0.0.1 localhost box"]
    lines += [f"{a} {h}" for h, a in addresses(allow).items() if h not in (a, "localhost")]
    return ("\n".join(lines) + "\n").encode()


def relay_listens(allow: Sequence[HostPort]) -> list[tuple[Listen, HostPort]]:
    """The sockets to open in the box, each with its destination."""
    where = addresses(allow)
    return [(Listen("tcp", where[e.host], e.port), e) for e in allow]


class Relay:
    """Serves a box's listening sockets, which it takes over, until closed. One
    thread for each socket and two for each connection: agents open few.

    Raises:
        BoxError: no thread can be started.
    """

    def __init__(self, listeners: Mapping[int, HostPort]) -> None:
        self._sockets = [(socket.socket(fileno=fd), target) for fd, target in listeners.items()]
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed = False
        try:
            for listener, target in self._sockets:
                start_thread(self._serve, listener, target)
        except BaseException:
            self.close()
            raise

    def _serve(self, listener: socket.socket, target: HostPort) -> None:
        while not self._closed:
            try:
                inside, _ = listener.accept()
            except OSError:
                return
            try:
                start_thread(self._connect, inside, target)
            except BoxError:  # the machine has no thread left: this connection is refused
                inside.close()

    def _connect(self, inside: socket.socket, target: HostPort) -> None:
        try:
            outside = socket.create_connection((target.host, target.port), CONNECT_SECONDS)
        except OSError:
            inside.close()
            return
        outside.settimeout(None)
        if not self._keep(inside, outside):
            return
        with suppress(BoxError):
            back = start_thread(_pump, outside, inside)
            _pump(inside, outside)
            back.join()
        self._drop(inside, outside)

    def _keep(self, *pair: socket.socket) -> bool:
        with self._lock:
            if not self._closed:
                self._open.update(pair)
                return True
        for one in pair:
            one.close()
        return False

    def _drop(self, *pair: socket.socket) -> None:
        with self._lock:
            self._open.difference_update(pair)
        for one in pair:
            one.close()

    def close(self) -> None:
        """Stop accepting and end every connection. Safe to call twice."""
        with self._lock:
            self._closed = True
            connections = list(self._open)
        for one in [listener for listener, _ in self._sockets] + connections:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for listener, _ in self._sockets:
            listener.close()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(CHUNK):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
