"""A key that an endpoint gives back in pieces. Each has a twin that is let through as it is."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from rolewall.errors import ModelUnavailable
from rolewall.roles.gateway.reply import NoAnswer
from rolewall.roles.gateway.withholding import Sieve
from tests.gateway.conftest import KEY, PATHS, Client, Open, events
from tests.models import Say, ScriptedModel

Model = Callable[..., ScriptedModel]
CHAT, RESPONSES, MESSAGES = PATHS
STREAM = {"content-type": "text/event-stream"}
ECHOED = "gave the key back in pieces"
Pieces = Sequence[str]


def chat(*deltas: dict[str, Any]) -> list[Any]:
    said = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return [*said, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, "[DONE]"]


def responses(*items: dict[str, Any]) -> list[Any]:
    whole = {"id": "r", "status": "completed", "output": []}
    begun = {"type": "response.created", "response": {"id": "r", "status": "in_progress"}}
    return [begun, *items, {"type": "response.completed", "response": whole}]


def messages(block: dict[str, Any], *deltas: dict[str, Any]) -> list[Any]:
    return [
        {"type": "message_start", "message": {"id": "m", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "ping"},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_stop"},
    ]


def chat_text(pieces: Pieces) -> list[Any]:
    return chat(*({"content": piece} for piece in pieces))


def chat_call(pieces: Pieces) -> list[Any]:
    calls = [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
    return chat(*({"tool_calls": [call]} for call in calls))


def chat_among_others(pieces: Pieces) -> list[Any]:
    """With another choice, and the same one's reasoning, in between."""
    mixed = []
    for piece in pieces:
        other = {"index": 1, "delta": {"content": "other words"}}
        own = {"index": 0, "delta": {"reasoning_content": "hm", "content": piece}}
        mixed.append({"choices": [other, own]})
    return [*mixed, *chat()]


def responses_text(pieces: Pieces) -> list[Any]:
    place = {"output_index": 0, "content_index": 0}
    kind = "response.output_text.delta"
    return responses(*({"type": kind, **place, "delta": piece} for piece in pieces))


def responses_call(pieces: Pieces) -> list[Any]:
    kind = "response.function_call_arguments.delta"
    return responses(*({"type": kind, "output_index": 1, "delta": piece} for piece in pieces))


def responses_part(pieces: Pieces) -> list[Any]:
    """The first piece comes with the part that the others are added to."""
    part = {"type": "response.content_part.added", "content_index": 0, "output_index": 0,
            "part": {"type": "output_text", "text": pieces[0]}}  # fmt: skip
    return responses(part, *responses_text(pieces[1:])[1:-1])


def messages_text(pieces: Pieces) -> list[Any]:
    block = {"type": "text", "text": pieces[0]}
    return messages(block, *({"type": "text_delta", "text": piece} for piece in pieces[1:]))


def messages_thinking(pieces: Pieces) -> list[Any]:
    block = {"type": "thinking", "thinking": ""}
    return messages(block, *({"type": "thinking_delta", "thinking": piece} for piece in pieces))


def messages_call(pieces: Pieces) -> list[Any]:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return messages({"type": "tool_use", "id": "t", "name": "run", "input": {}}, *deltas)


def messages_blocks(pieces: Pieces) -> list[Any]:
    """A block for each piece."""
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    said = [{"type": "content_block_delta", "index": n, "delta": d} for n, d in enumerate(deltas)]
    begun, *_, end = messages({"type": "text", "text": ""})
    return [begun, *said, end]


SAYING: dict[str, tuple[str, Callable[[Pieces], list[Any]]]] = {
    "chat": (CHAT, chat_text),
    "chat, a call": (CHAT, chat_call),
    "chat, among others": (CHAT, chat_among_others),
    "responses": (RESPONSES, responses_text),
    "responses, a call": (RESPONSES, responses_call),
    "responses, from the part on": (RESPONSES, responses_part),
    "messages": (MESSAGES, messages_text),
    "messages, thinking": (MESSAGES, messages_thinking),
    "messages, a call": (MESSAGES, messages_call),
    "messages, over blocks": (MESSAGES, messages_blocks),
}
CUTS = {
    "two": [f"It is {KEY[:9]}", f"{KEY[9:]} as you see"],
    "all but one": [f"It is {KEY[:-1]}", KEY[-1]],
    "letters": ["It is ", *KEY],
    "after a wrong start": [KEY[:8], KEY[:5], KEY[5:]],
    "as JSON writes it": ["{\"a\": \"" + KEY[:11], "\\/" + KEY.partition("/")[2] + "\"}"],
}  # fmt: skip


