from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from rolewall.errors import InputError
from rolewall.policies import HostPort
from rolewall.sandbox.relay import Relay, hosts_file, relay_listens


@pytest.fixture
def echo() -> Iterator[int]:
    """A server that repeats what it is told, until it is told no more; its port."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                while data := connection.recv(65536):
                    connection.sendall(data)

    thread = threading.Thread(target=serve)
    thread.start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(10)


@pytest.fixture
def door() -> tuple[int, int]:
    """A listening socket as init would hand it over: its descriptor, its port."""
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    return server.detach(), port


def read_all(connection: socket.socket) -> bytes:
    found = b""
    while data := connection.recv(65536):
        found += data
    return found


def test_what_goes_in_comes_out_and_each_end_is_told(echo: int, door: tuple[int, int]) -> None:
    descriptor, port = door
    relay = Relay({descriptor: HostPort("127.0.0.1", echo)})
    try:
        for data in (b"x", bytes(range(256)) * 1000):
            with socket.create_connection(("127.0.0.1", port), 10) as inside:
                inside.sendall(data[:1])
                assert inside.recv(1) == data[:1]
                sender = threading.Thread(target=inside.sendall, args=(data,))
                sender.start()
                got = b""
                while len(got) < len(data):
                    got += inside.recv(65536)
                sender.join(10)
                inside.shutdown(socket.SHUT_WR)
                assert (got, read_all(inside)) == (data, b"")
    finally:
        relay.close()


def test_a_destination_that_does_not_answer_ends_the_connection(door: tuple[int, int]) -> None:
    descriptor, port = door
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = free.getsockname()[1]
    relay = Relay({descriptor: HostPort("127.0.0.1", nobody)})
    with socket.create_connection(("127.0.0.1", port), 10) as inside:
        assert inside.recv(1) == b""
    relay.close()


def test_close_ends_what_is_open_and_takes_no_more(echo: int, door: tuple[int, int]) -> None:
    descriptor, port = door
    relay = Relay({descriptor: HostPort("127.0.0.1", echo)})
    with socket.create_connection(("127.0.0.1", port), 10) as inside:
        inside.sendall(b"x")
        assert inside.recv(1) == b"x"
        relay.close()
        relay.close()
        assert inside.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 10)


def test_each_name_has_an_address_of_its_own() -> None:
    allow = (HostPort("a.example", 443), HostPort("b.example", 443), HostPort("a.example", 80))
    found = [(listen.address, listen.port) for listen, _ in relay_listens(allow)]
    assert found[0][0] == found[2][0] != found[1][0]
    assert len(set(found)) == 3
    lines = hosts_file(allow).decode().splitlines()
    assert lines[0].startswith("127.0.0.1 localhost")
    assert {line.split()[1] for line in lines[1:]} == {"a.example", "b.example"}


def test_loopback_keeps_its_address_and_others_are_refused() -> None:
    local = (HostPort("localhost", 80), HostPort("127.0.0.9", 80))
    assert [listen.address for listen, _ in relay_listens(local)] == ["127.0.0.1", "127.0.0.9"]
    for address in ("192.0.2.1", "::1"):
        with pytest.raises(InputError):
            relay_listens((HostPort(address, 80),))
