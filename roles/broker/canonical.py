"""When two calls of a tool ask the same: one form for equal arguments."""

from __future__ import annotations

import json
from typing import Any

from rolewall._files import load_json
from rolewall.errors import InputError

__all__ = ["MAX_ARGUMENTS", "canonical", "canonical_text"]

MAX_ARGUMENTS = 64 << 10
MAX_DEPTH = 32
# Beyond it not every whole number is one of JSON's on the other side.
EXACT = 1 << 53


def canonical(data: bytes) -> dict[str, Any]:
    """The arguments in ``data``, a JSON object: keys sorted, and each number that is whole
    written as one. ``1``, ``1.0`` and ``1e0`` are the same; ``"1"`` is another.

    Raises:
        InputError: it is no JSON object, or too large; the words are for the caller.
    """
    found = load_json(data, "arguments", max_bytes=MAX_ARGUMENTS, max_depth=MAX_DEPTH)
    if not isinstance(found, dict):
        raise InputError("the arguments are no JSON object", expected='such as {"url": "…"}')
    made = _value(found)
    assert isinstance(made, dict)
    return made


def canonical_text(arguments: dict[str, Any]) -> str:
    """Canonical arguments as the text that equal ones share."""
    return json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _value(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_value(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) <= EXACT:
        return int(value)
    return value
