"""No host but the endpoint is reached, and nothing but a model's answer is had from it.

Each way out that is tried has a twin that is allowed.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from rolewall.errors import InputError
from rolewall.roles import Endpoint, keys_of
from tests.gateway.conftest import ASKED, KEY, PATHS, Client, Open
from tests.models import Say, ScriptedModel

Model = Callable[..., ScriptedModel]
CHAT = PATHS[0]
BODY = json.dumps(ASKED[CHAT]).encode()


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[bytes]]]:
    """Another server of the machine, and what arrived there."""
    arrived: list[bytes] = []
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    arrived.append(connection.recv(65536))
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        stack.callback(thread.join, 30)
        stack.callback(server.shutdown, socket.SHUT_RDWR)
        yield f"127.0.0.1:{server.getsockname()[1]}", arrived


def request(line: str, *headers: str, body: bytes = BODY) -> bytes:
    head = [line, "Connection: close", *headers]
    if not any(header.lower().startswith(("content-length", "transfer-")) for header in headers):
        head.append(f"Content-Length: {len(body)}")
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


LINES = {
    "another host": "POST http://{other}/v1/chat/completions HTTP/1.1",
    "another host over TLS": "POST https://{other}/v1/chat/completions HTTP/1.1",
    "the endpoint's own": "POST {url}/chat/completions HTTP/1.1",
    "a tunnel": "CONNECT {other} HTTP/1.1",
    "another path": "POST /v1/embeddings HTTP/1.1",
    "files": "POST /v1/files HTTP/1.1",
    "batches": "POST /v1/messages/batches HTTP/1.1",
    "a stored answer": "GET /v1/responses/resp_1 HTTP/1.1",
    "another version": "POST /v2/chat/completions HTTP/1.1",
    "up": "POST /v1/../admin HTTP/1.1",
    "up and down again": "POST /v1/x/../chat/completions HTTP/1.1",
    "up, encoded": "POST /v1/%2e%2e/admin HTTP/1.1",
    "a name, encoded": "POST /v1/chat%2Fcompletions HTTP/1.1",
    "two slashes": "POST //v1/chat/completions HTTP/1.1",
    "a host for a path": "POST //{other}/v1/chat/completions HTTP/1.1",
    "a slash more": "POST /v1/chat/completions/ HTTP/1.1",
    "a query": "POST /v1/chat/completions?api-version=1 HTTP/1.1",
    "two queries": "POST /v1/messages?beta=true&x=1 HTTP/1.1",
    "a fragment": "POST /v1/chat/completions#x HTTP/1.1",
    "a user": "POST http://{other}@127.0.0.1/v1/chat/completions HTTP/1.1",
    "another method": "GET /v1/chat/completions HTTP/1.1",
    "the root": "POST / HTTP/1.1",
    "everything": "OPTIONS * HTTP/1.1",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_only_the_calls_of_a_model_have_a_way_out(
    line: str, opened: Open, model: Model, elsewhere: tuple[str, list[bytes]]
) -> None:
    other, arrived = elsewhere
    endpoint = model(lambda heard: Say("ok"))
    client = opened(endpoint.url)
    said = client.raw(request(line.format(other=other, url=endpoint.url), "Host: x"))
    assert said.split(b" ")[1] in (b"404", b"400"), said
    allowed = client.raw(request("POST /v1/chat/completions HTTP/1.1", "Host: x"))
    assert allowed.startswith(b"HTTP/1.1 200")
    assert not arrived and len(endpoint.heard) == 1 and not endpoint.problems
    assert client.end().calls == 1
    assert all(line["refused"] == "path" for line in client.exchanges[:-1])


HEADS = {
    "another host": ["Host: {other}"],
    "two hosts": ["Host: x", "X-Forwarded-Host: {other}", "Forwarded: host={other}"],
    "a way to go": ["Host: x", "X-Original-URL: http://{other}/", "X-Rewrite-URL: /admin"],
    "an upgrade": ["Host: x", "Connection: Upgrade", "Upgrade: websocket"],
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_no_header_chooses_where_to(
    head: list[str], opened: Open, model: Model, elsewhere: tuple[str, list[bytes]]
) -> None:
    other, arrived = elsewhere
    endpoint = model(lambda heard: Say("ok"))
    lines = [line.format(other=other) for line in head]
    client = opened(endpoint.url)
    said = client.raw(request("POST /v1/chat/completions HTTP/1.1", *lines))
    assert said.startswith(b"HTTP/1.1 200")
    (heard,) = endpoint.heard
    assert other not in str(heard.headers) and not arrived


SMUGGLED = b"GET /v1/secret HTTP/1.1\r\nHost: x\r\n\r\n"
BOTH = {
    "two lengths": ["Content-Length: 5", f"Content-Length: {len(BODY) + len(SMUGGLED)}"],
    "a length and chunks": [f"Content-Length: {len(BODY)}", "Transfer-Encoding: chunked"],
    "chunks of another kind": ["Transfer-Encoding: xchunked"],
    "a header in two lines": ["X-Folded: a\r\n b", f"Content-Length: {len(BODY)}"],
    "a bare newline": ["X-Bare: a\nX-More: b", f"Content-Length: {len(BODY)}"],
    "a space before the colon": ["Content-Length : 5", f"Content-Length: {len(BODY)}"],
}


@pytest.mark.parametrize("headers", BOTH.values(), ids=BOTH)
def test_nothing_is_smuggled_past_what_was_looked_at(
    headers: list[str], opened: Open, model: Model
) -> None:
    """Whatever a head is taken for, the endpoint hears whole requests that were looked at."""
    endpoint = model(lambda heard: Say("ok"))
    client = opened(endpoint.url)
    line = "POST /v1/chat/completions HTTP/1.1"
    client.raw(request(line, "Host: x", *headers, body=BODY + SMUGGLED))
    assert client.ask().status == 200
    assert {heard.target for heard in endpoint.heard} == {CHAT} and not endpoint.problems
    assert all(heard.body == ASKED[CHAT] for heard in endpoint.heard)


def test_a_redirect_is_not_followed(
    opened: Open,
    elsewhere: tuple[str, list[bytes]],
    model: Model,
) -> None:
    other, arrived = elsewhere
    target = {"location": f"http://{other}/v1/chat/completions"}
    endpoint = model(lambda heard: Say(raw=b"", status=307, headers=target))
    client = opened(endpoint.url)
    got = client.ask()
    assert (got.status, got.word) == (502, "endpoint")
    assert "location" not in got.headers and not arrived
    assert client.end().failed == 1 and "redirect" in client.exchanges[0]["failed"]


def responses(**more: object) -> tuple[str, dict[str, Any]]:
    return "/v1/responses", {"model": "big", "input": "hi", **more}


def messages(**more: object) -> tuple[str, dict[str, Any]]:
    return "/v1/messages", {**ASKED["/v1/messages"], **more}


def chat(**more: object) -> tuple[str, dict[str, Any]]:
    return CHAT, {**ASKED[CHAT], **more}


def said(*parts: object) -> list[dict[str, object]]:
    return [{"role": "user", "content": list(parts)}]


PAGE = "https://elsewhere.example/x.png"
PICTURE = "data:image/png;base64,AAAA"
OWN = {"name": "run", "input_schema": {"type": "object"}}
# Asked for, and the word that refuses it; each beside what is allowed in its place.
REACHING: dict[str, tuple[str, tuple[str, dict[str, Any]], tuple[str, dict[str, Any]]]] = {
    "web search": ("tool", responses(tools=[{"type": "web_search"}]),
                   responses(tools=[{"type": "function", "name": "web_search"}])),
    "web search of chat": ("tool", chat(web_search_options={"user_location": None}),
                           chat(web_search_options={})),
    "web fetch": ("tool", messages(tools=[{"type": "web_fetch_20250910", "name": "web_fetch"}]),
                  messages(tools=[OWN, {"type": "custom", **OWN}])),
    "a remote server": ("tool", responses(tools=[{"type": "mcp", "server_url": PAGE}]),
                        responses(tools=[])),
    "a remote server, messages": ("tool", messages(mcp_servers=[{"url": PAGE}]),
                                  messages(mcp_servers=[])),
    "code elsewhere": ("tool", messages(tools=[{"type": "code_execution_20250825"}]),
                       messages(tools=[{"type": "bash_20250124", "name": "bash"}])),
    "a tool in a group": ("tool", responses(tools=[{"type": "namespace", "tools": [
        {"type": "code_interpreter"}]}]), responses(tools=[{"type": "namespace", "tools": [
            {"type": "function", "name": "x"}]}])),
    "a stored prompt": ("tool", responses(prompt={"id": "pmpt_1"}), responses(prompt=None)),
    "a picture to fetch": ("address", chat(messages=said(
        {"type": "image_url", "image_url": {"url": PAGE}})), chat(messages=said(
            {"type": "image_url", "image_url": {"url": PICTURE}}))),
    "a picture, responses": ("address", responses(input=said(
        {"type": "input_image", "image_url": PAGE})), responses(input=said(
            {"type": "input_image", "image_url": PICTURE}))),
    "a file to fetch": ("address", responses(input=said(
        {"type": "input_file", "file_url": PAGE})), responses(input=said(
            {"type": "input_text", "text": f"look at {PAGE}"}))),
    "a document": ("address", messages(messages=said(
        {"type": "document", "source": {"type": "url", "url": PAGE}})), messages(messages=said(
            {"type": "tool_use", "id": "t", "name": "fetch", "input": {"url": PAGE}}))),
    "a picture in a result": ("address", messages(messages=said({"type": "tool_result", "content": [
        {"type": "image", "source": {"type": "url", "url": PAGE}}]})), messages(messages=said(
            {"type": "tool_result", "content": [{"type": "text", "text": PAGE}]}))),
    "another model": ("model", chat(model="huge"), chat(model="small")),
    "a fallback": ("model", chat(models=["big", "huge"]), chat(models=["big", "small"])),
    "a fallback, deep": ("model", chat(reasoning={"by": [{"fallbacks": ["huge"]}]}),
                         chat(reasoning={"by": [{"fallbacks": ["small"]}]})),
    "a fallback by name": ("model", chat(models=[{"id": "huge"}]),
                           chat(models=[{"id": "small"}])),
    "a model of a name alike": ("model", chat(model="BIG"), chat(model="big")),
    "a model that is none": ("body", chat(model=["big"]), chat()),
}  # fmt: skip


@pytest.mark.parametrize(("word", "asked", "twin"), REACHING.values(), ids=REACHING)
def test_an_endpoint_reaches_nothing_else_for_a_role(
    word: str,
    asked: tuple[str, dict[str, Any]],
    twin: tuple[str, dict[str, Any]],
    opened: Open,
    model: Model,
) -> None:
    endpoint = model(lambda heard: Say("ok"))
    client = opened(endpoint.url)
    assert client.ask(*asked).status in (400, 403) and not endpoint.heard
    assert client.ask(*twin).status == 200 and len(endpoint.heard) == 1
    use = client.end()
    assert (use.calls, use.refused, client.exchanges[0]["refused"]) == (1, 1, word)


JUNK = {
    "nothing": b"",
    "no JSON": b"{not json",
    "a list": b"[]",
    "a number": b"1",
    "no text": b"\xff\xfe",
    "two models": b'{"model": "big", "model": "huge", "messages": []}',
    "deep": b'{"model": "big", "messages": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "not a number": b'{"model": "big", "temperature": NaN}',
    "half a sign": b'{"model": "big", "input": "\\ud800"}',
    "tools of no kind": b'{"model": "big", "tools": {"a": 1}}',
    "a tool that is a word": b'{"model": "big", "tools": ["web_search"]}',
    "a tool of a strange type": b'{"model": "big", "tools": [{"type": 5}]}',
}


@pytest.mark.parametrize("body", JUNK.values(), ids=JUNK)
@pytest.mark.parametrize("path", [CHAT, "/v1/messages"])
def test_junk_is_refused_in_the_protocols_own_words(
    path: str, body: bytes, opened: Open, model: Model
) -> None:
    endpoint = model(lambda heard: Say("ok"))
    client = opened(endpoint.url)
    got = client.ask(path, body)
    assert got.status == 400 and got.headers["x-should-retry"] == "false"
    assert got.json["error"]["message"].startswith("rolewall: ")
    assert (got.json.get("type") == "error") == (path == "/v1/messages")
    assert client.ask(path).status == 200
    assert client.end().refused == 1 and len(endpoint.heard) == 1


def test_a_compressed_request_is_not_unpacked(opened: Open, model: Model) -> None:
    client = opened(model(lambda heard: Say("ok")).url)
    assert client.ask(headers={"content-encoding": "gzip"}).status == 415
    assert client.ask(headers={"content-encoding": "identity"}).status == 200


def test_what_no_record_could_keep_is_refused(opened: Open, model: Model) -> None:
    client = opened(model(lambda heard: Say("ok")).url)
    big = json.dumps({"model": "big", "input": "x" * (16 << 20)}).encode()
    assert client.ask("/v1/responses", big).status == 413
    assert client.exchanges[0]["request"] is None
    assert client.ask("/v1/responses").status == 200


def test_refusals_do_not_fill_the_disk(opened: Open, model: Model) -> None:
    client = opened(model(lambda heard: Say("ok")).url)
    flood(client, 1200)
    assert client.ask().status == 200
    use = client.end()
    assert (use.refused, use.calls) == (1200, 1)
    assert len(client.exchanges) == 1001


def flood(client: Client, times: int) -> None:
    one = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
    last = b"GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    client.raw(one * (times - 1) + last)


@pytest.mark.parametrize("value", ["", "  ", "seven77", "two words long", "k" * 8193, "schlüssel"])
def test_what_cannot_be_a_key_is_refused_and_not_told(value: str) -> None:
    endpoints = {"main": Endpoint("main", "http://127.0.0.1:9/v1", "A_KEY", ("big",), {})}
    with pytest.raises(InputError, match="A_KEY") as caught:
        keys_of(endpoints, {"A_KEY": value})
    assert not value.strip() or value not in str(caught.value)
    for word in ("eight888", "EMPTY", "none"):
        assert keys_of(endpoints, {"A_KEY": f" {word}\n"}) == {"main": word}


@pytest.mark.parametrize("path", PATHS)
def test_a_key_that_an_endpoint_repeats_does_not_come_in(
    path: str, opened: Open, model: Model
) -> None:
    head = {"x-request-id": KEY, "retry-after": "7", "set-cookie": KEY, "x-echo": KEY}
    said = [
        Say(status=401, error=f"no such key: {KEY}", headers=head),
        Say(f"your key is {KEY}"),
        Say(raw=b'{"error": "' + KEY.replace("/", "\\/").encode() + b'"}', status=400),
    ]
    endpoint = model({"hi": said})
    client = opened(endpoint.url)
    first = client.ask(path)
    assert (first.status, first.headers["retry-after"]) == (401, "7")
    assert "[key removed]" in first.body.decode()
    got = [first, client.ask(path), client.ask(path)]
    shown = str(got) + client.record.read_text()
    assert "[key removed]" in shown
    for form in (KEY, KEY.replace("/", "\\/"), KEY.partition("/")[2]):
        assert form not in shown
    client.end()


def test_a_key_over_two_chunks_of_a_stream(
    opened: Open, plain_server: Callable[[bytes], str]
) -> None:
    data = b'data: {"choices": [{"index": 0, "delta": {"content": "' + KEY.encode() + b'"}}]}\n\n'
    middle = data.index(KEY.encode()) + 5
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in (data[:middle], data[middle:]))
    url = plain_server(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    )
    client = opened(url)
    assert b"[key removed]" in client.ask(stream=True).body
    assert KEY not in client.record.read_text()


def test_a_flood_of_values_is_refused_before_it_is_made(opened: Open, model: Model) -> None:
    """The twin is as large, and one text."""
    endpoint = model(lambda heard: Say("ok"))
    client, other = opened(endpoint.url), opened(endpoint.url, role="verifier")
    flood = b'{"model": "huge", "messages": [' + b"[]," * (5 << 20) + b"[]]}"
    got = client.ask(CHAT, flood)
    assert (got.status, got.word) == (413, "body") and not endpoint.heard
    assert client.ask(CHAT, messages=[{"role": "user", "content": "[]," * (5 << 20)}]).status == 200
    assert other.ask().status == 200
