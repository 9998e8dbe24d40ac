"""Bytes as JSON, in time that does not grow with how it is nested or cut up."""

from __future__ import annotations

import re
from typing import Any

from rolewall._files import load_json
from rolewall.errors import InputError
from rolewall.roles.gateway.refusing import Refused

__all__ = ["MAX_NODES", "MAX_REQUEST", "parse_request", "rough_count", "too_many"]

MAX_REQUEST = 16 << 20
MAX_DEPTH = 200
MAX_NODES = 100_000
"""Of all kinds; a call of a tool and what it gave are some 15."""

_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)


def parse_request(data: bytes) -> dict[str, Any]:
    """Raises Refused."""
    if too_many(data, MAX_NODES):
        raise Refused("body", f"the request has more than {MAX_NODES:,} values", 413)
    try:
        body = load_json(data, "the request", max_bytes=MAX_REQUEST, max_depth=MAX_DEPTH)
    except InputError as error:
        raise Refused("body", str(error), 400) from None
    if not isinstance(body, dict):
        raise Refused("body", "the request is no JSON object", 400)
    return body


def too_many(data: bytes, most: int) -> bool:
    """Whether there are more values than ``most``. Counted before anything is made of them: a
    parser takes a thousand times as long for a value as for a letter, and all phases of a run
    share one gateway."""
    if len(data) <= most:
        return False
    # A quote that opens a text has no backslash before it, so these are not fewer than texts.
    if data.count(b'"') - data.count(b'\\"') > 2 * most:
        return True
    return rough_count(_TEXT.sub(b"", data)) > most


def rough_count(data: bytes) -> int:
    """How many values there may be at the most."""
    return sum(data.count(sign) for sign in (b",", b"[", b"{"))
