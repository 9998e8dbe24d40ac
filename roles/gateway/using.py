"""What an exchange took, by the endpoint's own count, and what that cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rolewall.roles.gateway.wires import Protocol
from rolewall.roles.models import Price
from rolewall.roles.steps import TokenCounts

__all__ = ["LimitName", "ModelUse", "SpentLimit", "cost", "total", "usage_in"]

LimitName = Literal["calls", "tokens", "usd", "seconds"]


@dataclass(frozen=True, slots=True)
class SpentLimit:
    """A limit of a role's budget, and what all its phases so far took of it."""

    name: LimitName
    spent: float
    limit: float


@dataclass(frozen=True)
class ModelUse:
    """What one phase took of its model.

    Attributes:
        calls: requests for an answer that went to the endpoint.
        refused: requests that the gateway let nowhere.
        failed: calls that the endpoint gave no answer to, or not to its end, or one that the
            agent must not have.
        input, cached, output: tokens, where an endpoint told; ``cached`` are part of ``input``.
            None: nobody told anything.
        uncounted: answers whose tokens nobody told; the sums are then too small.
        usd: None where any answer has no known cost.
        seconds: in which exchanges were under way.
        models: those that were asked, in the order in which they first were.
        over_budget: whether a request was refused because the role's budget was spent.
        spent: where one was, the limits of which nothing is left.
        replayed: whether the answers are a recording's.
        drifted: of these, answers to another request than the recorded one.
    """

    calls: int = 0
    refused: int = 0
    failed: int = 0
    input: int | None = None
    cached: int | None = None
    output: int | None = None
    uncounted: int = 0
    usd: float | None = None
    seconds: float = 0.0
    models: tuple[str, ...] = ()
    over_budget: bool = False
    spent: tuple[SpentLimit, ...] = ()
    replayed: bool = False
    drifted: int = 0


def usage_in(protocol: Protocol, body: object) -> TokenCounts | None:
    """The tokens that an answer says it took; None where it does not."""
    found = body.get("usage") if isinstance(body, dict) else None
    if not isinstance(found, dict):
        return None
    if protocol == "chat":
        details, names = "prompt_tokens_details", ("prompt_tokens", "completion_tokens")
    else:
        details, names = "input_tokens_details", ("input_tokens", "output_tokens")
    taken, given = (_count(found, name) for name in names)
    cached = _count(found.get(details), "cached_tokens")
    if protocol == "messages":  # it counts what is read from and written to its cache apart
        cached = _count(found, "cache_read_input_tokens")
        more = [cached, _count(found, "cache_creation_input_tokens")]
        taken = None if taken is None else taken + sum(filter(None, more))
    if taken is None and given is None:
        return None
    return TokenCounts(taken, given, cached)


def _count(found: Any, name: str) -> int | None:
    value = found.get(name) if isinstance(found, dict) else None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 40:
        return None
    return value


def total(usage: TokenCounts | None) -> int | None:
    """All tokens of an exchange; None where not both sides are known."""
    if usage is None or usage.input is None or usage.output is None:
        return None
    return usage.input + usage.output


def cost(usage: TokenCounts | None, price: Price | None) -> float | None:
    """US dollars; None where tokens or price are unknown."""
    if usage is None or usage.input is None or usage.output is None or price is None:
        return None
    cached = min(usage.cached or 0, usage.input)
    cheap = price.input if price.cached is None else price.cached
    dollars = (usage.input - cached) * price.input + cached * cheap + usage.output * price.output
    return dollars / 1e6
