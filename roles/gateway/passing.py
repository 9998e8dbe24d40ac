"""Handing an answer on to the agent, piece by piece, while keeping it for the record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web

from rolewall._files import load_json
from rolewall.errors import InputError
from rolewall.roles.gateway.admission import Asked
from rolewall.roles.gateway.assembling import assembly_for
from rolewall.roles.gateway.exchange import Exchange
from rolewall.roles.gateway.keys import Scrubber
from rolewall.roles.gateway.reply import NoAnswer, Reply, blames_endpoint
from rolewall.roles.gateway.streams import Splitter, event_data
from rolewall.roles.gateway.using import usage_in
from rolewall.roles.gateway.wires import error_body
from rolewall.roles.gateway.withholding import Sieve

__all__ = ["Passing"]

MAX_ANSWER = 32 << 20
MAX_DEPTH = 200


class Passing:
    """One answer. ``take`` first, then whatever has to be written down, then ``end``: the
    agent has all of its answer only when the record has it.

    Attributes:
        size: bytes of the answer so far.
    """

    def __init__(
        self, request: web.BaseRequest, asked: Asked, exchange: Exchange, scrubber: Scrubber
    ) -> None:
        self.size = 0
        self._request = request
        self._asked = asked
        self._exchange = exchange
        self._scrubber = scrubber
        self._stream: web.StreamResponse | None = None
        self._whole: web.Response | None = None
        self._broken: NoAnswer | None = None

    async def take(self, reply: Reply) -> None:
        """Raises NoAnswer where there is none, or not all of one; ConnectionError where the
        agent has gone."""
        if reply.streamed and reply.status == 200:
            await self._take_stream(reply)
        else:
            await self._take_whole(reply)

    def broke(self, error: NoAnswer) -> None:
        """There is no answer, or no more of it."""
        self._broken = error

    async def _take_whole(self, reply: Reply) -> None:
        parts = []
        async for chunk in reply.body:
            parts.append(chunk)
            self._weigh(chunk)
        data = self._scrubber.clean(b"".join(parts))
        body, text = _parse(data)
        if text is None and self._scrubber.holds(json.dumps(body)):
            # JSON has many ways to write a letter: what was hidden in one is taken out of all.
            data = self._scrubber.clean(json.dumps(body).encode())
            body, text = _parse(data)
        # In a thread: it may be much, and other phases go on meanwhile.
        await asyncio.to_thread(Sieve(self._scrubber.forms).check, data)
        exchange = self._exchange
        exchange.status = reply.status
        exchange.response = json.dumps(body if text is None else text).encode()
        if blames_endpoint(reply.status, body):
            exchange.fail(f"status {reply.status}")
        elif reply.status < 300 and self._asked.target.counts:
            exchange.usage = usage_in(exchange.protocol, body)
        kind = "application/json" if text is None else "text/plain"
        self._whole = web.Response(
            body=data, status=reply.status, content_type=kind, headers=reply.headers
        )

    async def _take_stream(self, reply: Reply) -> None:
        exchange, splitter, sieve = self._exchange, Splitter(), Sieve(self._scrubber.forms)
        exchange.status, exchange.events = reply.status, ""
        assembly = assembly_for(exchange.protocol)
        events: list[str] = []
        self._stream = await self._begin(reply)
        try:
            async for ready, said in self._sifted(reply, splitter, sieve):
                await self._hand_on(ready, said, events)
                assembly.add(said)
        finally:
            exchange.events = "".join(events)
            exchange.response = self._scrubber.clean(json.dumps(assembly.body).encode())
        if assembly.error:
            error = self._scrubber.clean_text(assembly.error)
            exchange.fail(f"the stream ended in an error: {error}")
        elif not assembly.ended:
            if reply.failed:
                raise NoAnswer(reply.failed)
            exchange.fail("the stream ended before its last event")
        else:
            exchange.usage = usage_in(exchange.protocol, assembly.body)

    async def _begin(self, reply: Reply) -> web.StreamResponse:
        headers = {"content-type": "text/event-stream", "cache-control": "no-cache"}
        stream = web.StreamResponse(headers=headers | dict(reply.headers))
        await stream.prepare(self._request)
        return stream

    async def _sifted(
        self, reply: Reply, splitter: Splitter, sieve: Sieve
    ) -> AsyncIterator[tuple[bytes, Any]]:
        """Events without a key, as soon as they are known to be, each with what it says."""
        async for chunk in reply.body:
            self._weigh(chunk)
            for event in splitter.feed(chunk):
                for ready in sieve.feed(*self._cleaned(event)):
                    yield ready
        if rest := splitter.rest():
            for ready in sieve.feed(*self._cleaned(rest)):
                yield ready
        for ready in sieve.rest():
            yield ready

    def _cleaned(self, event: bytes) -> tuple[bytes, Any]:
        event = self._scrubber.clean(event)
        said = event_data(event)
        if said is not None and self._scrubber.holds(json.dumps(said)):
            event = _rewritten(event, self._scrubber.clean(json.dumps(said).encode()))
            said = event_data(event)
        return event, said

    async def _hand_on(self, event: bytes, said: Any, events: list[str]) -> None:
        events.append(event.decode("utf-8", "replace"))
        if self._stream is not None and (self._asked.counted or not _counts_only(said)):
            await self._stream.write(event)

    def _weigh(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.size > MAX_ANSWER:
            raise NoAnswer(f"the answer is larger than {MAX_ANSWER >> 20} MiB")

    async def end(self) -> web.StreamResponse:
        """The answer's end; of one that broke off, no proper one."""
        if self._stream is not None:
            if self._broken is None:
                await self._stream.write_eof()
            elif self._request.transport is not None:
                self._request.transport.close()
            return self._stream
        if self._whole is not None and self._broken is None:
            return self._whole
        status = self._broken.status if self._broken else 502
        words = "the model's endpoint gave no answer"
        body = error_body(self._exchange.protocol, status, "endpoint", words)
        return web.Response(body=body, status=status, content_type="application/json")


def _rewritten(event: bytes, data: bytes) -> bytes:
    """``event`` with other data."""
    kept = [line for line in event.splitlines() if line and not line.startswith(b"data:")]
    return b"\n".join([*kept, b"data: " + data, b"", b""])


def _parse(data: bytes) -> tuple[Any, str | None]:
    """JSON, or the text that it is not."""
    try:
        body = load_json(data, "the answer", max_bytes=MAX_ANSWER * 2, max_depth=MAX_DEPTH)
        return body, None
    except InputError:
        return None, data.decode("utf-8", "replace")


def _counts_only(said: object) -> bool:
    """Whether an event of ``chat`` is the one that is there only where usage was asked for."""
    return isinstance(said, dict) and said.get("choices") == [] and "usage" in said
