"""Model endpoints that a team may call, and what a role may spend on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Budget", "Endpoint", "ModelAccess", "Price"]


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens. ``cached`` is for input that the endpoint had seen;
    None: it costs what ``input`` does."""

    input: float
    output: float
    cached: float | None = None


@dataclass(frozen=True)
class Endpoint:
    """Where the gateway forwards to.

    Attributes:
        url: what stands before ``/chat/completions``, ``/responses`` or ``/messages``;
            no slash at its end.
        key: the variable of the harness's own environment that holds the key, or None:
            then no key is sent. The key itself is in no team, no record and no box.
        allow: the models that may be asked for, by name; never empty.
        prices: by model. What has no price has no known cost.
    """

    name: str
    url: str
    key: str | None
    allow: tuple[str, ...]
    prices: Mapping[str, Price]


@dataclass(frozen=True, slots=True)
class Budget:
    """What one role may spend in one episode, all its phases together. None: no limit.

    ``tokens`` counts input, cached input and output; ``usd`` is by the endpoint's prices;
    ``seconds`` is the time in which exchanges were under way. A call that begins within
    the budget is let finish, so the last one may go beyond it.
    """

    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class ModelAccess:
    """A role's way to a model: through the gateway, and no other."""

    endpoint: Endpoint
    budget: Budget
