"""What one phase's exchanges add up to."""

from __future__ import annotations

from rolewall.roles.gateway.exchange import Exchange
from rolewall.roles.gateway.using import ModelUse, total

__all__ = ["Counting"]


class Counting:
    """Adds up; what nobody told stays unknown and is no nought."""

    def __init__(self, *, replayed: bool) -> None:
        self._replayed = replayed
        self._calls = self._refused = self._failed = self._uncounted = 0
        self._tokens: dict[str, int | None] = dict.fromkeys(("input", "cached", "output"))
        self._usd: float | None = None
        self._unpriced = False
        self._models: dict[str, None] = {}
        self._over_budget = False

    def refuse(self, exchange: Exchange) -> None:
        self._refused += 1
        self._over_budget |= exchange.refused == "budget"

    def add(self, exchange: Exchange) -> None:
        """A call that went out."""
        self._calls += 1
        self._models.setdefault(exchange.model)
        self._failed += exchange.fault not in ("", "agent")
        if not exchange.paid:
            return
        for name in self._tokens:
            if (value := getattr(exchange.usage, name, None)) is not None:
                self._tokens[name] = (self._tokens[name] or 0) + value
        self._uncounted += total(exchange.usage) is None
        if exchange.usd is None:
            self._unpriced = True
        else:
            self._usd = (self._usd or 0.0) + exchange.usd

    def use(self) -> ModelUse:
        """All but time and drift."""
        return ModelUse(
            calls=self._calls,
            refused=self._refused,
            failed=self._failed,
            input=self._tokens["input"],
            cached=self._tokens["cached"],
            output=self._tokens["output"],
            uncounted=self._uncounted,
            usd=None if self._unpriced else self._usd,
            models=tuple(self._models),
            over_budget=self._over_budget,
            replayed=self._replayed,
        )
