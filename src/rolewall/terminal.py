"""Printing: every name, output and verdict that comes from outside is escaped.

A :class:`Sheet` is drawn by rich on a terminal and as aligned plain text
elsewhere; both show the same cells.
"""

from __future__ import annotations

import io
import os
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TextIO

__all__ = ["Sheet", "draw", "escape", "plain", "say"]

# Cc control, Cf format (bidirectional overrides, zero width), Cs surrogates,
# Co private, Cn unassigned, Zl and Zp line separators: all can rewrite what a reader sees.
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@dataclass(frozen=True)
class Sheet:
    """A table: columns, rows of text, lines below. ``numeric`` columns align right.

    ``empty`` is said in place of the table when there are no rows.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    numeric: frozenset[int] = field(default_factory=frozenset)
    empty: str = "nothing to show"


def escape(text: object, limit: int = 400) -> str:
    """``text`` on one line with everything invisible or active written as ``\\xNN``.

    Longer texts are cut in the middle, and the cut says how much is gone.
    """
    raw = str(text)
    if len(raw) > limit:
        head, tail = raw[: limit * 2 // 3], raw[-(limit // 3) :]
        raw = f"{head}[... {len(raw) - len(head) - len(tail)} characters ...]{tail}"
    return "".join(_visible(c) for c in raw)


def _visible(char: str) -> str:
    if unicodedata.category(char) not in HIDDEN:
        return char
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def plain(sheet: Sheet) -> str:
    """The sheet as aligned text, every cell escaped, ending in a newline."""
    lines = [escape(sheet.title)] if sheet.title else []
    if sheet.rows:
        lines += _aligned(sheet)
    else:
        lines.append(escape(sheet.empty))
    lines += [escape(note) for note in sheet.notes]
    return "\n".join(lines) + "\n"


def _aligned(sheet: Sheet) -> list[str]:
    rows = [[escape(cell) for cell in row] for row in (sheet.columns, *sheet.rows)]
    widths = [max(_width(row[i]) for row in rows) for i in range(len(sheet.columns))]
    lines = []
    for row in rows:
        cells = []
        for i, cell in enumerate(row):
            gap = " " * (widths[i] - _width(cell))
            cells.append(gap + cell if i in sheet.numeric else cell + gap)
        lines.append("  ".join(cells).rstrip())
    return lines


def _width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def draw(sheet: Sheet, stream: TextIO | None = None) -> None:
    """Print a sheet: by rich on a terminal, as plain text elsewhere."""
    out = stream or sys.stdout
    out.write(_rich(sheet, out) if out.isatty() else plain(sheet))


def _rich(sheet: Sheet, out: TextIO) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    buffer = io.StringIO()
    console = Console(file=buffer, force_terminal=True, width=_columns(out))
    if not sheet.rows:
        return plain(sheet)
    table = Table(title=Text(escape(sheet.title)) if sheet.title else None, title_justify="left")
    for i, column in enumerate(sheet.columns):
        table.add_column(Text(escape(column)), justify="right" if i in sheet.numeric else "left")
    for row in sheet.rows:
        # Text, never str: rich would read [markup] and emoji codes in a str.
        table.add_row(*(Text(escape(cell)) for cell in row))
    console.print(table)
    for note in sheet.notes:
        console.print(Text(escape(note)))
    return buffer.getvalue()


def _columns(out: TextIO) -> int:
    try:
        return os.get_terminal_size(out.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def say(lines: Sequence[str], stream: TextIO | None = None) -> None:
    """Print lines, each escaped."""
    out = stream or sys.stdout
    out.write("".join(escape(line) + "\n" for line in lines))
