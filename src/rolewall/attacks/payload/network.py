"""The network: sockets below TCP, the host's loopback, what lies beyond it."""

from __future__ import annotations

import errno
import os
import socket
import struct

from .attempt import Place, attempt
from .calls import call, or_skip

GROUP = "network"
CLONE_NEWNET = 1 << 30
AF_KEY, AF_PACKET, AF_TIPC, AF_ALG, AF_VSOCK, AF_XDP = 15, 17, 30, 38, 40, 44
SECONDS = 3.0
PORTS = (22, 53, 80, 111, 443, 631, 2375, 2376, 3306, 5432, 6379, 8000, 8080, 11211, 27017)
NEWLINK, REQUEST_ACK, LOOPBACK, UP = 16, 5, 1, 1


def _family(place: Place, family: int, kind: int, protocol: int = 0) -> None:
    """A socket of a family; that a kernel lacks it says only the twin."""
    lacks = (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT) if place.allowed else ()
    or_skip(lambda: call("socket", family, kind, protocol), *lacks)


@attempt("raw-socket", "a raw IP socket", twin="bare",
         unseen="the kernel refuses without the capability")  # fmt: skip
def _(place: Place) -> None:
    _family(place, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)


@attempt("packet-socket", "an AF_PACKET socket", twin="bare", kind="privileged")
def _(place: Place) -> None:
    _family(place, AF_PACKET, socket.SOCK_RAW)


@attempt("vsock", "an AF_VSOCK socket, which leaves the network namespace", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    _family(place, AF_VSOCK, socket.SOCK_STREAM)


@attempt("alg-socket", "an AF_ALG socket: the kernel's cryptography", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    _family(place, AF_ALG, socket.SOCK_SEQPACKET)


@attempt("xdp-socket", "an AF_XDP socket", twin="bare", kind="privileged")
def _(place: Place) -> None:
    _family(place, AF_XDP, socket.SOCK_RAW)


@attempt("key-socket", "an AF_KEY socket", twin="bare", kind="privileged")
def _(place: Place) -> None:
    _family(place, AF_KEY, socket.SOCK_RAW, 2)


@attempt("tipc-pair", "a pair of AF_TIPC sockets", twin="bare", kind="privileged")
def _(place: Place) -> None:
    pair = bytes(8)
    lacks = (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT) if place.allowed else ()
    or_skip(lambda: call("socketpair", AF_TIPC, socket.SOCK_STREAM, 0, pair), *lacks)


@attempt("netlink-link", "netlink: change an interface", twin="bare",
         unseen="the kernel refuses without the capability")  # fmt: skip
def _(place: Place) -> None:
    if place.allowed:
        call("unshare", CLONE_NEWNET)
    wish = struct.pack("<BxHiII", socket.AF_UNSPEC, 0, LOOPBACK, UP, UP)
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    link.send(struct.pack("<IHHII", 16 + len(wish), NEWLINK, REQUEST_ACK, 1, 0) + wish)
    (code,) = struct.unpack_from("<i", link.recv(4096), 16)
    if code:
        raise OSError(-code, os.strerror(-code))


@attempt("host-loopback", "connect to services of the host's loopback", twin="own",
         unseen="connect(2) changes no file; a box has a network namespace of its own")  # fmt: skip
def _(place: Place) -> None:
    _connect(place, socket.AF_INET, "127.0.0.1")


@attempt("host-loopback6", "connect to services of the host's IPv6 loopback", twin="own",
         unseen="connect(2) changes no file; a box has a network namespace of its own")  # fmt: skip
def _(place: Place) -> None:
    _connect(place, socket.AF_INET6, "::1")


@attempt("metadata", "connect to 169.254.169.254, where clouds keep credentials", twin="own",
         unseen="connect(2) changes no file; there is no route")  # fmt: skip
def _(place: Place) -> None:
    _connect(place, socket.AF_INET, "127.0.0.1" if place.allowed else "169.254.169.254", (80,))


@attempt("gateway", "connect to the gateway of a container network", twin="own",
         unseen="connect(2) changes no file; there is no route")  # fmt: skip
def _(place: Place) -> None:
    _connect(place, socket.AF_INET, "127.0.0.1" if place.allowed else "172.17.0.1")


def _connect(place: Place, family: int, address: str, ports: tuple[int, ...] = PORTS) -> None:
    """Connect to a port of somebody else's, or to one that is opened here."""
    if place.allowed:
        mine = socket.socket(family)
        mine.bind((address, 0))
        mine.listen()
        ports = (mine.getsockname()[1],)
    why = OSError(errno.ECONNREFUSED, "nobody listens")
    for port in ports:
        with socket.socket(family) as ours:
            ours.settimeout(SECONDS)
            try:
                return ours.connect((address, port))
            except OSError as error:
                why = error
    raise OSError(why.errno or errno.ETIMEDOUT, str(why))


@attempt("dns", "send a name out by a question to a name server", twin="own",
         unseen="sendto(2) changes no file; there is no route")  # fmt: skip
def _(place: Place) -> None:
    """Whether anybody answers does not matter: the question is the message."""
    question = bytes.fromhex("123401000001000000000000") + b"\6secret\4test\0\0\1\0\1"
    ours = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if place.allowed:
        mine = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        mine.bind(("127.0.0.1", 0))
        ours.sendto(question, mine.getsockname())
        return
    ours.sendto(question, ("192.0.2.53", 53))
