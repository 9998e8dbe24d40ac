"""Faults in tables: a row left out, a cell changed, two rows in the wrong order."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rolewall.mutants.edit import Edit, lines_of, shifted, short

__all__ = ["DELIMITERS", "faults"]

DELIMITERS = {".csv": ",", ".tsv": "\t"}


def faults(data: bytes, delimiter: str) -> Iterator[Edit]:
    """Every fault of a table whose first line names the columns; a row is one line here, so
    that one with a line break in a cell is left alone."""
    lines = list(lines_of(data))
    if data.count(b'"') % 2 or len(lines) < 2:
        return
    names = _cells(lines[0][2], delimiter)
    rows = [line for line in lines[1:] if len(_cells(line[2], delimiter)) == len(names) > 0]
    for number, offset, line in rows:
        what = f"row {short(line.decode())} left out"
        yield Edit("row", number, what, offset, offset + len(line), b"")
        yield from _changed(names, delimiter, number, offset, line)
    for first, second in pairwise(rows):
        if second[0] == first[0] + 1 and second[2].endswith(b"\n"):
            number, offset, line = first
            what = f"rows {number} and {second[0]} changed places"
            end = offset + len(line) + len(second[2])
            yield Edit("order", number, what, offset, end, second[2] + line)


def _changed(
    names: Sequence[str], delimiter: str, number: int, offset: int, line: bytes
) -> Iterator[Edit]:
    """Each cell alone, so that no edit holds the rest of a long line."""
    cells, at = _cells(line, delimiter), offset
    written = _written(line.decode().rstrip("\r\n"), delimiter)
    if len(written) != len(cells):  # quotes where none should be
        return
    for name, cell, old in zip(names, cells, written, strict=True):
        new, end = _other(cell), at + len(old.encode())
        what = f"{short(name)} {short(cell)!r} became {short(new)!r}"
        yield Edit("cell", number, what, at, end, _line([new], delimiter))
        at = end + len(delimiter)


def _written(line: str, delimiter: str) -> list[str]:
    """The cells of a line as they stand there, in their quotes."""
    cell = re.compile(rf'(?:^|{delimiter})("(?:[^"]|"")*+"(?={delimiter}|$)|[^{delimiter}]*)')
    return cell.findall(line)


def _other(cell: str) -> str:
    return shifted(cell, 1) or (cell[:-1] if cell else "x")


def _cells(line: bytes, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line.decode().rstrip("\r\n")], delimiter=delimiter), [])
    except csv.Error:
        return []


def _line(cells: Sequence[str], delimiter: str) -> bytes:
    made = io.StringIO()
    csv.writer(made, delimiter=delimiter, lineterminator="").writerow(cells)
    return made.getvalue().encode()
