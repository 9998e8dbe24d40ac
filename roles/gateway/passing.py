"""Handing an answer on to the agent, piece by piece, while keeping it for the record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar, TypeVarTuple, Unpack

from aiohttp import web

from rolewall.roles.gateway.admission import Asked
from rolewall.roles.gateway.assembling import assembly_for
from rolewall.roles.gateway.exchange import Exchange
from rolewall.roles.gateway.keys import Scrubber
from rolewall.roles.gateway.reply import NoAnswer, Reply, TooMuch, Withheld, blames_endpoint
from rolewall.roles.gateway.sifting import MAX_ANSWER, Sifted, Sifter, Whole
from rolewall.roles.gateway.using import usage_in
from rolewall.roles.gateway.wires import error_body

__all__ = ["Passing"]

SMALL = 32 << 10
_Given = TypeVarTuple("_Given")
_Made = TypeVar("_Made")


class Passing:
    """One answer. ``take`` first, then whatever has to be written down, then ``end``: the
    agent has all of its answer only when the record has it.

    Args:
        looking: one for all answers of the phase.

    Attributes:
        size: bytes of the answer so far.
    """

    def __init__(
        self,
        request: web.BaseRequest,
        asked: Asked,
        exchange: Exchange,
        scrubber: Scrubber,
        looking: asyncio.Lock,
    ) -> None:
        self.size = 0
        self._request = request
        self._asked = asked
        self._exchange = exchange
        self._scrubber = scrubber
        self._looking = looking
        self._sifter = Sifter(scrubber)
        self._stream: web.StreamResponse | None = None
        self._whole: web.Response | None = None
        self._broken: NoAnswer | None = None

    async def take(self, reply: Reply) -> None:
        """Raises NoAnswer where there is none, or not all of one; ConnectionError where the
        agent has gone."""
        try:
            if reply.streamed and reply.status == 200:
                await self._take_stream(reply)
            else:
                await self._take_whole(reply)
        except TooMuch as error:
            if self._asked.much:
                raise Withheld(error.why) from None
            raise

    def broke(self, error: NoAnswer) -> None:
        """There is no answer, or no more of it."""
        self._broken = error

    async def _take_whole(self, reply: Reply) -> None:
        parts = []
        async for chunk in reply.body:
            parts.append(chunk)
            self._weigh(chunk)
        whole = await self._looked_through(b"".join(parts), reply.status)
        exchange = self._exchange
        exchange.status, exchange.response = reply.status, whole.recorded
        if blames_endpoint(reply.status, whole.body):
            exchange.fail(f"status {reply.status}")
        elif reply.status < 300 and self._asked.target.counts:
            exchange.usage = usage_in(exchange.protocol, whole.body)
        self._whole = web.Response(
            body=whole.data,
            status=reply.status,
            content_type=whole.kind,
            headers=reply.headers,
        )

    async def _looked_through(self, data: bytes, status: int) -> Whole:
        try:
            return await self._beside(len(data), self._sifter.whole, data)
        except Withheld as error:
            error.paid = status < 300
            if blames_endpoint(status, None):  # which no agent brings about
                raise NoAnswer(f"status {status}: {error.why}", paid=False) from None
            raise

    async def _take_stream(self, reply: Reply) -> None:
        exchange = self._exchange
        exchange.status, exchange.events = reply.status, ""
        assembly = assembly_for(exchange.protocol)
        events: list[str] = []
        self._stream = await self._begin(reply)
        try:
            async for ready, said in self._sifted(reply):
                await self._hand_on(ready, said, events)
                assembly.add(said)
        finally:
            exchange.events = "".join(events)
            exchange.response = self._scrubber.clean(json.dumps(assembly.body).encode())
        if reply.withheld:
            raise reply.break_off()
        if assembly.error:
            error = self._scrubber.clean_text(assembly.error)
            exchange.fail(f"the stream ended in an error: {error}")
        elif not assembly.ended:
            if reply.failed:
                raise reply.break_off()
            exchange.fail("the stream ended before its last event")
        else:
            exchange.usage = usage_in(exchange.protocol, assembly.body)

    async def _begin(self, reply: Reply) -> web.StreamResponse:
        headers = {"content-type": "text/event-stream", "cache-control": "no-cache"}
        stream = web.StreamResponse(headers=headers | dict(reply.headers))
        await stream.prepare(self._request)
        return stream

    async def _sifted(self, reply: Reply) -> AsyncIterator[tuple[bytes, Any]]:
        """Events without a key, as soon as they are known to be, each with what it says."""
        sifter = self._sifter
        async for chunk in reply.body:
            self._weigh(chunk)
            sifted = await self._beside(sifter.held + len(chunk), sifter.feed, chunk)
            for ready in _unbroken(sifted):
                yield ready
        for ready in _unbroken(await self._beside(sifter.held, sifter.rest)):
            yield ready

    async def _beside(
        self, size: int, work: Callable[[Unpack[_Given]], _Made], *given: *_Given
    ) -> _Made:
        """In a thread, where it is much, and one at a time of a phase: others go on meanwhile."""
        if size < SMALL:
            return work(*given)
        async with self._looking:
            return await asyncio.to_thread(work, *given)

    async def _hand_on(self, event: bytes, said: Any, events: list[str]) -> None:
        events.append(event.decode("utf-8", "replace"))
        if self._stream is not None and (self._asked.counted or not _counts_only(said)):
            await self._stream.write(event)

    def _weigh(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.size > MAX_ANSWER:
            raise TooMuch(f"the answer is larger than {MAX_ANSWER >> 20} MiB")

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
        word, words, headers = "endpoint", "the model's endpoint gave no answer", {}
        if isinstance(self._broken, Withheld):
            word, words = "withheld", f"rolewall: the answer is withheld: {self._broken.why}"
            headers = {"x-should-retry": "false"}
        status = self._broken.status if self._broken else 502
        body = error_body(self._exchange.protocol, status, word, words)
        return web.Response(
            body=body, status=status, content_type="application/json", headers=headers
        )


def _unbroken(sifted: Sifted) -> Iterator[tuple[bytes, Any]]:
    """What may be handed on, and then the reason why no more may."""
    ready, broken = sifted
    yield from ready
    if broken is not None:
        raise broken


def _counts_only(said: object) -> bool:
    """Whether an event of ``chat`` is the one that is there only where usage was asked for."""
    return isinstance(said, dict) and said.get("choices") == [] and "usage" in said
