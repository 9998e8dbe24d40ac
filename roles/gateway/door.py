"""One phase's way to its model: what is asked, whether it may be, what came of it."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

from aiohttp import web

from rolewall.errors import BoxError, InfrastructureError, ModelUnavailable, StorageError
from rolewall.roles.gateway.admission import Asked, Refused, admit
from rolewall.roles.gateway.counting import AGENT_LEFT, Counting
from rolewall.roles.gateway.exchange import NO_ROOM, SHOWN_REFUSED, Exchange, ExchangeLog
from rolewall.roles.gateway.keys import Scrubber
from rolewall.roles.gateway.passing import Passing
from rolewall.roles.gateway.purse import Purse, Reserved, charge, guess_tokens
from rolewall.roles.gateway.reading import listed, read_body, shape_of, target_of
from rolewall.roles.gateway.reply import NOT_THERE, NoAnswer, Reply
from rolewall.roles.gateway.tape import Tape
from rolewall.roles.gateway.upstream import Upstream
from rolewall.roles.gateway.using import ModelUse, cost
from rolewall.roles.gateway.wires import Protocol, Target, error_body
from rolewall.roles.models import ModelAccess
from rolewall.roles.steps import TokenCounts

__all__ = ["Door", "Way"]

SHOWN_PATH = 2000
AT_ONCE = 16  # requests of one phase that are held in memory


class Way:
    """Where a door leads: an endpoint with its key, or a recording of one."""

    def __init__(
        self, access: ModelAccess, key: str | None, upstream: Upstream, tape: Tape | None
    ) -> None:
        self.access = access
        self.tape = tape
        self.scrubber = Scrubber(key)
        self._key = key
        self._upstream = upstream

    def ask(self, asked: Asked, request: web.BaseRequest) -> AbstractAsyncContextManager[Reply]:
        if self.tape is not None:
            return self.tape.ask(asked)
        endpoint, headers = self.access.endpoint, request.headers
        return self._upstream.ask(endpoint, self._key, asked, headers, self.scrubber)

    def asked_amiss(self, exchange: Exchange) -> bool:
        """Whether the agent asked for what this endpoint never had: it is there, since it has
        answered otherwise. Else a role that did badly could end its episode in an error."""
        return exchange.status in NOT_THERE and (
            self.access.endpoint.name in self._upstream.answered
        )


class Door:
    """Answers the requests of one phase, in the gateway's thread; others see ``OpenDoor``."""

    def __init__(self, socket: Path, way: Way, purse: Purse, log: ExchangeLog) -> None:
        self.socket = socket
        self._way = way
        self._purse = purse
        self._before = purse.seconds
        self._log = log
        self._count = Counting(replayed=way.tape is not None)
        self._begun = 0
        self._room = asyncio.Semaphore(AT_ONCE)
        self._looking = asyncio.Lock()
        self._broken: InfrastructureError | None = None
        self._unanswered: ModelUnavailable | None = None

    @property
    def trouble(self) -> InfrastructureError | None:
        return self._broken or self._unanswered

    def use(self) -> ModelUse:
        tape, seconds = self._way.tape, self._purse.seconds - self._before
        return replace(self._count.use(), seconds=seconds, drifted=tape.drifted if tape else 0)

    def end(self) -> None:
        """No exchange follows, and the record is on the disk."""
        try:
            self._log.close()
        except StorageError as error:
            self._broken = self._broken or error

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Serve one request; whatever an agent sends, it is no error here."""
        try:
            return await self._answer(request)
        except (OSError, asyncio.CancelledError):  # the agent is gone
            raise
        except Exception as error:
            name = type(error).__name__
            self._broken = self._broken or BoxError(f"the model gateway failed: {name}: {error}")
            return _refusal("chat", Refused("gateway", "the gateway failed", 500))

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        target = target_of(request)
        if target is None:
            if (models := listed(request, self._way.access.endpoint.allow)) is not None:
                return models
            exchange = self._begin(shape_of(request), request.raw_path[:SHOWN_PATH])
            message = "nothing is answered here but calls of a model"
            return self._refuse(exchange, Refused("path", message, 404))
        async with self._room:
            exchange = self._begin(target.protocol, target.path)
            try:
                asked = await self._admit(request, target, exchange)
                reserved = await self._enter(asked, exchange)
            except Refused as refused:
                return self._refuse(exchange, refused)
            return await self._exchange(request, asked, exchange, reserved)

    def _begin(self, protocol: Protocol, path: str) -> Exchange:
        self._begun += 1
        return Exchange(self._begun, protocol, path, time.time())

    async def _admit(self, request: web.BaseRequest, target: Target, exchange: Exchange) -> Asked:
        data = await read_body(request)
        try:
            # In a thread, one at a time: other phases go on meanwhile.
            async with self._looking:
                asked = await asyncio.to_thread(
                    admit, target, data, self._way.access.endpoint.allow
                )
        except Refused:
            if len(data) <= SHOWN_REFUSED:  # as text: what it says is not to be trusted
                exchange.payload = json.dumps(data.decode("utf-8", "replace")).encode()
            raise
        exchange.model, exchange.stream = asked.model, asked.stream
        exchange.payload = asked.payload
        return asked

    async def _enter(self, asked: Asked, exchange: Exchange) -> Reserved:
        if not self._log.reserve(exchange):
            raise Refused("record", "there is no room left to record a further exchange")
        try:
            return await self._pay(asked)
        except BaseException:  # the agent may be gone
            self._log.release(exchange)
            raise

    async def _pay(self, asked: Asked) -> Reserved:
        size, price = len(asked.payload), self._way.access.endpoint.prices.get(asked.model)
        entered = await self._purse.enter(
            guess_tokens(size), asked.answer_tokens, price, counts=asked.target.counts
        )
        if isinstance(entered, str):
            raise Refused("budget", f"this role's budget is spent: {entered}")
        return entered

    async def _exchange(
        self, request: web.BaseRequest, asked: Asked, exchange: Exchange, reserved: Reserved
    ) -> web.StreamResponse:
        passing = Passing(request, asked, exchange, self._way.scrubber)
        seconds: float | None = None
        paid = False
        exchange.replayed = self._way.tape is not None
        try:
            async with self._way.ask(asked, request) as reply:
                seconds = reply.seconds
                await passing.take(reply)
        except NoAnswer as error:
            exchange.failed, paid = error.why, error.paid
            passing.broke(error)
        except (OSError, asyncio.CancelledError):
            exchange.failed, paid = AGENT_LEFT, True
            raise
        finally:
            self._finish(asked, exchange, reserved, passing, seconds, paid=paid)
        return await passing.end()

    def _finish(
        self,
        asked: Asked,
        exchange: Exchange,
        reserved: Reserved,
        passing: Passing,
        seconds: float | None,
        *,
        paid: bool,
    ) -> None:
        """Write down what came of it, and count it. ``paid``: it broke off, and a model may
        have been at work."""
        exchange.ended = exchange.started + seconds if seconds is not None else time.time()
        price = self._way.access.endpoint.prices.get(asked.model)
        exchange.usd = cost(exchange.usage, price)
        left = exchange.failed == AGENT_LEFT
        answered = paid or (exchange.status is not None and exchange.status < 300)
        counts = asked.target.counts
        tokens, usd = 0, 0.0
        if answered and counts:
            broken = reserved if exchange.failed else None
            guess = TokenCounts(guess_tokens(len(asked.payload)), guess_tokens(passing.size))
            tokens, usd = charge(exchange.usage, guess, price, broken)
        self._purse.leave(reserved, tokens, usd, seconds)
        if not self._write(exchange):
            passing.broke(NoAnswer(NO_ROOM))
        if not counts:
            return
        self._count.add(exchange, answered=answered)
        if not left:
            own = exchange.failed in ("", NO_ROOM) or self._way.asked_amiss(exchange)
            self._unanswered = None if own else _unavailable(exchange, self._way)

    def _refuse(self, exchange: Exchange, refused: Refused) -> web.Response:
        exchange.ended, exchange.refused = time.time(), refused.word
        self._write(exchange)
        self._count.refuse(exchange)
        return _refusal(exchange.protocol, refused)

    def _write(self, exchange: Exchange) -> bool:
        exchange.failed = self._way.scrubber.clean_text(exchange.failed)
        try:
            return self._log.write(exchange)
        except StorageError as error:
            self._broken = self._broken or error
            return True


def _unavailable(exchange: Exchange, way: Way) -> ModelUnavailable:
    if way.tape is not None:
        return ModelUnavailable(
            "a model's recording gave no answer",
            got=exchange.failed,
            hint="run it without --replay",
        )
    endpoint = way.access.endpoint
    return ModelUnavailable(
        "a model's endpoint gave no answer",
        place=f"models.{endpoint.name}: {endpoint.url}",
        got=exchange.failed,
        hint="the phase's exchanges.jsonl has what it said",
    )


def _refusal(protocol: Protocol, refused: Refused) -> web.Response:
    return web.Response(
        body=error_body(protocol, refused.status, refused.word, f"rolewall: {refused.message}"),
        status=refused.status,
        content_type="application/json",
        # Clients of both makers heed this: it will be refused again.
        headers={"x-should-retry": "false"},
    )
