"""Calls written as text, for models that know no tool calls: one fenced block an answer.

::

    I look at the tests first.

    ```run
    ls tests
    ```

Only the first block of a known kind counts, since what follows it was written without
knowing what comes of it. What is quoted is no call: a block inside another, behind ``>``, in
a comment or in what a model thinks; what a tool gave back is never looked at here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rolewall.roles.chat.calls import Call

__all__ = ["Found", "fenced", "find_call", "hints_at_calls", "strange_block"]

OPENING = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)\Z")
RANGE = re.compile(r"(?P<path>.*?)(?:[ \t]+(?P<first>[0-9]{1,9})-(?P<last>[0-9]{1,9}))?\Z")
FILE = re.compile(r"[\w./-]{1,100}\.[A-Za-z]\w{0,9}\b")
DIVIDER = "\n=======\n"
SHELL = ("run", "bash", "sh", "shell")
WORDS = {"done": "done", "blocked": "blocked"}
KINDS = (*SHELL, "read", "write", "edit", "tool", "message", *WORDS, "approve", "reject", "verdict")
# What a model that was asked natively writes out. Neither handing over nor judging is among
# them: nobody quotes such a call by mistake and has thereby approved.
TOOLS = ("run", "read", "write", "edit")
JUDGING = ("approve", "reject", "verdict")
TRAILING = re.compile(r"(?:<tool_call>((?:(?!</?tool_call>).)*)</tool_call>\s*)+\Z", re.DOTALL)
TAGGED = re.compile(r"<tool_call>((?:(?!</?tool_call>).)*)</tool_call>", re.DOTALL)
# Begin and end of what is said to nobody.
ASIDES = (("<think>", "</think>"), ("<!--", "-->"))
A_BLOCK = "\0"


@dataclass(frozen=True)
class Block:
    """One fenced block: the first word of its info, the rest, its text. ``closed`` is
    false where the answer ended before it did."""

    kind: str
    rest: str
    text: str
    closed: bool


@dataclass(frozen=True)
class Found:
    """The call of an answer, None for none; ``more`` blocks of a known kind followed it."""

    call: Call | None
    more: int = 0


def find_call(text: str, identifier: str, *, cut: bool = False) -> Found:
    """The first call in an answer.

    Args:
        cut: the answer reached its limit of tokens, so that a block without an end is half
            of one. Otherwise its end is that of the answer: small models stop there.
    """
    blocks = list(_blocks(text))
    known = [block for block in blocks if block.kind in KINDS]
    if known:
        return Found(_call(known[0], identifier, cut), len(known) - 1)
    bodies = [block.text for block in blocks if block.closed and block.kind == "json"]
    calls = [call for body in (*bodies, *_tagged(text)) if (call := _json(body, identifier))]
    return Found(calls[0], len(calls) - 1) if calls else Found(None)


def strange_block(text: str) -> tuple[str, str] | None:
    """(first word, file name) of the first block that is no call, where there is one. The
    name is what the answer itself seems to mean, and empty where none is seen."""
    for block in _blocks(text):
        if block.kind not in KINDS:
            before, _, _ = text.partition(f"```{block.kind}")
            near = f"{block.rest}\n{block.text.partition(chr(10))[0]}\n{before[-200:]}"
            named = FILE.search(near)
            return block.kind, named[0] if named else ""
    return None


def hints_at_calls(text: str) -> bool:
    """Whether an answer to somebody who offered tools asks for one in words."""
    return find_call(text, "").call is not None


def fenced(text: str, info: str = "") -> str:
    """``text`` in a fence that nothing in it can close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    end = "" if not text or text.endswith("\n") else "\n"
    return f"{fence}{info}\n{text}{end}{fence}"


def _tagged(text: str) -> list[str]:
    """What stands in ``<tool_call>`` tags, where they are the last that is said."""
    said = (A_BLOCK if isinstance(part, Block) else part for part in _parts(text))
    found = TRAILING.search("\n".join(part for part in said if not part.lstrip().startswith(">")))
    return TAGGED.findall(found[0]) if found else []


