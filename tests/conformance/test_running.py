"""What a command may do to its box, to its streams and to the disk, on every backend."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rolewall.errors import StorageError
from rolewall.sandbox import Box, Streams, ZoneMount

Start = Callable[..., Box]
Zone = Callable[..., ZoneMount]

GROW = "cd /workspace; i=0; while :; do i=$((i+1)); head -c 1m /dev/zero > $i; sleep 0.05; done"


def test_a_command_that_fills_a_shared_zone_is_ended(start: Start, zone: Zone) -> None:
    mount = zone("workspace", writable=True)
    box = start(mount)
    done = box.run(["/bin/sh", "-c", GROW], timeout=60)
    assert done.disk_full
    assert not (done.timed_out or done.violation)
    assert done.returncode in (143, 137)
    assert box.run(["/bin/sh", "-c", "rm /workspace/*"]).disk_full is False
    again = box.run(["/bin/sh", "-c", "head -c 6m /dev/zero > /workspace/f; echo done"])
    assert (again.disk_full, again.stdout.text()) == (False, "done\n")


def test_a_command_that_is_quicker_than_the_watch_is_told_of(start: Start, zone: Zone) -> None:
    box = start(zone("workspace", writable=True))
    half = "head -c 5m /dev/zero > /workspace/"
    assert not box.run(["/bin/sh", "-c", half + "a"]).disk_full
    done = box.run(["/bin/sh", "-c", half + "b"])
    assert (done.disk_full, done.returncode) == (True, 0)


def test_what_a_zone_held_before_does_not_count(start: Start, zone: Zone) -> None:
    mount = zone("workspace", writable=True)
    (mount.source / "large").write_bytes(bytes(12 * 1024 * 1024))
    box = start(mount)
    assert not box.run(["/bin/sh", "-c", "head -c 6m /dev/zero > /workspace/f"]).disk_full
    assert box.run(["/bin/sh", "-c", "head -c 4m /dev/zero > /workspace/g"]).disk_full


def test_no_file_is_larger_than_the_limit(start: Start, zone: Zone) -> None:
    box = start(zone("workspace", writable=True))
    done = box.run(["/bin/sh", "-c", "head -c 9m /dev/zero > /workspace/f"])
    assert done.returncode != 0
    assert box.run(["/bin/sh", "-c", "head -c 7m /dev/zero > /workspace/f"]).returncode == 0


def test_output_is_handed_on_as_it_comes(start: Start) -> None:
    box = start()
    asks = ["/bin/sh", "-c", "echo colour?; read it; echo it is $it"]
    reader, writer = os.pipe()
    source, feed = os.pipe()
    with (
        open(reader, "rb") as answers,
        open(writer, "wb") as sink,
        open(source, "rb") as stdin,
        open(feed, "wb") as keyboard,
        ThreadPoolExecutor(1) as pool,
    ):
        streams = Streams(stdout=sink)
        run = pool.submit(box.run, asks, stdin=stdin.fileno(), timeout=60, streams=streams)
        assert answers.readline() == b"colour?\n"
        keyboard.write(b"blue\n")
        keyboard.flush()
        assert run.result(60).stdout.text() == "colour?\nit is blue\n"


def test_a_sink_that_fails_ends_the_command_and_says_why(start: Start) -> None:
    box = start()
    endless = ["/bin/sh", "-c", "trap '' TERM; sleep 1000 & while :; do echo y; done"]
    with (
        open("/dev/full", "wb", buffering=0) as full,
        pytest.raises(StorageError, match="No space left") as caught,
    ):
        box.run(endless, timeout=60, streams=Streams(stdout=full))
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.place == "/dev/full"
    assert box.kill_all() == 0
    reader, writer = os.pipe()
    os.close(reader)
    pipe = os.fdopen(writer, "wb", buffering=0)
    with pipe, pytest.raises(StorageError, match="Broken pipe") as caught:
        box.run(["echo", "x"], streams=Streams(stderr=None, stdout=pipe))
    assert isinstance(caught.value.__cause__, BrokenPipeError)
    assert box.run(["echo", "still here"]).stdout.text() == "still here\n"


def test_a_sink_that_is_cut_is_told(start: Start, tmp_path: Path) -> None:
    box = start()
    for limit, cut in ((5, False), (4, True), (0, True)):
        with open(tmp_path / "out", "wb") as sink:
            done = box.run(["printf", "12345"], streams=Streams(sink, None, limit))
        assert (tmp_path / "out").read_bytes() == b"12345"[:limit]
        assert (done.stdout.sink_truncated, done.stdout.truncated) == (cut, False)
    assert box.run(["printf", "12345"]).stdout.sink_truncated is False


def test_input_that_comes_later_is_the_next_commands(start: Start) -> None:
    box = start()
    source, feed = os.pipe()
    try:
        os.write(feed, b"first\n")
        first = box.run(["head", "-n", "1"], stdin=source, timeout=30)
        box.run(["true"], stdin=source, timeout=30)
        os.write(feed, b"second\n")
        os.close(feed)
        second = box.run(["cat"], stdin=source, timeout=30)
    finally:
        os.close(source)
    assert (first.stdout.data, second.stdout.data) == (b"first\n", b"second\n")


def test_the_probe_leaves_no_trace(start: Start, zone: Zone) -> None:
    mount = zone("workspace", writable=True)
    os.utime(mount.source, ns=(1_000_000_007, 2_000_000_009))
    box = start(mount)
    assert mount.source.stat().st_mtime_ns == 2_000_000_009
    box.run(["touch", "/workspace/new"])
    assert mount.source.stat().st_mtime_ns != 2_000_000_009
