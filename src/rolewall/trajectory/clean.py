"""What is done to an agent's words before they leave a run.

A verifier's nonce is spent when its phase is over. It is taken out all the same: who
collects nonces learns how they look, and nobody needs them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

__all__ = ["NONCE", "Cleaner"]

NONCE = "[nonce]"
DEPTH = 48
# As prompts, verdicts and shell commands write it, however often it is quoted; the nonce of
# a phase that left no verdict stands in no record.
WRITTEN = re.compile(r"""(nonce[\\"']*\s*[:=]\s*[\\"']*)[0-9a-f]{32}""")


class Cleaner:
    """Takes nonces out, and what no UTF-8 or JSON can hold."""

    def __init__(self, nonces: Iterable[str]) -> None:
        known = sorted(filter(None, nonces))
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    def text(self, text: str) -> str:
        """Half a pair of surrogates, which a JSON string can hold, is escaped."""
        text = text.encode("utf-8", "backslashreplace").decode()
        if self._known:
            text = self._known.sub(NONCE, text)
        return WRITTEN.sub(rf"\g<1>{NONCE}", text)

    def value(self, value: Any, depth: int = 0) -> Any:
        """A JSON value. What is nested deeper than readers take becomes a text."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)
        if isinstance(value, dict | list) and depth >= DEPTH:
            return "[nested too deeply]"
        if isinstance(value, dict):
            return {self.text(str(k)): self.value(v, depth + 1) for k, v in value.items()}
        if isinstance(value, list):
            return [self.value(item, depth + 1) for item in value]
        return value
