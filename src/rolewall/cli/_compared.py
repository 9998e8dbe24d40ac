"""What ``rolewall compare`` found, and how it is shown."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from rolewall.cli import settle

if TYPE_CHECKING:
    from rolewall.compare import Comparison
    from rolewall.indices import Index
    from rolewall.tables import ResultTable

__all__ = ["Found", "show"]


@dataclass
class Found:
    """What will be shown: ``head`` of the JSON, the table of a run, the comparison."""

    head: dict[str, Any]
    code: int
    table: ResultTable | None = None
    comparison: Comparison | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()
    indices: tuple[Index, ...] = ()
    errors: dict[str, int] = field(default_factory=dict)


def show(context: click.Context, found: Found, as_json: bool) -> None:
    from rolewall.terminal import draw, say

    settle(context, found.code)
    stream = sys.stderr if as_json else sys.stdout
    sheets = [found.table.sheet()] if found.table else []
    lines = [*found.notes, *(index.text() for index in found.indices)]
    if found.comparison:
        sheets += found.comparison.sheets()
        lines += found.comparison.lines()
    if found.reason:
        lines.append(found.reason)
    for number, sheet in enumerate(sheets):
        stream.write("\n" if number else "")
        draw(sheet, stream)
    if lines:
        say(["", *lines] if sheets else lines, stream)
    if as_json:
        click.echo(json.dumps(_json(found), indent=1))
    context.exit(found.code)


def _json(found: Found) -> dict[str, Any]:
    whole: dict[str, Any] = {
        **found.head,
        "table": found.table.json() if found.table else None,
        "comparison": found.comparison.json() if found.comparison else None,
        "errors": found.errors,
        "notes": list(found.notes),
        "indices": [index.json() for index in found.indices],
    }
    return whole | ({"reason": found.reason} if found.reason else {})
