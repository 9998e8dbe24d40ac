"""Whether a request may go out now: it is looked at, and there is room and money for it."""

from __future__ import annotations

import asyncio
import json

from aiohttp import web

from rolewall.roles.gateway.admission import Asked, Refused, admit
from rolewall.roles.gateway.exchange import SHOWN_REFUSED, Exchange, ExchangeLog
from rolewall.roles.gateway.purse import Purse, Reserved, guess_tokens
from rolewall.roles.gateway.reading import read_body
from rolewall.roles.gateway.way import Way
from rolewall.roles.gateway.wires import Target

__all__ = ["Entrance"]


class Entrance:
    """One phase's."""

    def __init__(self, way: Way, purse: Purse, log: ExchangeLog) -> None:
        self._way = way
        self._purse = purse
        self._log = log
        self._looking = asyncio.Lock()

    async def enter(
        self, request: web.BaseRequest, target: Target, exchange: Exchange
    ) -> tuple[Asked, Reserved]:
        """What goes out, and what is held for it; whoever gets it settles it. Waits where the
        budget has to be known first. Raises Refused."""
        asked = await self._admit(request, target, exchange)
        if not self._log.reserve(exchange):
            raise Refused("record", "there is no room left to record a further exchange")
        try:
            return asked, await self._pay(asked)
        except BaseException:  # the agent may be gone
            self._log.release(exchange)
            raise

    async def _admit(self, request: web.BaseRequest, target: Target, exchange: Exchange) -> Asked:
        data = await read_body(request)
        try:
            # In a thread, one at a time: other phases go on meanwhile.
            async with self._looking:
                asked = await asyncio.to_thread(admit, target, data, self._way.allow)
        except Refused:
            if len(data) <= SHOWN_REFUSED:  # as text: what it says is not to be trusted
                exchange.payload = json.dumps(data.decode("utf-8", "replace")).encode()
            raise
        exchange.model, exchange.stream = asked.model, asked.stream
        exchange.payload = asked.payload
        return asked

    async def _pay(self, asked: Asked) -> Reserved:
        size, price = len(asked.payload), self._way.price(asked.model)
        entered = await self._purse.enter(
            guess_tokens(size), asked.answer_tokens, price, counts=asked.target.counts
        )
        if isinstance(entered, str):
            raise Refused("budget", f"this role's budget is spent: {entered}")
        return entered