def _blocks(text: str) -> Iterator[Block]:
    return (part for part in _parts(text) if isinstance(part, Block))


def _parts(text: str) -> Iterator[Block | str]:
    """The blocks of an answer, and the lines outside them, without asides."""
    lines = iter(text.split("\n"))
    end = ""  # of the aside that is open
    for raw in lines:
        line, end = _aloud(raw, end)
        opening = OPENING.match(line.rstrip("\r"))
        if not opening or end:
            yield line
            continue
        yield _block(opening, lines, indented=line.startswith(" "))


def _aloud(line: str, end: str) -> tuple[str, str]:
    """``line`` without asides, and the end of the one that is still open after it."""
    said = ""
    while True:
        if end:
            _, closed, line = line.partition(end)
            if not closed:
                return said, end
        begins = [(line.find(begin), begin, stop) for begin, stop in ASIDES if begin in line]
        if not begins:
            return said + line, ""
        at, begin, end = min(begins)
        said, line = said + line[:at], line[at + len(begin) :]


def _block(opening: re.Match[str], lines: Iterator[str], *, indented: bool) -> Block:
    fence, info = opening["fence"], opening["info"].strip()
    closing = re.compile(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*\Z")
    body: list[str] = []
    closed = False
    for inner in lines:
        if closed := bool(closing.match(inner.rstrip("\r"))):
            break
        body.append(inner)
    kind, _, rest = info.partition(" ")
    kind = kind.lower()
    if indented and kind in JUDGING:
        kind = f"indented {kind}"  # in a list it is one of the things listed
    return Block(kind, rest.strip().strip("`\"'"), "".join(f"{inner}\n" for inner in body), closed)


def _call(block: Block, identifier: str, cut: bool) -> Call:
    name, arguments = _named(block)
    half = cut and not block.closed
    problem = "the block has no end, so it was not carried out" if half else ""
    return Call(identifier, name, arguments, problem)


def _named(block: Block) -> tuple[str, dict[str, Any]]:
    kind, rest, text = block.kind, block.rest, block.text
    if kind in SHELL:
        return "run", {"command": text}
    if kind == "write":
        return kind, {"path": rest, "text": text}
    if kind in ("read", "edit"):
        return kind, _read(rest or text.strip()) if kind == "read" else _edit(rest, text)
    if kind == "tool":
        return kind, {"name": rest, "arguments": _given(text)}
    if kind in WORDS or kind == "message":
        return "message", {"text": text.strip(), "status": WORDS.get(kind, rest or "done")}
    return "verdict", {"verdict": rest if kind == "verdict" else kind, "summary": text.strip()}


def _read(words: str) -> dict[str, Any]:
    found = RANGE.match(words)
    if not found or found["first"] is None:
        return {"path": words}
    return {"path": found["path"], "first": int(found["first"]), "last": int(found["last"])}


def _edit(path: str, text: str) -> dict[str, Any]:
    old, divided, new = f"\n{text}".partition(DIVIDER)
    if not divided:
        return {"path": path, "old": text}
    return {"path": path, "old": f"{old[1:]}\n" if old else "", "new": new}


def _given(text: str) -> object:
    """The arguments of a tool; what is no JSON is told as the text that it is."""
    try:
        return json.loads(text, strict=False) if text.strip() else {}
    except (ValueError, RecursionError):
        return text


def _json(text: str, identifier: str) -> Call | None:
    """``{"name": …, "arguments": {…}}``, as models write it that were trained on calls."""
    try:
        found = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or set(found) != {"name", "arguments"}:
        return None
    name, arguments = found["name"], found["arguments"]
    if name not in TOOLS or not isinstance(arguments, dict):
        return None
    return Call(identifier, name, arguments)
