"""An answer on its way to an agent, whether an endpoint gives it or a recording."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

__all__ = ["NOT_THERE", "NoAnswer", "Reply", "TooMuch", "Withheld", "blames_endpoint"]

# Answers that speak of the request alone. All other errors are those of an account, an
# address, a service: no agent is to blame for them.
_OWN_FAULT = frozenset({400, 409, 413, 415, 422})
# Whoever asks an endpoint for what it does not have gets these; so does everybody, of one
# that is not where the team says.
NOT_THERE = frozenset({404, 405})
# Endpoints that answer with 400 when there is no money left say so in a word of their own.
# Not in the message: that repeats words of the request.
_NO_CREDIT = frozenset({"insufficient_quota", "billing_error", "billing_not_active",
                        "billing_hard_limit_reached"})  # fmt: skip
_NO_CREDIT_WORDS = "Your credit balance is too low"  # Anthropic has a message only


class NoAnswer(Exception):
    """The endpoint gave none. ``status`` is what the agent gets in place of it; ``paid``
    whether a model may have been at work all the same."""

    fault: ClassVar[Literal["endpoint", "withheld"]] = "endpoint"

    def __init__(self, why: str, status: int = 502, *, paid: bool = True) -> None:
        super().__init__(why)
        self.why = why
        self.status = status
        self.paid = paid


class TooMuch(NoAnswer):
    """More of one than can be looked through."""


class Withheld(NoAnswer):
    """There is one, or the beginning of one, that the agent must not have. A role can bring its
    model to say anything, so that it is no failure of the endpoint: else a role that did badly
    could end its episode in an error. A program asks no second time for this status."""

    fault = "withheld"

    def __init__(self, why: str) -> None:
        super().__init__(why, 403)


@dataclass
class Reply:
    """``body`` raises NoAnswer where it breaks off. Of ``seconds``, a recording knows how long
    the answer took then; ``failed`` is what the recording says went wrong after this much, and
    ``withheld`` whether the rest was kept from the agent."""

    status: int
    streamed: bool
    body: AsyncIterator[bytes]
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None
    failed: str = ""
    withheld: bool = False

    def break_off(self) -> NoAnswer:
        """What a recording's answer ends in."""
        return Withheld(self.failed) if self.withheld else NoAnswer(self.failed)


def blames_endpoint(status: int, body: Any) -> bool:
    """Whether an error of this status is one that an agent could not have avoided.

    Args:
        body: the answer's JSON, or None.
    """
    if status < 400:
        return False
    return status not in _OWN_FAULT or _no_credit(body)


def _no_credit(body: Any) -> bool:
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return False
    if _NO_CREDIT & {str(error.get("type")), str(error.get("code"))}:
        return True
    return str(error.get("message", "")).startswith(_NO_CREDIT_WORDS)
