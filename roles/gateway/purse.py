"""What a role has spent in an episode, and whether it may go on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass

from rolewall.roles.gateway.using import LimitName, SpentLimit, cost, total
from rolewall.roles.models import Budget, Price
from rolewall.roles.steps import TokenCounts

__all__ = ["Purse", "Reserved", "charge", "guess_tokens"]

UNITS = {"calls": "calls", "tokens": "tokens", "usd": "US dollars", "seconds": "seconds"}
# Text of most kinds has more, so that a guess is rather too high.
BYTES_OF_A_TOKEN = 3
UNBOUNDED_TOKENS = 32_768
"""What is taken for the answer to a request that sets it no limit and is not waited for."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """What a call that is under way may come to; if not ``bounded``, to anything."""

    tokens: int
    usd: float
    counts: bool
    bounded: bool


def guess_tokens(size: int) -> int:
    """Of so many bytes, for what nobody counted."""
    return size // BYTES_OF_A_TOKEN


def charge(
    usage: TokenCounts | None, guess: TokenCounts, price: Price | None, broken: Reserved | None
) -> tuple[int, float]:
    """Tokens and dollars to take for an answer.

    Args:
        guess: by its size, for one whose tokens nobody told.
        broken: what was held for one that nobody has to its end. A model may have gone on
            after that, or never said what it thought: leaving early would be cheap.
    """
    tokens = total(usage)
    if tokens is not None:
        return tokens, cost(usage, price) or 0.0
    tokens, usd = total(guess) or 0, cost(guess, price) or 0.0
    return (max(tokens, broken.tokens), max(usd, broken.usd)) if broken else (tokens, usd)


class Purse:
    """One role's budget over all phases of an episode. Belongs to the gateway's thread.

    A call begins while something is left, and is let finish. Calls at the same time hold
    what they may come to, so that many begun at once cannot each find the budget untouched:
    those that would go beyond it wait until it is known what the others took. Where tokens
    or money are limited, one that may come to anything is under way alone.
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

    @property
    def spent(self) -> tuple[SpentLimit, ...]:
        """The limits of which nothing is left; asked when no exchange is under way."""
        return tuple(one for one in self._limits(counts=True) if one.spent >= one.limit)

    async def enter(
        self, taken: int, given: int | None, price: Price | None, *, counts: bool
    ) -> Reserved | str:
        """Begin an exchange that may come to so many tokens in and out; or what of the
        budget is spent. ``given`` is None where the request does not say."""
        most = UNBOUNDED_TOKENS if given is None else given
        usd = cost(TokenCounts(taken, most), price) or 0.0
        bounded = given is not None or not counts
        reserved = Reserved(taken + most, usd, counts, bounded)
        while True:
            if spent := self._spent(counts):
                return spent
            if not counts or self._fits(reserved):
                break
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting
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
        for one in self._limits(counts):
            if one.spent >= one.limit:
                limit = f"{one.limit:g}" if isinstance(one.limit, float) else str(one.limit)
                return f"{limit} {UNITS[one.name]}"
        return ""

    def _limits(self, counts: bool) -> Iterator[SpentLimit]:
        """What is limited, and what was taken of it."""
        budget = self._budget
        taken: tuple[tuple[LimitName, float, float | None], ...] = (
            ("calls", self._calls, budget.calls if counts else None),
            ("tokens", self._tokens, budget.tokens),
            ("usd", self._usd, budget.usd),
            ("seconds", self.seconds, budget.seconds),
        )
        for name, spent, limit in taken:
            if limit is not None:
                yield SpentLimit(name, spent, limit)

    def _fits(self, further: Reserved) -> bool:
        held = [one for one in self._held if one.counts]
        if not held:
            return True
        limited = self._budget.tokens is not None or self._budget.usd is not None
        if limited and not all(one.bounded for one in (*held, further)):
            return False
        tokens = self._tokens + sum(one.tokens for one in held)
        usd = self._usd + sum(one.usd for one in held)
        budget = self._budget
        return (budget.tokens is None or tokens < budget.tokens) and (
            budget.usd is None or usd < budget.usd
        )
