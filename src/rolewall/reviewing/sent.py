"""Whether a model was sent the change that it approved.

A tool that cuts its output, or a context that is full, cuts a change without a word; what a
model was not sent it did not judge. The gateway's record has every request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rolewall.sandbox import storage

__all__ = ["unsent_lines"]

# Requests that a model answers. Counting a request's tokens asks no model anything.
ASKING = ("/v1/chat/completions", "/v1/responses", "/v1/messages")
# Items of a request that the model itself said; its own messages have the role.
HEADERS = ("old mode ", "new mode ", "rename from ", "rename to ")
CALLS = ("function_call", "custom_tool_call", "local_shell_call", "reasoning", "tool_use")


def unsent_lines(exchanges: Path, diff: str) -> int:
    """How many different lines, of those that ``diff`` adds or takes away, stand in no request
    that a model answered to its end: of what was refused, or failed, it has seen nothing.

    Blanks at their ends aside, they may stand there in whatever way: in the diff, in a file that
    was read, with numbers before them. The model's own words and calls,
    which a request repeats, do not count. Changed modes and names are lines too, those that the
    diff has for them. Raises StorageError when the record cannot be read.
    """
    wanted = set(_changed(diff))
    if not wanted:
        return 0
    with storage(exchanges):
        if not exchanges.exists():
            return len(wanted)
        with open(exchanges, encoding="utf-8") as file:
            exchanges_of = (json.loads(line) for line in file)
            texts = {t for one in exchanges_of if _answered(one) for t in _strings(one["request"])}
    left = wanted - {line.strip() for text in texts for line in text.split("\n")}
    return sum(not any(line in text for text in texts) for line in left)


def _answered(exchange: Mapping[str, Any]) -> bool:
    status = exchange["status"]
    return (
        not exchange["refused"]
        and not exchange["failed"]
        and isinstance(status, int)
        and 200 <= status < 300
        and str(exchange["path"]).partition("?")[0] in ASKING
    )


def _changed(diff: str) -> Iterator[str]:
    """What stands in a hunk, and headers that are a change by themselves. No line of a content
    begins as a header does."""
    inside = False
    for line in diff.split("\n"):
        if line.startswith(("diff --git ", "@@ ")):
            inside = line.startswith("@@ ")
        elif inside and line.startswith(("+", "-")) and (text := line[1:].strip()):
            yield text
        elif not inside and line.startswith(HEADERS):
            yield line.strip()


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        if value.get("role") == "assistant" or value.get("type") in CALLS:
            return
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
