"""The stream of test events, as a forger would send it."""

from __future__ import annotations

import hashlib
import hmac
import json

import pytest

from rolewall.graders.pytest_events import StreamError, read_events, replay

KEY = b"k" * 32


def line(number: int, key: bytes = KEY, **event: object) -> bytes:
    text = json.dumps({"n": number, **event}).encode()
    return b"@" + hmac.new(key, text, hashlib.sha256).hexdigest().encode() + b" " + text + b"\n"


BEGIN = line(0, event="begin", pytest="9", python="3")
END = line(1, event="end", status=0, note="")


def test_a_whole_stream_is_read() -> None:
    run = replay(read_events(BEGIN + b"noise\n@short\n" + END, KEY))
    assert (run.begun["pytest"], run.end) == ("9", 0)


def test_lines_without_the_key_are_no_events() -> None:
    forged = line(0, b"x" * 32, event="end", status=0, note="")
    assert read_events(forged + BEGIN, KEY) == read_events(BEGIN, KEY)


@pytest.mark.parametrize("output", [END, BEGIN + BEGIN, BEGIN + END + END])
def test_a_missing_or_repeated_event_is_seen(output: bytes) -> None:
    with pytest.raises(StreamError, match="missing or repeated"):
        read_events(output, KEY)


def test_nothing_follows_the_end() -> None:
    with pytest.raises(StreamError, match="after its end"):
        replay(read_events(BEGIN + END + line(2, event="end", status=1, note=""), KEY))


def test_an_unknown_event_is_refused() -> None:
    with pytest.raises(StreamError, match="unknown event"):
        replay(read_events(line(0, event="surprise"), KEY))
