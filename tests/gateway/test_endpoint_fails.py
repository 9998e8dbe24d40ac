"""An endpoint that fails is nobody's failure in the team, and the record says what happened."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable
from contextlib import suppress

import pytest

from rolewall.errors import ModelUnavailable
from rolewall.roles import Gateway
from tests.gateway.conftest import KEY, PATHS, Open
from tests.models import Say, ScriptedModel

Model = Callable[..., ScriptedModel]
CHAT = PATHS[0]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("status", [401, 402, 403, 404, 429, 500, 503, 529])
def test_its_errors_reach_the_agent_as_they_are(
    status: int, path: str, opened: Open, model: Model
) -> None:
    said = Say(status=status, error="not today", headers={"retry-after": "3", "x-more": "1"})
    client = opened(model(lambda heard: said).url)
    got = client.ask(path, stream=True)
    assert (got.status, got.json["error"]["type"]) == (status, "scripted_error")
    assert got.headers["retry-after"] == "3" and "x-more" not in got.headers
    use = client.end()
    assert (use.calls, use.failed, use.uncounted, use.usd) == (1, 1, 0, None)
    assert isinstance(client.door.trouble, ModelUnavailable)
    assert client.exchanges[0]["failed"] == f"status {status}"


@pytest.mark.parametrize("status", [400, 413, 422])
def test_what_the_agent_asked_wrongly_is_its_own(status: int, opened: Open, model: Model) -> None:
    client = opened(model(lambda heard: Say(status=status, error="too long")).url)
    assert client.ask().status == status
    assert client.end().failed == 0 and client.door.trouble is None


@pytest.mark.parametrize("status", [404, 405])
def test_asking_a_working_endpoint_for_what_it_has_not_is_the_agents_own(
    status: int, opened: Open, model: Model
) -> None:
    """Else a role that has done badly could make its episode an error, and be tried again."""
    told = model({"hi": [Say("ok"), Say(status=status), Say(status=status), Say(status=503)]})
    for role in ("executor", "executor of the next round"):
        client = opened(told.url, role=role)
        if role == "executor":
            assert client.ask().status == 200
        assert client.ask().status == status
        client.end()
        assert client.door.trouble is None
    client = opened(told.url, role="verifier")
    assert client.ask().status == 503
    client.end()
    assert isinstance(client.door.trouble, ModelUnavailable)


@pytest.mark.parametrize(
    "error",
    [
        {"message": "Unrecognized request argument supplied: billing", "type": "invalid"},
        {"message": "credit balance: no such tool", "code": ["billing_error"]},
        "Your credit balance is too low",
    ],
)
def test_words_of_the_request_in_an_error_are_no_lack_of_money(
    error: object, opened: Open, model: Model
) -> None:
    raw = json.dumps({"error": error}).encode()
    client = opened(model(lambda heard: Say(raw=raw, status=400)).url)
    assert client.ask().status == 400
    client.end()
    assert client.door.trouble is None


@pytest.mark.parametrize("at", ["type", "code"])
def test_a_lack_of_money_in_a_word_of_its_own_is(at: str, opened: Open, model: Model) -> None:
    raw = json.dumps({"error": {"message": "no", at: "insufficient_quota"}}).encode()
    client = opened(model(lambda heard: Say(raw=raw, status=400)).url)
    client.ask()
    client.end()
    assert isinstance(client.door.trouble, ModelUnavailable)


EVENTS = {"content-type": "text/event-stream"}
ESCAPED = "".join(f"\\u{ord(letter):04x}" for letter in KEY)


@pytest.mark.parametrize("stream", [False, True])
def test_a_key_in_another_way_of_writing_it_is_taken_out(
    stream: bool, opened: Open, model: Model
) -> None:
    said = f'{{"choices": [{{"index": 0, "delta": {{"content": "{ESCAPED}!"}}}}], "id": "kept"}}'
    raw = f"data: {said}\n\ndata: [DONE]\n\n" if stream else said
    headers = EVENTS if stream else {}
    client = opened(model(lambda heard: Say(raw=raw.encode(), headers=headers)).url)
    got = client.ask(stream=stream)
    assert b"[key removed]" in got.body and b"kept" in got.body
    client.end()
    text = client.record.read_text()
    for held in (text, got.body.decode()):
        assert KEY not in held and ESCAPED not in held


@pytest.mark.parametrize(
    "said",
    [
        f"HTTP/1.1 200 OK\r\nbad header {KEY}: x\r\n\r\n",
        f"HTTP/1.1 {KEY} OK\r\n\r\n",
        f"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{KEY}\r\n",
    ],
)
def test_a_key_in_what_is_no_answer_is_not_written_down(
    said: str, opened: Open, plain_server: Callable[[bytes], str]
) -> None:
    client = opened(plain_server(said.encode()))
    assert KEY.encode() not in client.ask().body
    client.end()
    assert client.door.trouble is not None
    assert KEY not in f"{client.record.read_text()} {client.door.trouble}"


def test_arguments_too_deep_for_a_record_stay_text(opened: Open, model: Model) -> None:
    deep = "[" * 100_000
    events = [
        {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use"}},
        {"type": "content_block_delta", "index": 0,
         "delta": {"type": "input_json_delta", "partial_json": deep}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_stop"},
    ]  # fmt: skip
    raw = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
    client = opened(model(lambda heard: Say(raw=raw, headers=EVENTS)).url)
    assert client.ask("/v1/messages", stream=True).status == 200
    client.end()
    assert client.door.trouble is None
    assert client.exchanges[0]["response"]["content"][0]["input"] == deep


def test_no_money_left_is_said_with_400_by_one_maker(opened: Open, model: Model) -> None:
    said = Say(status=400, error="Your credit balance is too low to access the API.")
    client = opened(model(lambda heard: said).url)
    assert client.ask("/v1/messages").status == 400
    client.end()
    assert client.door.trouble is not None


def test_a_failure_that_was_overcome_is_none(opened: Open, model: Model) -> None:
    said = [Say(status=529), Say(status=429), Say("ok")]
    client = opened(model({"hi": said}).url)
    assert [client.ask().status for _ in said] == [529, 429, 200]
    use = client.end()
    assert (use.calls, use.failed, client.door.trouble) == (3, 2, None)


def test_nobody_there(opened: Open) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    client = opened(url)
    got = client.ask("/v1/messages")
    assert (got.status, got.json["error"]["type"]) == (502, "api_error")
    assert url.split("/")[2] not in got.body.decode()
    client.end()
    assert "refused" in client.exchanges[0]["failed"].lower()
    assert url in str(client.door.trouble)


SAYING = {
    "nothing": b"",
    "no HTTP": b"hello\r\n\r\n",
    "half a head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "half a body": b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{",
    "half a stream": b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n5\r\ndata:",
    "chunks that are none": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
}


@pytest.mark.parametrize("said", SAYING.values(), ids=SAYING)
def test_half_an_answer_is_none(
    said: bytes, opened: Open, plain_server: Callable[[bytes], str]
) -> None:
    client = opened(plain_server(said))
    answered = client.raw(
        b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 47\r\n\r\n"
        b'{"model": "big", "input": "hi", "stream": true}'
    )
    assert not answered.endswith(b"0\r\n\r\n"), "a stream that broke off has no proper end"
    use = client.end()
    assert (use.calls, use.failed) == (1, 1) and client.door.trouble is not None
    assert client.exchanges[0]["failed"]


@pytest.mark.parametrize("path", PATHS)
def test_a_stream_that_breaks_off_is_recorded_as_far_as_it_came(
    path: str, opened: Open, model: Model
) -> None:
    client = opened(model(lambda heard: Say("a long answer " * 10, cut=6)).url)
    with pytest.raises(http.client.IncompleteRead):
        client.ask(path, stream=True)
    use = client.end()
    assert use.failed == 1 and client.door.trouble is not None
    (line,) = client.exchanges
    assert line["events"] and line["usage"] is None


def test_an_answer_that_is_no_json(opened: Open, model: Model) -> None:
    client = opened(model(lambda heard: Say(raw=b"<html>Bad gateway</html>", status=502)).url)
    got = client.ask()
    assert (got.status, got.body) == (502, b"<html>Bad gateway</html>")
    assert got.headers["content-type"].startswith("text/plain")
    assert client.exchanges[0]["response"] == "<html>Bad gateway</html>"


def test_a_stream_that_ends_in_an_error(opened: Open, model: Model) -> None:
    raw = b'event: error\ndata: {"type": "error", "error": {"message": "Overloaded"}}\n\n'
    head = {"content-type": "text/event-stream"}
    client = opened(model(lambda heard: Say(raw=raw, headers=head)).url)
    assert client.ask("/v1/messages", stream=True).body == raw
    client.end()
    assert "Overloaded" in client.exchanges[0]["failed"] and client.door.trouble is not None


def test_an_answer_without_end_is_ended(opened: Open, plain_server: Callable[[bytes], str]) -> None:
    said = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + b" " * (33 << 20)
    client = opened(plain_server(said))
    assert client.ask().status == 502
    assert "larger" in client.exchanges[0]["failed"]


def many(times: int) -> bytes:
    return b'{"id": "kept", "choices": [' + b",".join([b"[]"] * times) + b"]}"


ROWS = b'data: "' + b"," * 150_000 + b'"\n\n'
MUCH = {
    "values": (b"%b", many(200_000), many(1000), "200,000 values"),
    "values of an event": (b"data: %b\n\n", many(200_000), many(1000), "200,000 values"),
    "values in all": (b"%b", ROWS * 30, ROWS, "4,000,000 values"),
    "an event": (b'data: "%b"\n\n', b"x" * (9 << 20), b"x" * 70_000, "8 MiB"),
    "an event without an end": (b"data: %b", b"x" * (9 << 20), b"x" * 70_000, "8 MiB"),
}


@pytest.mark.parametrize(("shape", "much", "some", "why"), MUCH.values(), ids=MUCH)
def test_what_would_take_long_to_look_through_is_not(
    shape: bytes, much: bytes, some: bytes, why: str, opened: Open, model: Model
) -> None:
    """All phases of a run share one gateway. Its twin comes as it is."""
    stream = b"data: " in shape + much
    head = EVENTS if stream else {}
    client = opened(model(lambda heard: Say(raw=shape % some, headers=head)).url)
    assert client.ask(stream=stream).body == shape % some
    client = opened(model(lambda heard: Say(raw=shape % much, headers=head)).url)
    with suppress(http.client.IncompleteRead):
        assert client.ask(stream=stream).status == 502
    client.end()
    assert why in client.exchanges[0]["failed"] and not client.exchanges[0]["withheld"]
    assert isinstance(client.door.trouble, ModelUnavailable)


def test_what_the_agent_asked_to_be_large_is_its_own(opened: Open, model: Model) -> None:
    """With the letters of every token, twenty times, an answer is as large as a role wants."""
    client = opened(model(lambda heard: Say(raw=many(200_000))).url)
    for more in ({"logprobs": True, "top_logprobs": 20}, {"n": 128}):
        got = client.ask(**more)
        assert (got.status, got.word) == (403, "withheld")
        assert got.headers["x-should-retry"] == "false"
    assert client.end().failed == 2 and client.door.trouble is None


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLEWALL_MODEL_SECONDS", "1")


def test_silence_has_a_deadline(impatient: None, opened: Open, model: Model) -> None:
    client = opened(model(lambda heard: Say("ok", pause=3)).url)
    assert client.ask().status == 504
    assert client.exchanges[0]["failed"] == "silent for 1 s"


def test_ending_does_not_wait_for_a_stream(opened: Open, model: Model) -> None:
    """Of a long one what came is kept; its agent is told by a connection that breaks."""
    client = opened(model(lambda heard: Say("word " * 5000, pause=0.05)).url)
    body = json.dumps({"model": "big", "input": "hi", "stream": True}).encode()
    head = b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(str(client.door.socket))
        connection.sendall(head + body)
        seen = b""
        while b"data:" not in seen:
            seen += connection.recv(1000)
        use = client.end()
    assert use.calls == 1 and client.exchanges[0]["events"]
    assert not client.door.socket.exists()


@pytest.mark.parametrize("word", ["0", "x", "nan", "4000"])
def test_the_deadline_is_a_number_of_seconds(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLEWALL_MODEL_SECONDS", word)
    with pytest.raises(Exception, match="ROLEWALL_MODEL_SECONDS"), Gateway({}):
        pass
