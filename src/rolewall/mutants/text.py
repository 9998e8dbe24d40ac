"""Faults in any text, and in SQL and shell scripts: by line and by word, without a grammar."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rolewall.mutants.edit import Edit, raw, shifted, short_lines

__all__ = ["faults"]

_COMMENTS = ("#", "--", "//", "/*", "*")
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_FLIPS = {
    "&&": "||", "||": "&&", "-eq": "-ne", "-ne": "-eq", "-lt": "-le", "-le": "-lt",
    "-gt": "-ge", "-ge": "-gt", "-f": "-e", "-d": "-e", "<=": "<", ">=": ">", "<>": "=",
    "!=": "=", "==": "!=", "<": "<=", ">": ">=", "AND": "OR", "OR": "AND", "ASC": "DESC",
    "DESC": "ASC", "LEFT": "INNER", "min": "max", "max": "min",
}  # fmt: skip
# Longest first, and no part of a longer operator or word; a word of a shell option stands alone.
_FLIP = re.compile(
    r"(?<![\w<>=!&|-])(" + "|".join(map(re.escape, sorted(_FLIPS, key=len, reverse=True)))
    + r")(?![\w<>=!&|-])"
)  # fmt: skip
_OPTIONS = re.compile(
    r"\s(?:-[A-Za-z]|--(?=\s)|NOT NULL|UNIQUE|DISTINCT|PRIMARY KEY|IF (?:NOT )?EXISTS)(?=[\s,)])"
)
_CALLS = re.compile(r"\b(lower|upper|trim|abs|round)\(([^()]*)\)")
_QUOTED = re.compile(r'"(\$\w+|\$\{\w+\})"')


def faults(data: bytes) -> Iterator[Edit]:
    """Every fault of a text. What is left need not be valid in its language."""
    for number, offset, text in short_lines(data):
        said = text.strip()
        if not said or (said.startswith(_COMMENTS) and not said.startswith("#!")):
            continue
        if len(said) > 1:
            yield Edit("line", number, f"{said} left out", offset, offset + len(raw(text)), b"")
        for fault, found, new in _words(text):
            what = f"{found[0].strip()} became {new}" if new else f"{found[0].strip()} left out"
            at = offset + len(raw(text[: found.start()]))
            yield Edit(fault, number, what, at, at + len(raw(found[0])), raw(new))


def _words(text: str) -> Iterator[tuple[str, re.Match[str], str]]:
    for found in _NUMBER.finditer(text):
        if (more := shifted(found[0], 1)) is not None:
            yield "number", found, more
    for found in _FLIP.finditer(text):
        yield "operator", found, _FLIPS[found[0]]
    for found in _OPTIONS.finditer(text):
        yield "option", found, ""
    for found in _CALLS.finditer(text):
        yield "option", found, found[2]
    for found in _QUOTED.finditer(text):
        yield "option", found, found[1]
