"""Printing: every name, output and verdict that comes from outside is escaped.

A :class:`Sheet` is drawn by rich on a terminal and as aligned plain text
elsewhere; both show the same cells. A sheet of measures that is too wide is
turned: one line a measure.
"""

from __future__ import annotations

import io
import os
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TextIO

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Sheet", "counted", "draw", "draw_all", "escape", "listed", "plain", "say"]

# Cc control, Cf format (bidirectional overrides, zero width), Cs surrogates,
# Co private, Cn unassigned, Zl and Zp line separators: all can rewrite what a reader sees.
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
GAP, RICH_GAP = "  ", 3  # between two columns, as text and by rich
DEFAULT_COLUMNS = 80
MOST_DIGITS = 7


@dataclass(frozen=True)
class Sheet:
    """A table: columns, rows of text, lines below. ``numeric`` columns align right.

    ``empty`` is said in place of the table when there are no rows. ``measures``:
    each column but the first measures the few rows, so that they may change places.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    numeric: frozenset[int] = field(default_factory=frozenset)
    empty: str = "nothing to show"
    measures: bool = False

    def turned(self) -> Sheet:
        """One line a measure, one column a row."""
        names, *columns = zip(*self.rows, strict=True)
        rows = zip(self.columns[1:], columns, strict=True)
        return replace(
            self,
            columns=(self.columns[0], *names),
            rows=tuple((measure, *cells) for measure, cells in rows),
            numeric=frozenset(),
            measures=False,
        )


def escape(text: object, limit: int = 400) -> str:
    """``text`` on one line with everything invisible or active written as ``\\xNN``.

    Longer texts are cut in the middle, and the cut says how much is gone.
    """
    raw = str(text)
    if len(raw) > limit:
        head, tail = raw[: limit * 2 // 3], raw[-(limit // 3) :]
        cut = f"{head}[... {len(raw) - len(head) - len(tail)} characters ...]{tail}"
        raw = min(cut, raw, key=len)
    # Nothing that is printable is hidden, and most of a large report is printable.
    return raw if raw.isprintable() else "".join(map(_visible, raw))


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 episode``, ``2 episodes``; ``plural`` where it is not made by an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"


def listed(names: Sequence[str], most: int) -> str:
    """``a, b and 3 more``: the first ``most`` of them."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _visible(char: str) -> str:
    if unicodedata.category(char) not in HIDDEN:
        return char
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def plain(sheet: Sheet, columns: int | None = None) -> str:
    """The sheet as aligned text, every cell escaped, ending in a newline.

    ``columns`` is the room there is; None is any.
    """
    sheet = _fitted(sheet, columns)
    lines = [escape(sheet.title)] if sheet.title else []
    if sheet.rows:
        lines += _aligned(sheet)
    else:
        lines.append(escape(sheet.empty))
    lines += [escape(note) for note in sheet.notes]
    return "\n".join(lines) + "\n"


def _fitted(sheet: Sheet, columns: int | None, gap: int = len(GAP)) -> Sheet:
    if columns is None or not (sheet.measures and sheet.rows):
        return sheet
    widths = _widths(sheet)
    return sheet if sum(widths) + gap * (len(widths) - 1) <= columns else sheet.turned()


def _aligned(sheet: Sheet) -> list[str]:
    widths = _widths(sheet)
    lines = []
    for row in (sheet.columns, *sheet.rows):
        cells = []
        for i, cell in enumerate(map(escape, row)):
            room = " " * (widths[i] - _width(cell))
            cells.append(room + cell if i in sheet.numeric else cell + room)
        lines.append(GAP.join(cells).rstrip())
    return lines


def _widths(sheet: Sheet) -> list[int]:
    columns = zip(sheet.columns, *sheet.rows, strict=True)
    return [max(_width(escape(cell)) for cell in column) for column in columns]


def _width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def draw(sheet: Sheet, stream: TextIO | None = None) -> None:
    """Print a sheet: by rich on a terminal, as plain text elsewhere."""
    out = stream or sys.stdout
    out.write(_rich(sheet, out) if out.isatty() else plain(sheet, _columns(out)))


def draw_all(sheets: Sequence[Sheet], stream: TextIO | None = None) -> None:
    """Print sheets with a blank line between them."""
    out = stream or sys.stdout
    for number, sheet in enumerate(sheets):
        if number:
            out.write("\n")
        draw(sheet, out)


def _rich(sheet: Sheet, out: TextIO) -> str:
    from rich.console import Console
    from rich.text import Text

    if not sheet.rows:
        return plain(sheet)
    buffer = io.StringIO()
    room = _columns(out)
    console = Console(file=buffer, force_terminal=True, width=room)
    console.print(_table(_fitted(sheet, room, RICH_GAP)))
    for note in sheet.notes:
        console.print(Text(escape(note)))
    return buffer.getvalue()


def _table(sheet: Sheet) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # Text, never str: rich would read [markup] and emoji codes in a str.
    title = Text(escape(sheet.title)) if sheet.title else None
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False
    )
    for i, column in enumerate(sheet.columns):
        side: Literal["left", "right"] = "right" if i in sheet.numeric else "left"
        table.add_column(Text(escape(column)), justify=side, overflow="fold")
    for row in sheet.rows:
        table.add_row(*(Text(escape(cell)) for cell in row))
    return table


def _columns(out: TextIO) -> int:
    """The room there is: what the user says, what the terminal has, else 80."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and len(said) < MOST_DIGITS and int(said):
        return int(said)
    try:
        return os.get_terminal_size(out.fileno()).columns or DEFAULT_COLUMNS
    except (OSError, ValueError):
        return DEFAULT_COLUMNS


def say(lines: Sequence[str], stream: TextIO | None = None) -> None:
    """Print lines, each escaped."""
    out = stream or sys.stdout
    out.write("".join(escape(line) + "\n" for line in lines))
