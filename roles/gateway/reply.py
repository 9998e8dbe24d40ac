"""An answer on its way to an agent, whether an endpoint gives it or a recording."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

__all__ = ["NoAnswer", "Reply", "blames_endpoint"]

# Answers that speak of the request alone. All other errors are those of an account, an
# address, a service: no agent is to blame for them.
_OWN_FAULT = frozenset({400, 409, 413, 415, 422})
# Anthropic answers with 400 when there is no money left.
_NO_CREDIT = (b"credit balance", b"billing", b"insufficient_quota")


class NoAnswer(Exception):
    """The endpoint gave none. ``status`` is what the agent gets in place of it."""

    def __init__(self, why: str, status: int = 502) -> None:
        super().__init__(why)
        self.why = why
        self.status = status


@dataclass
class Reply:
    """``body`` raises NoAnswer where it breaks off. Of ``seconds``, a recording knows how long
    the answer took then; ``failed`` is what the recording says went wrong after this much."""

    status: int
    streamed: bool
    body: AsyncIterator[bytes]
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None
    failed: str = ""


def blames_endpoint(status: int, body: bytes) -> bool:
    """Whether an error of this status is one that an agent could not have avoided."""
    if status < 400:
        return False
    lowered = body[:4096].lower()
    return status not in _OWN_FAULT or any(words in lowered for words in _NO_CREDIT)
