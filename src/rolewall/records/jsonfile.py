"""Tables whose records are JSON objects: one a line, or an array of them."""

from __future__ import annotations

import io
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NoReturn

from rolewall._validate import shorten
from rolewall.errors import RecordError
from rolewall.records.choice import choose, named, notes_on, refuse_passed_over
from rolewall.records.fields import FIELDS, REQUIRED
from rolewall.records.maker import RowMaker, Slots
from rolewall.records.mapping import RecordMapping
from rolewall.rows import Row

__all__ = ["objects", "read_objects"]

LONGEST_LINE = 1 << 20
SETTLED = ("condition", "trial")
"""Fields that all records have, or none: the first one settles it."""

KINDS: Mapping[object, str] = {list: "an array", dict: "an object"}
BLANK = " \t\r\n"
SHAPES = 1000  # kinds of records that are remembered

Reach = Callable[[Mapping[str, Any]], Any]
_ABSENT = object()
_BOM = b"\xef\xbb\xbf"


def objects(data: bytes, place: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of JSON lines, with their line numbers; empty lines are passed over.

    Raises RecordError for a line that holds anything else: also for duplicate keys, NaN,
    infinities and more than 1 MiB.
    """
    for number, line in enumerate(io.BytesIO(data.removeprefix(_BOM)), 1):
        if line.isspace():
            continue
        where = f"{place}:{number}"
        if len(line) > LONGEST_LINE:
            raise RecordError("too long a line", place=where, got=f"{len(line)} bytes",
                              expected=f"at most {LONGEST_LINE}")  # fmt: skip
        yield number, _object(line, where)


def _object(line: bytes, where: str) -> dict[str, Any]:
    try:
        text = line.decode().strip(BLANK)
        found, end = _DECODER.raw_decode(text)
        if end != len(text):
            raise json.JSONDecodeError("more than one value", text, end)
    except UnicodeDecodeError as problem:
        got = f"byte 0x{line[problem.start]:02x}"
        raise RecordError("not text", place=where, got=got, expected="UTF-8") from None
    except json.JSONDecodeError as problem:
        reason = problem.msg[:1].lower() + problem.msg[1:]
        raise RecordError(f"not JSON: {reason}", place=f"{where}:{problem.colno}") from None
    except (ValueError, RecursionError) as problem:
        raise RecordError(f"not acceptable JSON: {shorten(str(problem))}", place=where) from None
    if not isinstance(found, dict):
        raise RecordError("not a record", place=where, expected="a JSON object")
    return found


def read_objects(
    records: Iterable[tuple[int, Mapping[str, Any]]],
    mapping: RecordMapping,
    place: str,
    *,
    unused: bool = True,
) -> tuple[list[Row], tuple[str, ...]]:
    """The rows of objects, each with its number, and the notes on them.

    A field is a text, a number, a truth value or null; null and absent are empty, and 1.0
    is 1. With ``unused``, the notes name the keys that no field is read from. Raises
    RecordError with the number of the object at fault.
    """
    records = iter(records)
    first = next(records, None)
    if first is None:
        return [], ()
    reader = _Reader(first[1], mapping, f"{place}:{first[0]}")
    maker = RowMaker(mapping, reader.choice.fields, place)
    for number, record in itertools.chain([first], records):
        shape = reader.shape(record, maker, number)
        texts = [
            value if type(value := reach(record)) is str else _text(value, maker, number, name)
            for name, reach in zip(shape.fields, shape.reach, strict=True)
        ]
        maker.add(shape.slots, texts, number)
    reader.refuse_unmet(place)
    maker.finish()
    rows = maker.rows
    keys = reader.keys if unused else ()
    return rows, notes_on(keys, reader.choice, mapping, len(rows), maker.passed_over)


@dataclass(frozen=True)
class _Shape:
    """How to read records that have the same keys: their fields, and the way to each."""

    fields: tuple[str, ...]
    reach: tuple[Reach, ...]
    slots: Slots


class _Reader:
    """Knows where the fields stand in the objects of one table."""

    def __init__(self, first: Mapping[str, Any], mapping: RecordMapping, place: str) -> None:
        wanted = [column for column in mapping.columns.values() if column]
        self.choice = choose(first, mapping, place, reachable=_later(first, mapping))
        self.keys: dict[str, None] = {}
        self._mapping = mapping
        self._shapes: dict[tuple[str, ...], _Shape] = {}
        self._empty_means = {name for name, words in mapping.values.items() if "" in words}
        self._unmet = set(wanted) & set(self.choice.columns)
        late = {"condition"} if mapping.trials_by_order else set(SETTLED)
        self._late = late - {*self.choice.columns, *mapping.columns, *mapping.constants}

    def shape(self, record: Mapping[str, Any], maker: RowMaker, number: int) -> _Shape:
        keys = tuple(record)
        known = self._shapes.get(keys)
        if known is not None and not self._unmet:
            return known
        for name in sorted(self._late & record.keys()):
            maker.refuse(f"a `{name}`, which the first record has not", number,
                         expected="one in every record, or in none")  # fmt: skip
        new = [key for key in keys if key not in self.keys]
        refuse_passed_over(new, self._mapping, f"{maker.place}:{number}")
        self.keys.update(dict.fromkeys(new))
        self._unmet -= {name for name in self._unmet if _beneath(record, name) is not _ABSENT}
        made = self._look(record, maker)
        if len(self._shapes) < SHAPES:
            self._shapes[keys] = made
        return made

    def _look(self, record: Mapping[str, Any], maker: RowMaker) -> _Shape:
        there = [
            (name, _reach(column, record))
            for name, column in zip(self.choice.fields, self.choice.columns, strict=True)
            if column in record or "." in column or name in self._empty_means
        ]
        fields = tuple(name for name, _ in there)
        return _Shape(fields, tuple(reach for _, reach in there), maker.slots(fields))

    def refuse_unmet(self, place: str) -> None:
        for column in sorted(self._unmet):
            raise RecordError("no record has this key", place=place, got=column,
                              expected=named(list(self.keys)))  # fmt: skip


def _later(first: Mapping[str, Any], mapping: RecordMapping) -> list[str]:
    """Columns that are taken for given although the first record lacks them: those of
    optional fields, as an error stands in later records alone; and those of a verdict and a
    grade, where the first record is one that has none to give."""

    def column(name: str) -> str:
        return mapping.columns.get(name) or name

    fields = [name for name in FIELDS if name not in (*REQUIRED, *SETTLED)]
    fields += [name for name in SETTLED if _beneath(first, column(name)) is not _ABSENT]
    unjudged = any(
        _beneath(first, column(name)) not in (_ABSENT, None, "") for name in ("error", "verified")
    )
    for name in REQUIRED:
        empty_means = "" in mapping.values.get(name, {})
        if unjudged or empty_means or _beneath(first, column(name)) is not _ABSENT:
            fields.append(name)
    return [column(name) for name in fields]


def _text(value: Any, maker: RowMaker, number: int, field: str) -> str:
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is float and math.isfinite(value):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if kind is int:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if value is None or value is _ABSENT:
        return ""
    return maker.refuse(
        f"`{field}` is no single value",
        number,
        got=KINDS.get(kind, str(value)),
        expected="text, a number, true, false or null",
    )


def _reach(column: str, record: Mapping[str, Any]) -> Reach:
    if column in record:
        return itemgetter(column)
    return lambda record: _beneath(record, column)


def _beneath(value: object, path: str) -> Any:
    """What ``path`` leads to; a key that holds dots itself stands before the way into it."""
    if not isinstance(value, Mapping):
        return _ABSENT
    if path in value:
        return value[path]
    end = path.find(".")
    while end >= 0:
        if path[:end] in value:
            found = _beneath(value[path[:end]], path[end + 1 :])
            if found is not _ABSENT:
                return found
        end = path.find(".", end + 1)
    return _ABSENT


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"duplicate key {key!r}")
            seen.add(key)
    return made


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


# An overflowing number becomes an infinity here, and is refused where a field is read from it.
_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_no_constant)