def stream_of(said: Sequence[Any]) -> bytes:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in said]
    return "".join(f"data: {text}\n\n" for text in texts).encode()


def asked(client: Client, path: str) -> bytes:
    """All that a role gets of a stream, whether it has an end or not."""
    try:
        return client.ask(path, stream=True).body
    except http.client.IncompleteRead as broken:
        return broken.partial


@pytest.mark.parametrize("pieces", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize(("path", "saying"), SAYING.values(), ids=SAYING)
def test_over_the_events_of_a_stream(
    path: str,
    saying: Callable[[Pieces], list[Any]],
    pieces: Pieces,
    opened: Open,
    model: Model,
) -> None:
    raw = stream_of(saying(pieces))
    client = opened(model(lambda heard: Say(raw=raw, headers=STREAM)).url)
    with pytest.raises(http.client.IncompleteRead) as broken:
        client.ask(path, stream=True)
    assert raw.startswith(broken.value.partial)
    use = client.end()
    (line,) = client.exchanges
    assert ECHOED in line["failed"] and (use.calls, use.failed) == (1, 1)
    assert isinstance(client.door.trouble, ModelUnavailable)
    assert ECHOED in str(client.door.trouble)
    texts = "".join(text for one in events(broken.value.partial) for text in strings(one))
    for held in (texts, client.record.read_text()):
        assert KEY[3:9] not in held


def strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for inner in value.values() for text in strings(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in strings(inner)]
    return [value] if isinstance(value, str) else []


HARMLESS = {
    "a prefix": [f"It is {KEY[:9]}", "… and no more"],
    "all but one": [KEY[:-1], "?"],
    "at the end": ["keys begin with ", KEY[:8]],
    "again and again": [KEY[:8], KEY[:8], KEY[:12], KEY[:4], "ok"],
    "its end first": [KEY[10:], KEY[:10]],
    "a letter": [KEY[0], KEY[0], KEY[0]],
}


@pytest.mark.parametrize("pieces", HARMLESS.values(), ids=HARMLESS)
@pytest.mark.parametrize(("path", "saying"), SAYING.values(), ids=SAYING)
def test_what_only_begins_like_it_is_handed_on_whole(
    path: str,
    saying: Callable[[Pieces], list[Any]],
    pieces: Pieces,
    opened: Open,
    model: Model,
) -> None:
    raw = stream_of(saying(pieces))
    client = opened(model(lambda heard: Say(raw=raw, headers=STREAM)).url)
    assert client.ask(path, stream=True).body == raw
    client.end()
    (line,) = client.exchanges
    assert line["events"].encode() == raw and not line["failed"]
    assert client.door.trouble is None


HALVES = KEY[:10], KEY[10:]
RAW = {
    "in data that is no JSON": b"data: a %b\n\ndata: %b\n\n",
    "in comments": b": %b\n\n: %b\n\n",
    "in names of events": b"event: %b\n\nevent: %b\n\n",
    "in lines of one event": b"data: %b\ndata: %b\n\n",
    "with names that stand there twice": b'data: {"a": 1, "a": "%b"}\n\ndata: {"a": "%b"}\n\n',
    "with ends of lines of two kinds": b'data: {"a": "%b"}\r\n\ndata: {"a": "%b"}\n\r\n',
    "behind a byte order mark": b'\xef\xbb\xbfdata: {"a": "%b"}\n\ndata: {"a": "%b"}\n\n',
    "with a number that is none": b'data: {"a": "%b", "b": NaN}\n\ndata: {"a": "%b"}\n\n',
    "without an end": b'data: {"a": "%b"}\n\ndata: {"a": "%b"}',
}


@pytest.mark.parametrize("raw", RAW.values(), ids=RAW)
def test_in_whatever_an_agent_may_read_of_a_stream(raw: bytes, opened: Open, model: Model) -> None:
    first, last = (half.encode() for half in HALVES)
    for end, echoed in ((last, True), (last[1:], False)):
        said = raw % (first, end)
        client = opened(model(lambda heard, said=said: Say(raw=said, headers=STREAM)).url)
        got = asked(client, CHAT)
        client.end()
        assert (ECHOED in client.exchanges[0]["failed"]) == echoed
        assert (first in got) != echoed and (echoed or got == said)


def test_a_key_that_is_escaped_in_what_is_hardly_json(opened: Open, model: Model) -> None:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
    for said, echoed in ((escaped, True), (escaped[6:], False)):
        raw = f'data: {{"a": 1, "a": 2, "b": "{said}"}}\n\n'.encode()
        client = opened(model(lambda heard, raw=raw: Say(raw=raw, headers=STREAM)).url)
        got = asked(client, CHAT)
        assert (said.encode() in got) != echoed
        client.end()
        assert (ECHOED in client.exchanges[0]["failed"]) == echoed


@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
def test_in_an_answer_at_once(kind: str, opened: Open, model: Model) -> None:
    """Over two parts of it; or it is a stream under another name."""
    for last, echoed in ((HALVES[1], True), (HALVES[1][1:], False)):
        parts = [{"type": "text", "text": text} for text in (HALVES[0], last)]
        whole = json.dumps({"content": parts}, indent=1).encode()
        raw = whole if kind == "application/json" else stream_of(chat_text([HALVES[0], last]))
        client = opened(
            model(lambda heard, raw=raw: Say(raw=raw, headers={"content-type": kind})).url
        )
        got = client.ask(MESSAGES)
        assert (got.status, HALVES[0].encode() in got.body) == (
            (502, False) if echoed else (200, True)
        )
        client.end()
        assert (ECHOED in client.exchanges[0]["failed"]) == echoed
        assert (HALVES[0] in client.record.read_text()) != echoed


def test_what_is_nested_too_deep_to_look_through_is_not_handed_on(
    opened: Open, model: Model
) -> None:
    for depth, passed in ((50, True), (200_000, False)):
        raw = b'data: {"a": ' + b"[" * depth + b"]" * depth + b"}\n\n"
        client = opened(model(lambda heard, raw=raw: Say(raw=raw, headers=STREAM)).url)
        assert (asked(client, CHAT) == raw) == passed
        client.end()
        assert ("too deep" in client.exchanges[0]["failed"]) != passed


def test_an_answer_that_was_cut_for_it_is_cut_in_a_replay_too(opened: Open, model: Model) -> None:
    raw = stream_of(chat_text(["so: ", *HALVES]))
    client = opened(model(lambda heard: Say(raw=raw, headers=STREAM)).url)
    first = asked(client, CHAT)
    client.end()
    again = opened("http://127.0.0.1:9/v1", tape=client.record)
    assert asked(again, CHAT) == first and b"so: " in first
    again.end()
    assert ECHOED in again.exchanges[0]["failed"]


def test_a_stream_goes_on_while_its_end_may_begin_a_key(opened: Open, model: Model) -> None:
    """What begins like one is kept back alone, and no longer than until it goes on otherwise."""
    client = opened(model(lambda heard: Say("words " * 30 + KEY[:6] + "! " + "x" * 60)).url)
    body = json.dumps({"model": "big", "input": "hi", "stream": True}).encode()
    head = b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(str(client.door.socket))
        connection.sendall(head + body)
        seen = b""
        while b"response.completed" not in seen:
            seen += connection.recv(65536)
    client.end()
    assert KEY[:6] in json.dumps(client.exchanges[0]["response"])


@pytest.mark.parametrize("length", [8, 9, 10, 11, 22, 60])
def test_at_least_eight_characters_of_a_key_stay_unknown(length: int) -> None:
    key = (KEY * 4)[:length]
    sieve, gone = Sieve([key]), 0
    with pytest.raises(NoAnswer):
        for letter in key:
            event = f'data: {{"text": "{letter}"}}\n\n'.encode()
            gone += len(sieve.feed(event, None))
    assert gone <= min(3, length - 8)
    twin = Sieve([key])
    handed = [one for letter in key[:-1] for one in twin.feed(b"data: " + letter.encode(), None)]
    assert len(handed + twin.rest()) == length - 1
