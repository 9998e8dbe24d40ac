"""A table of comma- or tab-separated cells, its first line the names of its columns."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter

from rolewall._files import decode
from rolewall.errors import RecordError
from rolewall.records.choice import choose, notes_on
from rolewall.records.maker import RowMaker
from rolewall.records.mapping import RecordMapping
from rolewall.rows import Row
from rolewall.terminal import counted

__all__ = ["read_csv"]

Line = tuple[int, list[str], bool]


def read_csv(
    data: bytes, mapping: RecordMapping, place: str, *, tabs: bool = False
) -> tuple[list[Row], tuple[str, ...]]:
    """The rows of a table and the notes on it. ``data`` is UTF-8, with or without a mark of
    byte order; a cell may be quoted and then hold commas, line ends and doubled quotes.

    Raises RecordError with the line at fault.
    """
    lines = _lines(data, place, "\t" if tabs else ",")
    first = next(lines, None)
    if first is None:
        return [], ()
    header = first[1]
    _check_header(header, f"{place}:{first[0]}", tabs)
    choice = choose(header, mapping, f"{place}:{first[0]}")
    maker = RowMaker(mapping, choice.fields, place)
    take = _picker([header.index(column) for column in choice.columns])
    slots = maker.slots(choice.fields)
    long: list[int] = []
    for number, cells, several in lines:
        if len(cells) != len(header):
            raise RecordError("another number of cells than the first line has",
                              place=f"{place}:{number}", got=len(cells),
                              expected=len(header))  # fmt: skip
        if several:
            long.append(number)
        maker.add(slots, take(cells), number)
    maker.finish()
    rows = maker.rows
    notes = notes_on(header, choice, mapping, len(rows), maker.passed_over)
    return rows, (*notes, *_over_lines(long))


def _over_lines(long: Sequence[int]) -> list[str]:
    if not long:
        return []
    records = f"{counted(len(long), 'record')} with a line end in a cell, the first in line"
    return [f"{records} {long[0]}: a stray quote takes in the lines up to the next quote"]


def _lines(data: bytes, place: str, separator: str) -> Iterator[Line]:
    """Each line that is not empty, with the number of the line it begins in, and whether
    it ends in another."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    reader = csv.reader(text, delimiter=separator, strict=True)
    begins = 1
    try:
        for cells in reader:
            if cells:
                yield begins, cells, reader.line_num > begins
            begins = reader.line_num + 1
    except csv.Error as problem:
        expected = "a quote inside quotes doubled, quotes closed, no cell beyond 131072 characters"
        raise RecordError(f"not a table: {problem}", place=f"{place}:{begins}",
                          expected=expected) from None  # fmt: skip
    except UnicodeDecodeError:
        decode(data, place, error=RecordError, max_bytes=len(data))
        raise


def _check_header(header: Sequence[str], place: str, tabs: bool) -> None:
    twice = [name for name, times in Counter(header).items() if times > 1]
    if twice:
        raise RecordError("two columns of one name", place=place, got=twice[0], expected="one")
    other = {",": "commas", "\t": "tabs", ";": "semicolons"}
    other.pop("\t" if tabs else ",")
    for sign, name in other.items():
        if len(header) == 1 and sign in header[0]:
            raise RecordError(
                f"one column only, and {name} in its name", place=place,
                expected="cells parted by commas, or by tabs in a file named *.tsv",
            )  # fmt: skip


def _picker(places: Sequence[int]) -> Callable[[list[str]], tuple[str, ...]]:
    if len(places) > 1:
        return itemgetter(*places)
    return lambda cells: tuple(cells[i] for i in places)
