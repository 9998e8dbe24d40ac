"""What goes out and what comes back, in three protocols, at once and as a stream."""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tests.gateway.conftest import KEY, PATHS, Client, Open, events
from tests.models import Say, ScriptedModel

Model = Callable[..., ScriptedModel]
SAID = Say("I will look.", calls=[("run", {"command": "ls -la /workspace"})], tokens=(100, 40, 20))


def words_of(protocol: str, answer: dict[str, object]) -> tuple[str, list[tuple[str, object]]]:
    """Text and tool calls of a whole answer."""
    if protocol == "chat":
        message = answer["choices"][0]["message"]  # type: ignore[index]
        calls = [c["function"] for c in message.get("tool_calls", ())]
        return message["content"], [(c["name"], json.loads(c["arguments"])) for c in calls]
    if protocol == "responses":
        text, called = "", []
        for item in answer["output"]:  # type: ignore[attr-defined]
            if item["type"] == "message":
                text += item["content"][0]["text"]
            else:
                called.append((item["name"], json.loads(item["arguments"])))
        return text, called
    parts = answer["content"]
    text = "".join(p["text"] for p in parts if p["type"] == "text")  # type: ignore[attr-defined]
    return text, [(p["name"], p["input"]) for p in parts if p["type"] == "tool_use"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", PATHS)
def test_an_exchange_is_passed_on_counted_and_recorded(
    path: str, stream: bool, opened: Open, model: Model
) -> None:
    endpoint = model(lambda heard: SAID)
    client = opened(endpoint.url)
    answer = client.ask(path, stream=stream)
    assert answer.status == 200
    use = client.end()
    (line,) = client.exchanges
    assert (line["status"], line["refused"], line["failed"]) == (200, "", "")
    assert line["usage"] == {"input": 100, "cached": 40, "output": 20}
    expected = (SAID.text, [(name, arguments) for name, arguments in SAID.calls])
    assert words_of(line["protocol"], line["response"]) == expected
    if stream:
        assert events(answer.body)[-1] == events(line["events"].encode())[-1]
    else:
        assert answer.json == line["response"] and "events" not in line
    assert (use.calls, use.input, use.cached, use.output) == (1, 100, 40, 20)
    assert use.usd == pytest.approx((60 * 3 + 40 * 0.3 + 20 * 15) / 1e6)
    assert use.models == ("big",) and use.uncounted == 0


def test_a_stream_arrives_piece_by_piece(opened: Open, model: Model) -> None:
    """The endpoint holds the second half back until the first has been seen."""
    client = opened(model(lambda heard: Say("x" * 120, pause=0.05)).url)
    body = json.dumps({"model": "big", "input": "hi", "stream": True}).encode()
    head = f"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(str(client.door.socket))
        connection.sendall(head.encode() + body)
        seen, pieces = b"", 0
        while b"response.completed" not in seen:
            seen += connection.recv(65536)
            pieces += 1
    assert pieces > 5


@pytest.mark.parametrize("asked", [True, False])
def test_a_chat_stream_ends_in_its_usage_for_who_asked(
    asked: bool, opened: Open, model: Model
) -> None:
    client = opened(model(lambda heard: SAID).url)
    more = {"stream_options": {"include_usage": True}} if asked else {}
    said = events(client.ask(stream=True, **more).body)
    assert [e for e in said if e != "[DONE]" and not e["choices"]] == [
        e for e in said[-2:-1] if asked
    ]
    assert client.end().output == 20


@pytest.mark.parametrize("path", PATHS)
def test_the_key_is_put_in_outside_and_the_agents_own_stays_inside(
    path: str, opened: Open, model: Model
) -> None:
    endpoint = model(lambda heard: SAID)
    mine = {
        "authorization": "Bearer agents-own-key",
        "x-api-key": "agents-own-key",
        "cookie": "agents-own-key",
        "x-goog-api-key": "agents-own-key",
        "proxy-authorization": "agents-own-key",
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "interleaved-thinking-2025-05-14",
        "user-agent": "agents-own-key",
        "openai-organization": "agents-own-key",
        "x-forwarded-host": "agents-own-key",
    }
    assert opened(endpoint.url).ask(path, headers=mine).status == 200
    sent = {name.lower(): value for name, value in endpoint.heard[0].headers.items()}
    assert "agents-own-key" not in str(sent)
    bearer, plain = sent.get("authorization"), sent.get("x-api-key")
    assert (bearer, plain) == ((None, KEY) if "messages" in path else (f"Bearer {KEY}", None))
    assert sent["anthropic-beta"] == mine["anthropic-beta"]
    assert sent["host"] == endpoint.url.split("/")[2]


def test_tokens_are_counted_by_the_endpoint_and_are_no_call(opened: Open, model: Model) -> None:
    client = opened(model(lambda heard: SAID).url)
    counted = client.ask("/v1/messages/count_tokens?beta=true", {"model": "big", "messages": []})
    assert counted.json == {"input_tokens": 100}
    assert client.end().calls == 0
    assert [line["path"] for line in client.exchanges] == ["/v1/messages/count_tokens?beta=true"]


def test_models_are_listed_by_the_gateway_alone(opened: Open, model: Model) -> None:
    endpoint = model(lambda heard: SAID)
    client = opened(endpoint.url)
    listed = client.ask("/v1/models?client_version=1", b"", method="GET").json
    assert [found["id"] for found in listed["data"]] == ["big", "small"]
    assert client.ask("/v1/models/small", b"", method="GET").json["id"] == "small"
    assert client.ask("/v1/models/other", b"", method="GET").status == 404
    assert not endpoint.heard and not endpoint.problems


def test_tokens_that_nobody_counted_are_unknown_and_no_nought(opened: Open, model: Model) -> None:
    said = [Say("a", tokens=None), Say("b", tokens=(10, 0, 5))]
    client = opened(model({"hi": said}).url)
    assert [client.ask().status for _ in said] == [200, 200]
    use = client.end()
    assert (use.calls, use.input, use.output, use.uncounted, use.usd) == (2, 10, 5, 1, None)
    assert client.exchanges[0]["usage"] is None


def test_requests_at_the_same_time_each_get_their_own(opened: Open, model: Model) -> None:
    endpoint = model(lambda heard: Say(heard.text, pause=0.01))
    client = opened(endpoint.url)
    got: dict[int, str] = {}

    def ask(number: int) -> None:
        said = client.ask("/v1/responses", {"model": "big", "input": f"number {number}"})
        got[number] = said.json["output"][0]["content"][0]["text"]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert got == {number: f"number {number}" for number in range(12)}
    assert client.end().calls == len(client.exchanges) == 12


def test_a_large_body_that_waits_to_be_asked_for(opened: Open, model: Model) -> None:
    client = opened(model(lambda heard: Say("ok")).url)
    body = json.dumps({"model": "big", "input": "x" * 3_000_000}).encode()
    head = (
        "POST /v1/responses HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
        f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(str(client.door.socket))
        connection.sendall(head.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100 Continue")
        connection.sendall(body)
        assert connection.recv(100).startswith(b"HTTP/1.1 200")


def test_many_connections_cost_the_harness_few(opened: Open, model: Model) -> None:
    """Those beyond are turned away, and when some are gone others are served again."""
    client = opened(model(lambda heard: Say("ok")).url)
    with ExitStack() as held:
        connections = []
        for _ in range(200):
            connection = held.enter_context(socket.socket(socket.AF_UNIX))
            connection.connect(str(client.door.socket))
            connections.append(connection)
        closed = 0
        while closed < 100:  # the harness has closed them: else this waits in vain
            ready, _, _ = select.select(connections, [], [], 30)
            assert ready
            for connection in ready:
                connections.remove(connection)
            closed += len(ready)
    assert _until_served(client) == 200


def _until_served(client: Client) -> int:
    for _ in range(50):
        try:
            return client.ask().status
        except OSError:
            continue
    return 0


def test_what_an_agent_sends_wrongly_is_nobodys_log(
    opened: Open, model: Model, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    client = opened(model(lambda heard: Say("ok")).url)
    client.raw(b"\x16\x03\x01 no HTTP\r\n\r\n")
    assert client.ask().status == 200
    client.end()
    assert not caplog.records and capfd.readouterr() == ("", "")


def test_importing_it_changes_no_logger() -> None:
    """What is set up before stays, and what is set up later works."""
    code = """
import logging
before = logging.Logger.manager.disable, logging.root.level, list(logging.root.handlers)
import rolewall.roles.gateway.gateway, rolewall.roles.gateway.hall as hall
async def nothing(request): ...
import asyncio
asyncio.run(hall.Hall.open(nothing, []))
assert before == (logging.Logger.manager.disable, logging.root.level, logging.root.handlers)
found = [name for name in logging.Logger.manager.loggerDict if name.startswith("rolewall")]
assert not found, found
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
