"""What has been said so far, kept within what the model can take in.

Tokens are estimated from bytes: three bytes a token at first, then by the ratio of the
last request that the endpoint counted. What is too long loses its oldest tool outputs
first, then its oldest exchanges whole, and the prompt never.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rolewall.roles.chat.shown import shorten_text

__all__ = ["Conversation", "Exchange"]

Message = dict[str, Any]
BYTES_A_TOKEN = 3.0
LEAST, MOST = 1.0, 8.0  # bytes a token that an endpoint's count is believed to say
SMALL = 400  # characters of an output that are not worth cutting
# Cutting a little at every turn would have the endpoint read everything anew at each.
SPARE = 0.75


@dataclass
class Exchange:
    """An answer of the model, and what it was told then."""

    answer: Message
    results: list[Message] = field(default_factory=list)


@dataclass
class Conversation:
    """``opening`` are the messages before the model's first answer; ``room`` is how many
    tokens a request may have; ``extra`` goes with each request, beside the messages."""

    opening: list[Message]
    room: int
    extra: Sequence[Mapping[str, Any]] = ()
    exchanges: list[Exchange] = field(default_factory=list)
    dropped: int = 0
    _ratio: float = BYTES_A_TOKEN

    def messages(self) -> list[Message]:
        said = [m for one in self.exchanges for m in (one.answer, *one.results)]
        return [*self._opened(), *said]

    def _opened(self) -> list[Message]:
        if not self.dropped:
            return self.opening
        note = f"\n\n[{self.dropped} earlier exchanges are cut, to stay within your context]"
        last = self.opening[-1]
        return [*self.opening[:-1], {**last, "content": f"{last['content']}{note}"}]

    def size(self) -> int:
        return len(json.dumps([self.messages(), list(self.extra)], ensure_ascii=False).encode())

    def tokens(self) -> int:
        """The estimate for the next request."""
        return math.ceil(self.size() / self._ratio)

    def counted(self, size: int, tokens: int | None) -> None:
        """Learn from a request of ``size`` bytes in which the endpoint counted ``tokens``."""
        if tokens:
            self._ratio = min(MOST, max(LEAST, size / tokens))

    def shrink(self) -> None:
        """The endpoint says that a request was too long: it can take in less than was said."""
        self.room = min(self.room, self.tokens()) * 7 // 10

    def trim(self) -> list[str]:
        """Cut until the next request has room; says what was cut, in order."""
        if self.tokens() <= self.room:
            return []
        wanted = int(self.room * SPARE)
        return [*self._cut_outputs(wanted), *self._drop(wanted), *self._shorten(wanted)]

    def _cut_outputs(self, wanted: int) -> list[str]:
        cut: list[str] = []
        for index, one in enumerate(self.exchanges[:-1]):
            for result in one.results:
                if self.tokens() <= wanted:
                    return cut
                text = result["content"]
                if len(text) <= SMALL:
                    continue
                first, _, rest = text.partition("\n")
                note = f"[{len(rest)} characters are cut, to stay within your context]"
                result["content"] = f"{first[:SMALL]}\n{note}"
                cut.append(f"{len(rest)} characters of output, exchange {index + 1}")
        return cut

    def _drop(self, wanted: int) -> list[str]:
        before = self.dropped
        while len(self.exchanges) > 1 and self.tokens() > wanted:
            self.exchanges.pop(0)
            self.dropped += 1
        dropped = self.dropped - before
        return [f"the oldest {dropped} exchanges"] if dropped else []

    def _shorten(self, wanted: int) -> list[str]:
        """Only the last exchange is left: what it gave back is still of use, but shorter."""
        cut = []
        for result in self.exchanges[-1].results if self.exchanges else []:
            excess = int((self.tokens() - wanted) * self._ratio)
            text = result["content"]
            if excess <= 0 or len(text) <= SMALL:
                continue
            result["content"] = shorten_text(text, max(SMALL, len(text) - excess))
            cut.append("a part of the last output")
        return cut
