"""Whether a model was sent the change that it approved.

A tool that cuts its output, or a context that is full, cuts a change without a word; what a
model was not sent it did not judge. The gateway's record has every request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from rolewall.sandbox import storage

__all__ = ["unsent_lines"]

# Items of a request that the model itself said; its own messages have the role.
CALLS = ("function_call", "custom_tool_call", "local_shell_call", "reasoning", "tool_use")


def unsent_lines(exchanges: Path, diff: str) -> int:
    """How many different lines, of those that ``diff`` adds or takes away, stand in no request.

    Blanks at their ends aside, they may stand there in whatever way: in the diff, in a file that
    was read, with numbers before them. The model's own words and calls,
    which a request repeats, do not count. Raises StorageError when the record cannot be read.
    """
    wanted = set(_changed(diff))
    if not wanted:
        return 0
    with storage(exchanges):
        if not exchanges.exists():
            return len(wanted)
        with open(exchanges, encoding="utf-8") as file:
            texts = {text for line in file for text in _strings(json.loads(line)["request"])}
    left = wanted - {line.strip() for text in texts for line in text.split("\n")}
    return sum(not any(line in text for text in texts) for line in left)


def _changed(diff: str) -> Iterator[str]:
    """Only what stands in a hunk: no line of a content begins as a header does."""
    inside = False
    for line in diff.split("\n"):
        if line.startswith(("diff --git ", "@@ ")):
            inside = line.startswith("@@ ")
        elif inside and line.startswith(("+", "-")) and (text := line[1:].strip()):
            yield text


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
