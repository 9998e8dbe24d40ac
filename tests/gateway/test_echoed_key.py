"""A key that an endpoint gives back in pieces. Each has a twin that is let through as it is."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from rolewall.errors import ModelUnavailable
from rolewall.roles.gateway.keys import Scrubber
from rolewall.roles.gateway.reply import Withheld
from rolewall.roles.gateway.sifting import Sifter
from rolewall.roles.gateway.withholding import Sieve
from tests.gateway.conftest import KEY, PATHS, Client, Open, events
from tests.models import Say, ScriptedModel

Model = Callable[..., ScriptedModel]
CHAT, RESPONSES, MESSAGES = PATHS
STREAM = {"content-type": "text/event-stream"}
ECHOED = "holds the key in pieces, or most of it"
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
    "cut short at the end": ["It is ", KEY[:9], KEY[9:-1]],
    "cut short in the midst": [KEY[:9], f"{KEY[9:-3]} and so on"],
    "without its beginning": [f"… {KEY[4:9]}", KEY[9:]],
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
    assert line["withheld"] and client.door.trouble is None, "a role may have asked for it"
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
    "as much as may be": [KEY[:8], KEY[8:-8], "?"],
    "at the end": ["keys begin with ", KEY[:8]],
    "as much as may be at the end": ["keys begin with ", KEY[:-8]],
    "an end of it": ["keys end in ", KEY[8:]],
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
    for said, echoed in ((escaped, True), (escaped[6 * 8 :], False)):
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
            (403, False) if echoed else (200, True)
        )
        client.end()
        assert (ECHOED in client.exchanges[0]["failed"]) == echoed
        assert (HALVES[0] in client.record.read_text()) != echoed


def test_what_is_nested_too_deep_to_look_through_is_not_handed_on(
    opened: Open, model: Model
) -> None:
    for depth, passed in ((50, True), (90_000, False)):
        raw = b'data: {"a": ' + b"[" * depth + b"]" * depth + b"}\n\n"
        client = opened(model(lambda heard, raw=raw: Say(raw=raw, headers=STREAM)).url)
        assert (asked(client, CHAT) == raw) == passed
        client.end()
        assert ("too deep" in client.exchanges[0]["failed"]) != passed


def test_an_answer_that_was_cut_for_it_is_cut_in_a_replay_too(opened: Open, model: Model) -> None:
    raw = stream_of(chat_text(["so: ", *HALVES]))
    whole = json.dumps({"content": HALVES}).encode()
    said = [Say(raw=raw, headers=STREAM), Say(raw=whole)]
    client = opened(model({"hi": said}).url)
    first, then = asked(client, CHAT), client.ask()
    client.end()
    again = opened("http://127.0.0.1:9/v1", tape=client.record)
    assert asked(again, CHAT) == first and b"so: " in first
    assert again.ask().body == then.body and then.word == "withheld"
    again.end()
    assert again.door.trouble is None
    for line in again.exchanges:
        assert ECHOED in line["failed"] and line["withheld"]


def test_an_error_that_no_role_brings_about_is_the_endpoints_all_the_same(
    opened: Open, model: Model
) -> None:
    for status, unavailable in ((401, True), (400, False)):
        client = opened(model(lambda heard, status=status: Say(
            status=status, error=f"no key: {KEY[:-3]}…")).url)  # fmt: skip
        got = client.ask()
        assert KEY[:4] not in got.body.decode() + client.record.read_text()
        client.end()
        assert isinstance(client.door.trouble, ModelUnavailable) == unavailable


def test_pieces_of_two_texts_that_are_told_apart_by_name(opened: Open, model: Model) -> None:
    for last, echoed in ((HALVES[1], True), (HALVES[1][::-1], False)):
        said = [("a", HALVES[0]), ("b", "other words"), ("a", last), ("b", "and more")]
        kind = "response.output_text.delta"
        raw = stream_of(responses(*({"type": kind, "item_id": item, "delta": text}
                                    for item, text in said)))  # fmt: skip
        client = opened(model(lambda heard, raw=raw: Say(raw=raw, headers=STREAM)).url)
        got = asked(client, RESPONSES)
        assert (HALVES[0].encode() in got) != echoed and (got == raw) != echoed
        client.end()


def test_pieces_in_headers_are_left_out(opened: Open, model: Model) -> None:
    head = {"x-request-id": f"r-{HALVES[0]}", "request-id": f"r-{HALVES[1]}", "retry-after": "7"}
    client = opened(model(lambda heard: Say(status=429, headers=head)).url)
    assert {"x-request-id", "request-id", "retry-after"} & {*client.ask().headers} == {
        "retry-after"
    }
    plain = opened(model(lambda heard: Say("ok", headers={"x-request-id": "req_0123"})).url)
    assert plain.ask().headers["x-request-id"] == "req_0123"


@pytest.mark.parametrize("key", ["EMPTY", "none", "lm-studio", "ollama", "sk-no-key", "sk-xxxx"])
def test_a_word_in_place_of_a_key_is_searched_for_nowhere(key: str) -> None:
    scrubber = Scrubber(key)
    said = json.dumps({"choices": [{"message": {"content": f"I say {key}"}}]}).encode()
    assert Sifter(scrubber).whole(said).data == said
    sifter = Sifter(scrubber)
    ready, broken = sifter.feed(b"data: %b\n\n" % said)
    assert len(ready) == 1 and broken is None and not scrubber.holds_part(key)


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
    with pytest.raises(Withheld):
        for letter in key:
            event = f'data: {{"text": "{letter}"}}\n\n'.encode()
            gone += len(sieve.feed(event, None))
    assert gone <= min(3, length - 8)
    most = max(length - 8, length // 2)
    assert len(said_by_letters(key[:most], key)) == most
    with pytest.raises(Withheld):
        said_by_letters(key[: most + 1], key)


def said_by_letters(text: str, key: str) -> list[tuple[bytes, Any]]:
    sieve = Sieve([key])
    events = [f'data: {{"text": "{letter}"}}\n\n'.encode() for letter in text]
    return [one for event in events for one in sieve.feed(event, None)] + sieve.rest()


@pytest.mark.parametrize("number", [1000, 1001])
def test_a_stream_of_many_texts_that_may_each_become_it(
    number: int, opened: Open, model: Model
) -> None:
    """Each event is looked through against all of them, so there is an end to their number."""
    said = [{"choices": [{"index": n, "delta": {"content": KEY[:5]}}]} for n in range(number - 1)]
    raw = stream_of([*said, "[DONE]"])
    client = opened(model(lambda heard: Say(raw=raw, headers=STREAM)).url)
    got = asked(client, CHAT)
    client.end()
    refused = "may become the key" in client.exchanges[0]["failed"]
    assert (refused, got == raw) == (number > 1000, number <= 1000)
