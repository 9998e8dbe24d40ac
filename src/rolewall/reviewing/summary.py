"""A review as Markdown, for the summary of a GitHub step."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from rolewall.terminal import escape

__all__ = ["markdown"]

SIGNS = {"approve": "✅", "reject": "❌", "missing": "⛔"}
PUNCTUATION = re.compile(r"([\\`*_{}\[\]()#+\-!|~.:@/])")
LONGEST = 2_000  # characters of a line


def markdown(verdict: str, lines: Iterable[str]) -> str:
    """The text. A reviewer's and a change's words are words in it: no tag, link or mention."""
    head = f"### {SIGNS[verdict]} rolewall review: {verdict}"
    return "\n".join([head, "", *(f"- {_plain(line)}" for line in lines)]) + "\n"


def _plain(text: str) -> str:
    return PUNCTUATION.sub(r"\\\1", html.escape(escape(text, LONGEST), quote=False))
