"""Where a door leads: an endpoint with its key, or a recording of one."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from aiohttp import web

from rolewall.errors import ModelUnavailable
from rolewall.roles.gateway.admission import Asked
from rolewall.roles.gateway.exchange import Exchange
from rolewall.roles.gateway.keys import Scrubber
from rolewall.roles.gateway.reply import NOT_THERE, Reply
from rolewall.roles.gateway.tape import Tape
from rolewall.roles.gateway.upstream import Upstream
from rolewall.roles.models import ModelAccess, Price

__all__ = ["Way"]


class Way:
    """One phase's; ``tape`` answers in place of the endpoint, where there is one."""

    def __init__(
        self, access: ModelAccess, key: str | None, upstream: Upstream, tape: Tape | None
    ) -> None:
        self.allow = access.endpoint.allow
        self.scrubber = Scrubber(key)
        self.replayed = tape is not None
        self._endpoint = access.endpoint
        self._key = key
        self._upstream = upstream
        self._tape = tape

    @property
    def drifted(self) -> int:
        return self._tape.drifted if self._tape else 0

    def price(self, model: str) -> Price | None:
        return self._endpoint.prices.get(model)

    def ask(self, asked: Asked, request: web.BaseRequest) -> AbstractAsyncContextManager[Reply]:
        """Raises NoAnswer when entered."""
        if self._tape is not None:
            return self._tape.ask(asked)
        headers = request.headers
        return self._upstream.ask(self._endpoint, self._key, asked, headers, self.scrubber)

    def trouble(self, exchange: Exchange) -> ModelUnavailable | None:
        """What came of an exchange, if it says that no model can be had here."""
        if exchange.fault != "endpoint" or self._asked_amiss(exchange):
            return None
        if self._tape is not None:
            return ModelUnavailable(
                "a model's recording gave no answer",
                got=exchange.failed,
                hint="run it without --replay",
            )
        return ModelUnavailable(
            "a model's endpoint gave no answer",
            place=f"models.{self._endpoint.name}: {self._endpoint.url}",
            got=exchange.failed,
            hint="the phase's exchanges.jsonl has what it said",
        )

    def _asked_amiss(self, exchange: Exchange) -> bool:
        """Whether the agent asked for what this endpoint never had: it is there, since it has
        answered otherwise. Else a role that did badly could end its episode in an error."""
        return exchange.status in NOT_THERE and self._endpoint.name in self._upstream.answered
