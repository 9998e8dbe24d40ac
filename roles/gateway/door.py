"""One phase's way to its model: each request's course, from its line to its answer."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from aiohttp import web

from rolewall.errors import BoxError
from rolewall.roles.gateway.admission import Asked, Refused
from rolewall.roles.gateway.entering import Entrance
from rolewall.roles.gateway.exchange import NO_ROOM, Exchange, ExchangeLog
from rolewall.roles.gateway.passing import Passing
from rolewall.roles.gateway.purse import Purse, Reserved
from rolewall.roles.gateway.reading import listed, shape_of, target_of
from rolewall.roles.gateway.reply import NoAnswer
from rolewall.roles.gateway.settling import Books
from rolewall.roles.gateway.way import Way
from rolewall.roles.gateway.wires import Protocol, error_body

__all__ = ["Door"]

SHOWN_PATH = 2000
AT_ONCE = 16  # requests of one phase that are held in memory
AGENT_LEFT = "the agent did not wait for the answer"


class Door:
    """Answers the requests of one phase, in the gateway's thread; others see ``OpenDoor``.

    Attributes:
        books: what came of them.
    """

    def __init__(self, socket: Path, way: Way, purse: Purse, log: ExchangeLog) -> None:
        self.socket = socket
        self.books = Books(way, purse, log)
        self._way = way
        self._entrance = Entrance(way, purse, log)
        self._begun = 0
        self._looking = asyncio.Lock()
        self._room = asyncio.Semaphore(AT_ONCE)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Serve one request; whatever an agent sends, it is no error here."""
        try:
            return await self._answer(request)
        except (OSError, asyncio.CancelledError):  # the agent is gone
            raise
        except Exception as error:
            name = type(error).__name__
            self.books.broke(BoxError(f"the model gateway failed: {name}: {error}"))
            return _refusal("chat", Refused("gateway", "the gateway failed", 500))

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        target = target_of(request)
        if target is None:
            if (models := listed(request, self._way.allow)) is not None:
                return models
            exchange = self._begin(shape_of(request), request.raw_path[:SHOWN_PATH])
            message = "nothing is answered here but calls of a model"
            return self._refuse(exchange, Refused("path", message, 404))
        async with self._room:
            exchange = self._begin(target.protocol, target.path)
            try:
                asked, reserved = await self._entrance.enter(request, target, exchange)
            except Refused as refused:
                return self._refuse(exchange, refused)
            return await self._exchange(request, asked, exchange, reserved)

    def _begin(self, protocol: Protocol, path: str) -> Exchange:
        self._begun += 1
        return Exchange(self._begun, protocol, path, time.time())

    async def _exchange(
        self, request: web.BaseRequest, asked: Asked, exchange: Exchange, reserved: Reserved
    ) -> web.StreamResponse:
        passing = Passing(request, asked, exchange, self._way.scrubber, self._looking)
        seconds: float | None = None
        exchange.replayed = self._way.replayed
        try:
            async with self._way.ask(asked, request) as reply:
                seconds = reply.seconds
                await passing.take(reply)
        except NoAnswer as error:
            exchange.fail(error.why, error.fault)
            exchange.paid = error.paid
            passing.broke(error)
        except (OSError, asyncio.CancelledError):
            exchange.fail(AGENT_LEFT, "agent")
            exchange.paid = True
            raise
        finally:
            if not self.books.settle(asked, exchange, reserved, passing.size, seconds):
                passing.broke(NoAnswer(NO_ROOM))
        return await passing.end()

    def _refuse(self, exchange: Exchange, refused: Refused) -> web.Response:
        self.books.refuse(exchange, refused)
        return _refusal(exchange.protocol, refused)


def _refusal(protocol: Protocol, refused: Refused) -> web.Response:
    return web.Response(
        body=error_body(protocol, refused.status, refused.word, f"rolewall: {refused.message}"),
        status=refused.status,
        content_type="application/json",
        # Clients of both makers heed this: it will be refused again.
        headers={"x-should-retry": "false"},
    )
