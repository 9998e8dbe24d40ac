"""What a role has spent in an episode, and whether it may go on."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from rolewall.roles.gateway.using import cost
from rolewall.roles.models import Budget, Price
from rolewall.roles.steps import TokenCounts

__all__ = ["BYTES_OF_A_TOKEN", "Purse", "Reserved"]

BYTES_OF_A_TOKEN = 3
"""For what nobody counted. Text of most kinds has more, so that a guess is rather too high."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """What a call that is under way may come to."""

    tokens: int
    usd: float
    counts: bool


class Purse:
    """One role's budget over all phases of an episode. Belongs to the gateway's thread.

    A call begins while something is left, and is let finish. Calls at the same time hold
    what they may come to, so that many begun at once cannot each find the budget untouched:
    those that would go beyond it wait until it is known what the others took.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._calls = 0
        self._tokens = 0
        self._usd = 0.0
        self._seconds = 0.0
        self._since = 0.0
        self._held: list[Reserved] = []
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def seconds(self) -> float:
        """In which at least one exchange was under way."""
        return self._seconds + (time.monotonic() - self._since if self._held else 0.0)

    async def enter(
        self, taken: int, given: int, price: Price | None, *, counts: bool
    ) -> Reserved | str:
        """Begin an exchange that may come to so many tokens in and out; or what of the
        budget is spent."""
        usd = cost(TokenCounts(taken, given), price) or 0.0
        while True:
            if spent := self._spent(counts):
                return spent
            if not counts or self._fits():
                break
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting
        reserved = Reserved(taken + given, usd, counts)
        if not self._held:
            self._since = time.monotonic()
        self._held.append(reserved)
        self._calls += counts
        return reserved

    def leave(self, reserved: Reserved, tokens: int, usd: float, seconds: float | None) -> None:
        """End it, with what it took. ``seconds`` are a recording's, None for the clock's."""
        self._held.remove(reserved)
        if seconds is not None:
            self._seconds += seconds
        elif not self._held:
            self._seconds += time.monotonic() - self._since
        self._tokens += tokens
        self._usd += usd
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)
        self._waiting.clear()

    def _spent(self, counts: bool) -> str:
        budget = self._budget
        if counts and budget.calls is not None and self._calls >= budget.calls:
            return f"{budget.calls} calls"
        if budget.tokens is not None and self._tokens >= budget.tokens:
            return f"{budget.tokens} tokens"
        if budget.usd is not None and self._usd >= budget.usd:
            return f"{budget.usd:g} US dollars"
        if budget.seconds is not None and self.seconds >= budget.seconds:
            return f"{budget.seconds:g} seconds"
        return ""

    def _fits(self) -> bool:
        held = [one for one in self._held if one.counts]
        if not held:
            return True
        tokens = self._tokens + sum(one.tokens for one in held)
        usd = self._usd + sum(one.usd for one in held)
        budget = self._budget
        return (budget.tokens is None or tokens < budget.tokens) and (
            budget.usd is None or usd < budget.usd
        )
