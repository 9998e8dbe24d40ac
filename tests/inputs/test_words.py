"""What a command line and a socket bring: what it says, or one error."""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from rolewall.errors import InputError, PolicyError, RolewallError
from rolewall.plan import parse_shard
from rolewall.policies import Access, Limits, lint
from rolewall.policies.text import escape, unescape
from rolewall.roles.checkwire import ConnectionLost, read_request
from rolewall.sandbox.tap import decode, syscalls
from rolewall.sandbox.tap.kernel import Notification
from rolewall.sandbox.tap.resolve import Unreadable
from rolewall.zones import parse_environment, parse_zones, zone_policy

if TYPE_CHECKING:
    from conftest import Read

WORDS = st.text(max_size=8) | st.sampled_from(
    ["workspace", "tmp", "x" * 5000, "A" * 31, "a\0", "\udcff", "..", "read", "harness", "executor"]
)
PLACES = st.sampled_from(
    ["/", "/tmp", "/dev/null", "/" + "x" * 5000, "/nowhere", "/\0", ".", "a:b"]
)
ZONES = st.builds(
    "{}={}:{}".format, WORDS, PLACES, st.sampled_from(["read", "write", "hidden", "", "READ"])
) | st.builds("{}={}".format, WORDS, st.sampled_from(["hidden", "read", "/tmp", ""]))


@given(role=WORDS, arguments=st.lists(WORDS | ZONES, max_size=4))
def test_zones_of_a_command_line(role: str, arguments: list[str]) -> None:
    try:
        zones = parse_zones(arguments)
        policy = zone_policy(role, zones, [], Limits())
    except RolewallError as problem:
        assert type(problem) in (InputError, PolicyError) and str(problem)
        return
    lint(policy)
    for zone in zones:
        assert policy.access[role][zone.name] is zone.access
        assert (zone.directory is None) == (zone.access is Access.HIDDEN)
        assert zone.directory is None or zone.directory.is_dir()


@given(arguments=st.lists(WORDS | st.builds("{}={}".format, WORDS, WORDS), max_size=4))
def test_variables_of_a_command_line(read: Read, arguments: list[str]) -> None:
    found = read(parse_environment, arguments, error=InputError)
    if found is not None:
        assert all(name and "=" not in name for name in found)
        assert {f"{name}={value}" for name, value in found.items()} <= set(arguments)


@given(text=WORDS | st.from_regex(r"[0-9]{0,12}/[0-9]{0,12}"))
def test_a_shard(read: Read, text: str) -> None:
    found = read(parse_shard, text, error=InputError)
    assert found is None or 1 <= found[0] <= found[1]


@given(name=st.binary(max_size=40), text=st.text(max_size=40))
def test_a_name_as_text(name: bytes, text: str) -> None:
    assert unescape(escape(name)) == name and escape(name).isprintable()
    with suppress(ValueError):
        assert escape(unescape(text)) == text


FRAMES = st.one_of(
    st.binary(max_size=40).map(lambda body: struct.pack("<I", len(body)) + body),
    st.lists(st.binary(max_size=6), max_size=5).map(
        lambda words: (
            (body := b"\0".join([b"/workspace", b"%d" % len(words), *words, b""]))
            and struct.pack("<I", len(body)) + body
        )
    ),
    st.binary(max_size=12),
    st.sampled_from([b"\xff" * 4, struct.pack("<I", 262144), b""]),
    st.sampled_from([b"9" * 5000, b"-1", b"\xb2", b"+1", b"1_0", b"4294967297"]).map(
        lambda number: (
            (body := b"/workspace\0" + number + b"\0a\0") and struct.pack("<I", len(body)) + body
        )
    ),
)


@given(sent=FRAMES)
def test_a_request_to_the_check_service(sent: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(sent)
        ours.shutdown(socket.SHUT_WR)
        try:
            request = read_request(theirs)
        except (ValueError, ConnectionLost) as problem:
            assert str(problem)
            return
    assert not any("\0" in word for word in request.argv)
    assert request.cwd == "/workspace" or request.cwd.startswith("/workspace/")


NUMBERS = st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2**32 - 100, 2**64 - 100, 2**63])


@given(
    row=st.sampled_from(syscalls.TABLE),
    arch=st.sampled_from(list(syscalls.ARCHES.values())),
    args=st.tuples(*[NUMBERS] * 6),
)
def test_a_call_of_a_role(
    row: syscalls.Syscall, arch: syscalls.Arch, args: tuple[int, ...]
) -> None:
    call = Notification(1, os.getpid(), 0, arch.audit, args)
    names = decode.row_flags(row, call, arch)
    if row.flags is not None:
        opened = decode.opening(row, call, arch)
        names += opened.flags(arch)
        assert opened.effect is None or opened.effect.value
    if row.set_id:
        names += decode.refused_mode(row, call, arch)
    assert all(isinstance(name, str) and name for name in names)
    try:
        found = decode.named_paths(row, call)
    except Unreadable as problem:
        assert str(problem)
        return
    assert all(not named.path or named.path.startswith(b"/") for named in found)
