"""What of an answer is kept back, until it is known not to become a key.

An endpoint can give the key back in pieces that are harmless one by one: over the events of a
stream, or over the parts of one answer. Agents join the pieces of a text, so the pieces of each
text are joined here too, before they are handed on. A key that lacks no more than a few characters
can be tried out, and is one as well.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from rolewall.roles.gateway.keys import UNKNOWN, parts_of
from rolewall.roles.gateway.reply import TooMuch, Withheld
from rolewall.roles.gateway.streams import Splitter

__all__ = ["ECHOED", "Sieve"]

ECHOED = "the answer holds the key in pieces, or most of it"
TOO_DEEP = "the answer is nested too deep to be looked through"
# Many texts end in the first letters of a key (``sk-``), and these tell nothing of it.
SLIGHT = 4
# A model may well say some more of a short one, whose letters often are a word.
WORD = 11
MOST_BEGUN = 1000
_BOM = b"\xef\xbb\xbf"
# Which text of an event's several a piece belongs to.
_NUMBERS = frozenset({"index", "output_index", "content_index", "summary_index"})
_NAMED = "item_id"

_Place = tuple[object, ...]


class Sieve:
    """For one answer: ``feed`` its events and ``rest`` at its end, or ``check`` it whole.

    Args:
        forms: a key in each way of writing it; without one all is handed on at once.
    """

    def __init__(self, forms: Sequence[str]) -> None:
        self._forms = forms
        self._slight = min(SLIGHT, max(1, min(map(len, forms), default=0) - UNKNOWN + 1))
        self._parts = frozenset(part for form in forms for part in parts_of(form, _too_many(form)))
        self._number = 0
        self._held: deque[tuple[int, bytes, Any]] = deque()
        # Of each text the end that may go on as a key does, and in which event that began.
        self._ends: dict[_Place, tuple[str, int]] = {}
        # Those of them that hold back what follows, asked for with every event.
        self._begun: dict[_Place, int] = {}

    def feed(self, event: bytes, said: Any) -> list[tuple[bytes, Any]]:
        """The events that may be handed on by now, oldest first, each with what it says.

        Raises:
            Withheld: with this one it would be most of a key, of which no more than a few
                characters were handed on.
        """
        self._number += 1
        self._held.append((self._number, event, said))
        if self._forms:
            self._look(_pieces(event))
        if len(self._begun) > MOST_BEGUN:
            raise TooMuch(f"the answer has more than {MOST_BEGUN} texts that may become the key")
        return self._until(min(self._begun.values(), default=self._number + 1))

    def rest(self) -> list[tuple[bytes, Any]]:
        """What is still kept back when nothing follows: it is no key. Raises Withheld, where
        it is one that was cut short."""
        self._end()
        return self._until(self._number + 1)

    def check(self, data: bytes) -> None:
        """Look through an answer that is handed on at once. Raises Withheld."""
        if not self._forms:
            return
        said = _parsed(data)
        if said is not None:
            self._look(_texts(said))
        else:
            splitter = Splitter()  # some programs read events of whatever type
            for event in [*splitter.feed(data), splitter.rest()]:
                self._look(_pieces(event))
        self._end()

    def _until(self, number: int) -> list[tuple[bytes, Any]]:
        ready = []
        while self._held and self._held[0][0] < number:
            ready.append(self._held.popleft()[1:])
        return ready

    def _look(self, pieces: Iterator[tuple[_Place, str]]) -> None:
        for place, text in pieces:
            self._join(place, text)
            if len(place) > 1:  # some programs join texts of one name, whatever their number
                self._join(place[-1:], text)

    def _join(self, place: _Place, text: str) -> None:
        if not text:
            return
        before, number = self._ends.pop(place, ("", self._number))
        self._begun.pop(place, None)
        joined = before + text
        if any(part in joined for part in self._parts):
            raise Withheld(ECHOED)
        if end := max((_within(form, joined) for form in self._forms), key=len):
            began = number if len(end) > len(text) else self._number
            self._ends[place] = end, began
            if len(end) >= self._slight:
                self._begun[place] = began

    def _end(self) -> None:
        for end, _ in self._ends.values():
            if any(end in form and len(end) > _most_at_end(form) for form in self._forms):
                raise Withheld(ECHOED)


def _most_at_end(form: str) -> int:
    """How many characters of a key an answer may end with."""
    return max(len(form) - UNKNOWN, len(form) // 2)


def _too_many(form: str) -> int:
    """How many characters of a key in a row are never handed on."""
    return max(len(form) - UNKNOWN + 1, min(len(form), WORD + 1))


def _within(form: str, text: str) -> str:
    """The longest end of ``text`` that stands in ``form``."""
    least, most = 0, min(len(form), len(text))
    while least < most:  # an end of what stands there does so too
        middle = (least + most + 1) // 2
        if text[-middle:] in form:
            least = middle
        else:
            most = middle - 1
    return text[len(text) - least :]


def _pieces(event: bytes) -> Iterator[tuple[_Place, str]]:
    """The texts in an event, each with its place."""
    data = []
    for line in event.removeprefix(_BOM).splitlines():
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value.removeprefix(b" "))
        elif line:
            yield (name,), value.decode("utf-8", "replace").removeprefix(" ")
    said = _parsed(b"\n".join(data))
    if said is not None:
        yield from _texts(said)
    else:
        yield (b"data",), b"".join(data).decode("utf-8", "replace")


class _Object(list[tuple[str, Any]]):
    """With names as often as they stand there: which of them holds is the agent's affair."""


def _parsed(data: bytes) -> Any:
    """JSON, as most parsers would take it; None for what is none."""
    try:
        return json.loads(
            data.decode("utf-8-sig", "replace"),
            object_pairs_hook=_Object,
            parse_int=float,
            strict=False,
        )
    except RecursionError:
        raise Withheld(TOO_DEEP) from None
    except ValueError:
        return None


def _texts(said: Any) -> Iterator[tuple[_Place, str]]:
    """All texts, in their order. Pieces of one text have the same place: the numbers around it,
    and its name."""
    waiting: list[tuple[_Place, str, Any]] = [((), "", said)]
    while waiting:
        numbers, name, value = waiting.pop()
        if isinstance(value, str):
            yield (*numbers, name), value
        elif isinstance(value, _Object):
            own = sorted((k, str(v)) for k, v in value if _tells_apart(k, v))
            inner = (*numbers, *own)
            waiting += [(inner, _name(k, value), v) for k, v in reversed(value)]
        elif isinstance(value, list):
            waiting += [(numbers, name, item) for item in reversed(value)]


def _tells_apart(name: str, value: Any) -> bool:
    """Whether it says which text of several a piece belongs to."""
    if name == _NAMED:
        return isinstance(value, str)
    return name in _NUMBERS and isinstance(value, float)


def _name(name: str, held: _Object) -> str:
    """Of a ``response.output_text.delta`` it is ``text``: what agents join it to is named so."""
    if name != "delta":
        return name
    kind = next((v for k, v in held if k == "type" and isinstance(v, str)), name)
    return kind.removesuffix(".delta").rpartition(".")[2].rpartition("_")[2]
