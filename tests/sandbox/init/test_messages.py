"""What is not a message of the protocol does nothing."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import InitBox

pytestmark = pytest.mark.bubblewrap

MALFORMED = [
    b"Z\0",
    b"\0",
    b"K\0",
    b"K1\0",
    b"Qx",
    b"L",
    b"Ltcp\0" + b"127.0.0.1\0",
    b"Ltcp\0" + b"127.0.0.1\0" + b"80",
    b"Ltcp\0" + b"127.0.0.1\0" + b"-1\0",
    b"Ludp\0" + b"127.0.0.1\0" + b"80\0",
    b"F",
    b"F123",
    b"S",
    b"S0\0",
    b"S65\0",
    b"S9",
    b"S9\x009\0",
    b"R",
    b"R1\0",
    b"R1\0/\x000\x000\x001\0true\0",  # no descriptors
    b"R1\0/\x000\x000\x000\0",
    b"R1\0/\x001\x007\0",
    b"R1\0/\x0018446744073709551615\0",
    b"R1\0/\x000\x0065537\0",
    b"R1\0/\x000\x000\x0065536\0a\0",
    b"R1\0/\x000\x000\x0099999999999999999999\0",
    b"Rx\0/\x000\x000\x001\0true\0",
    b"R" + b"1\0" * 100_000,
    b"A" * 262_144,
    b"A" * 262_145,
]


@pytest.mark.parametrize("descriptors", [0, 1, 3, 8, 9, 50])
def test_malformed_messages_are_refused_and_change_nothing(box: InitBox, descriptors: int) -> None:
    with open(os.devnull, "rb") as null:
        for message in MALFORMED if descriptors < 4 else MALFORMED[-8:]:
            if descriptors == 3 and message.endswith(b"true\0") and message[:2] == b"R1":
                continue
            socket.send_fds(box.raw, [message], [null.fileno()] * descriptors)
            answer = box.raw.recv(512)
            assert answer.split(b"\0")[1] == b"EPROTO", message[:40]
    assert box.run("sh", "-c", "ls /proc/self/fd | wc -w")[1] == b"4\n"
    assert box.left() == []
