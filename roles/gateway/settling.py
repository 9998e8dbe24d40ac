"""What came of each exchange of a phase: charged, written down and counted."""

from __future__ import annotations

import time
from dataclasses import replace

from rolewall.errors import InfrastructureError, ModelUnavailable, StorageError
from rolewall.roles.gateway.admission import Asked
from rolewall.roles.gateway.counting import Counting
from rolewall.roles.gateway.exchange import Exchange, ExchangeLog
from rolewall.roles.gateway.purse import Purse, Reserved, charge, guess_tokens
from rolewall.roles.gateway.refusing import Refused
from rolewall.roles.gateway.using import ModelUse, cost
from rolewall.roles.gateway.way import Way
from rolewall.roles.steps import TokenCounts

__all__ = ["Books"]


class Books:
    """One phase's."""

    def __init__(self, way: Way, purse: Purse, log: ExchangeLog) -> None:
        self._way = way
        self._purse = purse
        self._before = purse.seconds
        self._log = log
        self._count = Counting(replayed=way.replayed)
        self._broken: InfrastructureError | None = None
        self._unanswered: ModelUnavailable | None = None

    @property
    def trouble(self) -> InfrastructureError | None:
        return self._broken or self._unanswered

    def use(self) -> ModelUse:
        seconds = self._purse.seconds - self._before
        return replace(self._count.use(), seconds=seconds, drifted=self._way.drifted)

    def broke(self, error: InfrastructureError) -> None:
        """The gateway itself failed. The first failure is the one that is told."""
        self._broken = self._broken or error

    def refuse(self, exchange: Exchange, refused: Refused) -> None:
        exchange.ended, exchange.refused = time.time(), refused.word
        self._write(exchange)
        self._count.refuse(exchange)

    def settle(
        self,
        asked: Asked,
        exchange: Exchange,
        reserved: Reserved,
        size: int,
        seconds: float | None,
    ) -> bool:
        """An exchange that went out has ended.

        Args:
            size: bytes of its answer.
            seconds: a recording's; None for the clock's.

        Returns:
            Whether there was room to write down the answer.
        """
        exchange.ended = exchange.started + seconds if seconds is not None else time.time()
        exchange.usd = cost(exchange.usage, self._way.price(asked.model))
        exchange.paid |= exchange.status is not None and exchange.status < 300
        exchange.paid &= asked.target.counts
        self._charge(asked, exchange, reserved, size, seconds)
        fits = self._write(exchange)
        if asked.target.counts:
            self._count.add(exchange)
            if exchange.fault != "agent":
                self._unanswered = self._way.trouble(exchange)
        return fits

    def _charge(
        self,
        asked: Asked,
        exchange: Exchange,
        reserved: Reserved,
        size: int,
        seconds: float | None,
    ) -> None:
        tokens, usd = 0, 0.0
        if exchange.paid:
            broken = reserved if exchange.failed else None
            guess = TokenCounts(guess_tokens(len(asked.payload)), guess_tokens(size))
            tokens, usd = charge(exchange.usage, guess, self._way.price(asked.model), broken)
        self._purse.leave(reserved, tokens, usd, seconds)

    def _write(self, exchange: Exchange) -> bool:
        exchange.failed = self._way.scrubber.clean_text(exchange.failed)
        try:
            return self._log.write(exchange)
        except StorageError as error:
            self.broke(error)
            return True

    def close(self) -> None:
        """No exchange follows, and the record is on the disk."""
        try:
            self._log.close()
        except StorageError as error:
            self.broke(error)
