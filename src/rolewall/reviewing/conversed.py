"""What of a recorded exchange a model was told: its conversation, and nothing beside it.

Settings, labels, stop words and the descriptions of tools are no conversation, and no more is
what the model itself has said, which a request repeats.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["asked", "speaks_of", "texts"]

# Counting a request's tokens asks no model anything.
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
ROOM = 128  # tokens; in fewer nobody says a verdict with its reason
TEXTS = ("text", "input_text")
OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output",
           "shell_call_output")  # fmt: skip


def asked(exchange: Mapping[str, Any]) -> bool:
    """Whether a model answered this to its end, had room to judge in its answer, and was sent
    what stands in the request: not what an endpoint that may cut has left of it."""
    request, status = exchange.get("request"), exchange.get("status")
    return (
        isinstance(request, dict)
        and not exchange.get("refused")
        and not exchange.get("failed")
        and isinstance(status, int)
        and 200 <= status < 300
        and _path(exchange) in (CHAT, RESPONSES, MESSAGES)
        and request.get("truncation") in (None, "disabled")
        and not _edits(request.get("context_management"))
        and all(_enough(request.get(name)) for name in LIMITS)
    )


def _edits(managed: object) -> bool:
    """Whether the endpoint may take anything away but what the model thought."""
    edits = managed.get("edits") if isinstance(managed, dict) and len(managed) == 1 else managed
    if not edits:
        return False
    return not isinstance(edits, list) or not all(
        isinstance(edit, dict) and str(edit.get("type")).startswith("clear_thinking_")
        for edit in edits
    )


def _enough(limit: object) -> bool:
    return limit is None or (isinstance(limit, int) and limit >= ROOM)


def _path(exchange: Mapping[str, Any]) -> str:
    return str(exchange.get("path")).partition("?")[0]


def texts(exchange: Mapping[str, Any]) -> Iterator[str]:
    """Each text that a model was told, of an exchange in which it was ``asked``."""
    request, path = exchange["request"], _path(exchange)
    if path == RESPONSES:
        yield from _parts(request.get("instructions"))
        said = request.get("input")
    else:
        yield from _parts(request.get("system")) if path == MESSAGES else ()
        said = request.get("messages")
    if isinstance(said, str):
        yield said
    for item in said if isinstance(said, list) else ():
        if isinstance(item, dict):
            yield from _item(item)


def _item(item: Mapping[str, Any]) -> Iterator[str]:
    kind = item.get("type")
    if kind in OUTPUTS:
        yield from _results(item.get("output"))
    elif kind in (None, "message") and item.get("role") != "assistant":
        yield from _results(item.get("content"))


def _results(content: object) -> Iterator[str]:
    for text in _parts(content):
        yield text
        yield from _inner(text)


def _parts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict):
            continue
        if part.get("type") in TEXTS and isinstance(part.get("text"), str):
            yield part["text"]
        elif part.get("type") == "tool_result":
            yield from _results(part.get("content"))


def _inner(text: str) -> Iterator[str]:
    """What a tool gave back, of agents that wrap it in JSON."""
    if text.startswith("{") and text.rstrip().endswith("}"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return
        if isinstance(found, dict) and isinstance(found.get("output"), str):
            yield found["output"]


def speaks_of(word: str, value: object) -> bool:
    """Whether ``word`` stands in any text of ``value``."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str) and word in found:
            return True
        if isinstance(found, dict):
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found
    return False
