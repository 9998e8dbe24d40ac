from __future__ import annotations

import io
import math
import os
import selectors
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from rolewall.errors import StorageError
from rolewall.sandbox.streams import Collector, Feeder, Forwarder, register

Pipe = Callable[[], tuple[int, int]]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """Make pipes; what the test has not closed is closed at its end."""
    made: list[tuple[int, int]] = []

    def make() -> tuple[int, int]:
        pair = os.pipe()
        made.extend((end, os.fstat(end).st_ino) for end in pair)
        return pair

    yield make
    for end, inode in made:
        with suppress(OSError):
            if os.fstat(end).st_ino == inode:
                os.close(end)


def collected(pipe: Pipe, data: bytes, limit: int, sink: io.BytesIO | None = None,
              sink_limit: int = 0) -> Collector:  # fmt: skip
    reader, writer = pipe()
    collector = Collector(reader, limit, sink, sink_limit)
    os.write(writer, data)
    os.close(writer)
    while collector.read():
        pass
    assert not collector.open
    return collector


@pytest.mark.parametrize(
    ("limit", "kept"), [(100, b"0123456789"), (10, b"0123456789"), (4, b"0189"), (1, b""), (0, b"")]
)
def test_head_and_tail_are_kept_and_all_is_counted(pipe: Pipe, limit: int, kept: bytes) -> None:
    output = collected(pipe, b"0123456789", limit).output()
    assert (output.data, output.size) == (kept, 10)
    assert output.truncated is (len(kept) < 10)


def test_a_tail_of_many_pieces(pipe: Pipe) -> None:
    reader, writer = pipe()
    collector = Collector(reader, 10, None, 0)
    for n in range(50):
        os.write(writer, b"%02d" % n)
        collector.read()
    assert collector.read() is False
    assert collector.output().data == b"00010" + b"74849"[-5:]
    collector.close()


def test_memory_is_bounded_by_what_is_kept(pipe: Pipe) -> None:
    reader, _ = pipe()
    collector = Collector(reader, 1000, None, 0)
    for _ in range(200_000):
        collector.add(b"ab")
    assert len(collector._tail) <= 2 * 500 + 65536
    assert collector.output().data == b"ab" * 500
    assert collector.output().size == 400_000
    collector.close()


def test_a_sink_whose_reader_is_behind_holds_up_nobody(pipe: Pipe) -> None:
    reader, writer = pipe()
    slow, sink_end = pipe()
    os.write(writer, bytes(60_000))
    with open(sink_end, "wb", buffering=0, closefd=False) as sink:
        collector = Collector(reader, 10, sink, 1 << 30)
        while collector.read():
            os.write(writer, bytes(4096))
        assert collector.open
        descriptor, event = collector.awaits
        assert (descriptor != sink_end, event) == (True, selectors.EVENT_WRITE)
        had = len(os.read(slow, 1 << 20))
        assert had >= 60_000
        assert collector.read()
        assert collector.awaits == (reader, selectors.EVENT_READ)
        os.close(writer)
        while collector.open:
            os.set_blocking(slow, False)
            with suppress(BlockingIOError):
                had += len(os.read(slow, 1 << 20))
            collector.read()
        with suppress(BlockingIOError):
            had += len(os.read(slow, 1 << 20))
    assert had == collector.output().size


def test_what_is_left_at_the_end_waits_for_no_reader_beyond_its_time(pipe: Pipe) -> None:
    reader, writer = pipe()
    slow, sink_end = pipe()
    os.write(sink_end, bytes(60_000))
    os.write(writer, b"x" * 50_000)
    with open(sink_end, "wb", buffering=0, closefd=False) as sink:
        collector = Collector(reader, 100_000, sink, 1 << 30)
        assert collector.drain(time.monotonic() + 0.1) is False
        output = collector.output()
        collector.close()
    assert (output.size, output.truncated, output.sink_truncated) == (50_000, False, True)
    assert len(os.read(slow, 1 << 20)) < 60_000 + 50_000


def test_what_is_left_at_the_end_is_handed_on_whole_to_who_reads(pipe: Pipe) -> None:
    reader, writer = pipe()
    slow, sink_end = pipe()
    os.write(sink_end, bytes(60_000))
    os.write(writer, b"x" * 50_000)
    got = bytearray()

    def read() -> None:
        while len(got) < 110_000:
            got.extend(os.read(slow, 5000))

    thread = threading.Thread(target=read)
    thread.start()
    with open(sink_end, "wb", buffering=0, closefd=False) as sink:
        collector = Collector(reader, 10, sink, 1 << 30)
        assert collector.drain(math.inf) is True
        assert collector.output().sink_truncated is False
        assert collector.drain(math.inf) is True, "nothing is there, and the writer lives"
        collector.close()
    thread.join(60)
    assert bytes(got) == bytes(60_000) + b"x" * 50_000


