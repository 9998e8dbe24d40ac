"""The scripted server: real HTTP on loopback, a thread of its own.

::

    script = {"You are the executor": [Say("ok", calls=[("run", {"command": "ls"})])]}
    with ScriptedModel(script) as model:
        …  # model.url ends in /v1; model.heard has every request, in order

A script is a mapping from a text that a request holds to what is said to such requests, one
after the other, or a function of what was heard.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from tests.models import chat, messages, responses

__all__ = ["Heard", "Say", "ScriptedModel"]

SPEAK = {
    "/v1/chat/completions": ("chat", chat),
    "/v1/responses": ("responses", responses),
    "/v1/messages": ("messages", messages),
}
COUNT_TOKENS = "/v1/messages/count_tokens"


@dataclass(frozen=True)
class Say:
    """One answer.

    Attributes:
        calls: tool calls, (name, arguments); arguments that are a string make a custom
            tool's call in ``responses``.
        tokens: (input, cached, output), as a real endpoint counts; None: it does not say.
        status, error: an answer other than 200.
        headers: of the answer, besides its type.
        pause: seconds before the answer, and between the parts of a stream.
        cut: how many parts of a stream are sent before the connection is closed.
        raw: a body sent as it is, in place of all that.
    """

    text: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    tokens: tuple[int, int, int] | None = (100, 0, 20)
    status: int = 200
    error: str = "scripted"
    headers: Mapping[str, str] = field(default_factory=dict)
    pause: float = 0.0
    cut: int | None = None
    raw: bytes | None = None


@dataclass(frozen=True)
class Heard:
    """One request, as it arrived. ``target`` is the whole request target."""

    protocol: str
    target: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """All that was said, tools' results included, as one text."""
        parts = {key: self.body.get(key) for key in ("messages", "input", "system", "instructions")}
        return "\n".join(_strings(parts))

    @property
    def results(self) -> list[str]:
        """What tools gave back, oldest first."""
        found = []
        for item in [*self.body.get("messages", ()), *_items(self.body.get("input"))]:
            if item.get("role") == "tool":
                found.append("".join(_strings(item["content"])))
            elif str(item.get("type", "")).endswith("call_output"):
                found.append("".join(_strings(item["output"])))
            for part in item.get("content") or () if isinstance(item.get("content"), list) else ():
                if part.get("type") == "tool_result":
                    found.append("".join(_strings(part.get("content", ""), "text")))
        return found


Script = Mapping[str, Sequence[Say]] | Callable[[Heard], Say]


class ScriptedModel:
    """A context manager; ``url`` is what a team file has as ``endpoint``."""

    def __init__(self, script: Script) -> None:
        self.heard: list[Heard] = []
        self.problems: list[str] = []
        self.url = ""
        self._script = script
        self._said: Counter[str] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._runner: web.ServerRunner

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(30)
        return self

    def __exit__(self, *failure: object) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    async def _start(self) -> None:
        self._runner = web.ServerRunner(
            web.Server(self._answer, handler_cancellation=True), shutdown_timeout=0.1
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/v1"

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == COUNT_TOKENS:
            body = json.loads(await request.content.read())
            self.heard.append(Heard("count", request.raw_path, dict(request.headers), body))
            return web.json_response({"input_tokens": 100})
        if request.path not in SPEAK or request.method != "POST":
            self.problems.append(f"{request.method} {request.raw_path}")
            return web.json_response({"error": {"message": "no such path"}}, status=404)
        protocol, speech = SPEAK[request.path]
        heard = Heard(
            protocol,
            request.raw_path,
            dict(request.headers),
            json.loads(await request.content.read()),
        )
        self.heard.append(heard)
        say = self._next(heard)
        number = len(self.heard)
        await asyncio.sleep(say.pause)
        if say.raw is not None:
            return web.Response(body=say.raw, status=say.status, headers=dict(say.headers))
        if say.status != 200:
            made = speech.error(say)
            return web.json_response(made, status=say.status, headers=dict(say.headers))
        if not heard.body.get("stream"):
            made = speech.whole(say, heard.body, number)
            return web.json_response(made, headers=dict(say.headers))
        return await _stream(request, speech.events(say, heard.body, number), say)

    def _next(self, heard: Heard) -> Say:
        if callable(self._script):
            return self._script(heard)
        for key, said in self._script.items():
            if key in heard.text:
                index = self._said[key]
                self._said[key] += 1
                if index < len(said):
                    return said[index]
                self.problems.append(f"{key}: asked {index + 1} times, {len(said)} are scripted")
                return Say(status=400, error="the script is at its end")
        self.problems.append(f"nothing scripted for: {heard.text[:500]}")
        return Say(status=400, error="nothing is scripted for this")


async def _stream(
    request: web.BaseRequest, events: Sequence[tuple[str, Any]], say: Say
) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"content-type": "text/event-stream", **say.headers})
    await answer.prepare(request)
    for index, (name, data) in enumerate(events):
        if say.cut is not None and index >= say.cut:
            assert request.transport
            request.transport.close()
            return answer
        head = f"event: {name}\n" if name else ""
        text = data if isinstance(data, str) else json.dumps(data)
        await answer.write(f"{head}data: {text}\n\n".encode())
        await asyncio.sleep(say.pause)
    await answer.write_eof()
    return answer


def _items(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _strings(value: object, only: str = "") -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        if only and only in value:
            return _strings(value[only])
        return [text for inner in value.values() for text in _strings(inner, only)]
    if isinstance(value, list):
        return [text for inner in value for text in _strings(inner, only)]
    return []
