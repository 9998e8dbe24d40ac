"""Items of a specification that work must not miss, as the author of a task declares them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from rolewall._validate import Strict

__all__ = ["Critical", "folded", "unique_items"]

_Words = Annotated[str, Field(min_length=1, max_length=400)]
_Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


class Critical(Strict):
    """One item. A text tells it if any of ``words`` stands in it, and contradicts it if any of
    ``against`` does, in whatever case and with whatever blanks between words."""

    id: _Id
    words: Annotated[tuple[_Words, ...], Field(min_length=1, max_length=20, strict=False)]
    against: Annotated[tuple[_Words, ...], Field(max_length=20, strict=False)] = ()

    def told_in(self, text: str) -> bool:
        """``text`` is as ``folded`` makes it."""
        return any(folded(words) in text for words in self.words)

    def contradicted_in(self, text: str) -> bool:
        """``text`` is as ``folded`` makes it."""
        return any(folded(words) in text for words in self.against)


def folded(text: str) -> str:
    """``text`` in one case, with single blanks."""
    return " ".join(text.casefold().split())


def unique_items(items: Sequence[Critical]) -> Sequence[Critical]:
    """Raises ValueError where an id is there twice."""
    for name, times in Counter(item.id for item in items).items():
        if times > 1:
            raise ValueError(f"item {name!r} is there {times} times")
    return items