def test_what_a_sink_does_not_get_is_told(pipe: Pipe) -> None:
    for limit, got, cut in ((10, b"0123456789", False), (9, b"012345678", True), (0, b"", True)):
        sink = io.BytesIO()
        output = collected(pipe, b"0123456789", 100, sink, limit).output()
        assert (sink.getvalue(), output.sink_truncated, output.truncated) == (got, cut, False)
    assert collected(pipe, b"0123456789", 100).output().sink_truncated is False


def test_a_closed_sink_is_trouble_and_an_open_one_none(pipe: Pipe) -> None:
    closed = io.BytesIO()
    closed.close()
    collector = collected(pipe, b"x", 10, closed, 10)
    assert isinstance(collector.trouble, StorageError)
    assert collector.output().data == b"x"
    assert collected(pipe, b"x", 10, io.BytesIO(), 10).trouble is None


def test_a_feeder_gives_all_and_closes(pipe: Pipe) -> None:
    reader, writer = pipe()
    data = os.urandom(300_000)
    feeder = Feeder(writer, data)
    got = b""
    while feeder.open:
        feeder.write()
        got += os.read(reader, 1 << 20)
    while block := os.read(reader, 1 << 20):
        got += block
    assert got == data


def test_a_feeder_whose_reader_is_gone_closes(pipe: Pipe) -> None:
    reader, writer = pipe()
    feeder = Feeder(writer, b"x")
    os.close(reader)
    feeder.write()
    assert not feeder.open


def test_a_forwarder_copies_a_file_whole(pipe: Pipe, tmp_path: Path) -> None:
    reader, writer = pipe()
    (tmp_path / "in").write_bytes(bytes(range(256)) * 2000)
    with open(tmp_path / "in", "rb") as source:
        forwarder = Forwarder(writer, source.fileno())
        got = b""
        while block := os.read(reader, 1 << 16):
            got += block
        forwarder.close()
    assert got == bytes(range(256)) * 2000


def test_a_closed_forwarder_takes_nothing_and_writes_nowhere(pipe: Pipe, tmp_path: Path) -> None:
    source, feed = pipe()
    reader, writer = pipe()
    forwarder = Forwarder(writer, source)
    os.write(feed, b"first")
    assert os.read(reader, 100) == b"first"
    forwarder.close()
    forwarder.close()
    # The next file gets the descriptor's number; it must not get the next input.
    victim = os.open(tmp_path / "victim", os.O_WRONLY | os.O_CREAT)
    if victim != writer:
        os.dup2(victim, writer)
        os.close(victim)
    os.write(feed, b"second")
    assert os.read(source, 100) == b"second"
    os.close(writer)
    assert (tmp_path / "victim").read_bytes() == b""


def test_a_forwarder_does_not_wait_for_a_full_pipe(pipe: Pipe) -> None:
    source, feed = pipe()
    _, writer = pipe()
    os.set_blocking(writer, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writer, bytes(65536))
    forwarder = Forwarder(writer, source)
    os.write(feed, b"x")
    forwarder.close()
    assert not forwarder.open


def test_a_forwarder_ends_with_its_source_or_its_reader(pipe: Pipe) -> None:
    source, feed = pipe()
    reader, writer = pipe()
    forwarder = Forwarder(writer, source)
    os.close(feed)
    assert os.read(reader, 1) == b""
    forwarder.close()
    source, feed = pipe()
    reader, writer = pipe()
    forwarder = Forwarder(writer, source)
    os.close(reader)
    os.write(feed, b"x")
    forwarder._thread.join(10)
    assert not forwarder.open
    forwarder.close()


def test_only_what_a_selector_can_wait_for_is_registered(pipe: Pipe) -> None:
    source, _ = pipe()
    (reader, _), (_, writer), (_, other) = pipe(), pipe(), pipe()
    collector, feeder = Collector(reader, 1, None, 0), Feeder(writer, b"x")
    forwarder = Forwarder(other, source)
    with selectors.DefaultSelector() as selector:
        for one in (collector, feeder, forwarder):
            register(selector, one)
        assert set(selector.get_map()) == {reader, writer}
    for one in (collector, feeder, forwarder):
        one.close()
