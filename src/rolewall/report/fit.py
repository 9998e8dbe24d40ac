"""How much of each thing a page has room for, and texts of others cut to it.

A character may take ten bytes or more of HTML: one that cannot be seen is written out, and
some are quoted. So texts are held to bytes too, or names alone could fill a page.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from rolewall.terminal import escape

__all__ = ["LIMIT", "ROOMS", "Room", "shorten"]

LIMIT = 999_999  # bytes of a page, all told: below 1 MB
EACH = 4  # bytes a character, over a whole text: as many as one of any script takes


@dataclass(frozen=True)
class Room:
    """How much is shown, where a page without any episode in full is ``most`` bytes then.

    ``episodes`` of one set, ``index`` of all, ``titles`` of a set; characters of a ``name``,
    of a line of ``prose``, of any ``other`` text.
    """

    most: int
    episodes: int
    index: int
    titles: int = 6
    name: int = 90
    prose: int = 1500
    other: int = 400


# From the most generous on: lists are shortened before names are, and these only where many
# long ones leave no room otherwise. What the last one has is below LIMIT whatever the names.
ROOMS = (
    Room(550_000, episodes=40, index=200),
    Room(550_000, episodes=12, index=80),
    Room(550_000, episodes=4, index=30),
    Room(900_000, episodes=0, index=10),
    Room(900_000, episodes=0, index=10, titles=2, name=60, prose=400, other=200),
    Room(LIMIT, episodes=0, index=5, titles=1, name=32, prose=200, other=100),
)


def shorten(text: object, most: int, size: int = 0) -> str:
    """``text`` on one line, with what cannot be seen made visible.

    Of more than ``most`` characters, or more than ``size`` bytes once it is quoted for HTML
    (without it ``EACH`` times as many), the middle is cut out, and the cut says how much.
    """
    raw, size = str(text), size or EACH * most
    if len(raw) <= most and _size(shown := escape(raw, most)) <= size:
        return shown
    head = _begin(raw[: most * 2 // 3], size * 2 // 3)
    tail = _begin(raw[-(most // 3) :][::-1], size // 3)[::-1]
    gone = len(raw) - len(head) - len(tail)
    return f"{escape(head, most)}[... {gone} characters ...]{escape(tail, most)}"


def _begin(raw: str, size: int) -> str:
    """As much of its beginning as takes ``size`` bytes."""
    if _size(escape(raw, len(raw))) <= size:
        return raw
    for place, sign in enumerate(raw):
        size -= _of_sign(sign)
        if size < 0:
            return raw[:place]
    return raw


@lru_cache(1024)
def _of_sign(sign: str) -> int:
    return _size(escape(sign))


def _size(shown: str) -> int:
    from markupsafe import escape as quoted

    return len(quoted(shown).encode())
