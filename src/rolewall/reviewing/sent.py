"""Whether a model was sent the change that it approved.

A tool that cuts its output, or a context that is full, cuts a change without a word; what a
model was not sent it did not judge. The gateway's record has every request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rolewall._files import load_json, open_regular
from rolewall.errors import RecordError
from rolewall.sandbox import storage

__all__ = ["unsent_lines"]

# Requests that a model answers. Counting a request's tokens asks no model anything.
ASKING = ("/v1/chat/completions", "/v1/responses", "/v1/messages")
HEADERS = ("old mode ", "new mode ", "rename from ", "rename to ")
# Items of a request that the model itself said; its own messages have the role.
CALLS = ("function_call", "custom_tool_call", "local_shell_call", "reasoning", "tool_use")
MAX_LINE, MAX_DEPTH = 160 << 20, 256
MOST_SEEN = 100_000  # texts that are known again; of more, some are looked through once more


def unsent_lines(exchanges: Path, diff: str) -> int:
    """How many different lines, of those that ``diff`` adds or takes away, stand in no request
    that a model answered to its end: of what was refused, or failed, it has seen nothing.

    Blanks at their ends aside, they may stand there in whatever way: in the diff, in a file that
    was read, with numbers before them. The model's own words and calls,
    which a request repeats, do not count. Changed modes and names are lines too, those that the
    diff has for them. No more than one exchange is held at a time, and reading ends where no
    line is left.

    Raises:
        StorageError: the record cannot be read.
        RecordError: a line of it is no exchange.
    """
    left = set(_changed(diff))
    # Most lines stand in a request as lines: only the others are sought at every place of it.
    for text in _texts(exchanges) if left else ():
        left.difference_update(line.strip() for line in text.split("\n"))
        if not left:
            return 0
    for text in _texts(exchanges) if left else ():
        left = {line for line in left if line not in text}
        if not left:
            break
    return len(left)


def _texts(exchanges: Path) -> Iterator[str]:
    """What models were sent. Requests repeat what was said before, and that comes once."""
    seen: set[bytes] = set()
    for exchange in _exchanges(exchanges):
        for text in _strings(exchange.get("request")) if _answered(exchange) else ():
            digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            if digest not in seen:
                if len(seen) < MOST_SEEN:
                    seen.add(digest)
                yield text


def _exchanges(path: Path) -> Iterator[Mapping[str, Any]]:
    with storage(path):
        if not path.exists():
            return
        with open(open_regular(path), "rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), 1):
                yield _exchange(line, f"{path}:{number}")


def _exchange(line: bytes, place: str) -> Mapping[str, Any]:
    found = load_json(line, place, error=RecordError, max_bytes=MAX_LINE, max_depth=MAX_DEPTH)
    if not isinstance(found, dict):
        raise RecordError("no recorded exchange", place=place, got=type(found).__name__)
    return found


def _answered(exchange: Mapping[str, Any]) -> bool:
    status = exchange.get("status")
    return (
        not exchange.get("refused")
        and not exchange.get("failed")
        and isinstance(status, int)
        and 200 <= status < 300
        and str(exchange.get("path")).partition("?")[0] in ASKING
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
