"""What ``rolewall compare`` found in runs and records, and how it is shown."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rolewall.cli import settle
from rolewall.errors import InputError, NotEnoughEvidence

if TYPE_CHECKING:
    from rolewall.compare import Comparison
    from rolewall.comparing import Asked, PlanFile
    from rolewall.indices import Index
    from rolewall.records import Dataset, RecordMapping
    from rolewall.rows import Row
    from rolewall.tables import ResultTable

__all__ = ["Ask", "Found", "compare_one", "compare_two", "compared", "show"]

TEAM_CAP = 1 << 20
# What others are compared with, where nobody says otherwise.
BASELINES = ("prompt-only", "prompt-only-open")


@dataclass(frozen=True)
class Ask:
    plan: PlanFile | None
    equivalence: Mapping[str, float]
    non_inferiority: Mapping[str, float]
    given: dict[str, Any]
    mapping: RecordMapping | None

    def tests(self, rows: Sequence[Row]) -> Asked:
        """What the plan, or else the command line, asks of these rows."""
        from rolewall.comparing import default_asked

        if self.plan:
            return self.plan.asked()
        return default_asked(rows, self.equivalence, self.non_inferiority)


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


def compare_one(path: Path, ask: Ask) -> Found:
    from rolewall.compare import split_conditions

    found = _read(path, ask)
    if ask.given["conditions"] is not None:
        names = split_conditions(ask.given["conditions"])
    elif ask.plan:
        names = ask.plan.content.conditions
    else:
        names = tuple(sorted(found.conditions, key=lambda name: name not in BASELINES))
    if strange := [name for name in names if name not in found.conditions and found.rows]:
        raise InputError("no such condition", place=str(path), got=", ".join(strange),
                         expected=f"some of {', '.join(found.conditions)}")  # fmt: skip
    return compared(found, names, ask)


def compared(found: Dataset, names: Sequence[str], ask: Ask) -> Found:
    from rolewall.compare import compare
    from rolewall.comparing import deviations
    from rolewall.indices import indices

    shown = Found(_head(found), _code(found.rows), _table(found), notes=found.notes)
    shown.indices = indices(found.rows)
    try:
        if found.rows:
            shown.comparison = compare(found.rows, names, ask.tests(found.rows))
        else:
            raise NotEnoughEvidence("no episode was evaluated", place=found.place)
    except NotEnoughEvidence as error:
        shown.reason = str(error)
        shown.code = shown.code or error.exit_code
        return shown
    if ask.plan:
        info = found.run.info if found.run else None
        strayed = deviations(ask.plan, found.rows, names, shown.comparison.contrasts, info)
        shown.comparison = shown.comparison.against(ask.plan, strayed)
    return shown


def compare_two(first: Path, second: Path, ask: Ask) -> Found:
    from rolewall.compare import compare_runs

    found = [_read(path, ask) for path in (first, second)]
    condition = ask.given["condition"]
    sides = [_side(f, condition) for f in found]
    rows = [row for side in sides for row in side]
    shown = Found({"runs": [_head(f) for f in found]}, _code(rows),
                   notes=tuple(note for f in found for note in f.notes))  # fmt: skip
    try:
        names = _names(first, second)
        shown.comparison = compare_runs(sides[0], sides[1], names, ask.tests(rows))
    except NotEnoughEvidence as error:
        shown.reason = str(error)
        shown.code = shown.code or error.exit_code
    return shown


def _names(first: Path, second: Path) -> tuple[str, str]:
    """Names of two runs: as short as they differ."""
    short = first.name, second.name
    return short if len(set(short)) == 2 and all(short) else (f"1: {first}", f"2: {second}")


def _side(found: Dataset, condition: str | None) -> list[Row]:
    """The rows of the one condition of a run that is compared."""
    if condition is None and len(found.conditions) > 1:
        raise InputError("two runs are compared under one condition each", place="--condition",
                         expected=f"one of {', '.join(found.conditions)}")  # fmt: skip
    if condition is not None and condition not in found.conditions:
        raise InputError("no such condition", place=found.place, got=condition,
                         expected=f"one of {', '.join(found.conditions) or 'none'}")  # fmt: skip
    return [r for r in found.rows if condition is None or r.condition == condition]


def _read(path: Path, ask: Ask) -> Dataset:
    from rolewall.records import read_dataset

    if _is_team(path):
        raise InputError("a team file", place=str(path), expected="--tasks PATH beside it")
    return read_dataset(path, ask.mapping)


def _is_team(path: Path) -> bool:
    """Whether the file is a team by what it holds; whoever reads it says what else is wrong."""
    from rolewall._files import load_yaml
    from rolewall.errors import RolewallError
    from rolewall.storage import read_capped

    try:
        if not os.path.isfile(path):
            return False
        found = load_yaml(read_capped(path, TEAM_CAP), str(path))
    except (RolewallError, OSError):
        return False
    return isinstance(found, dict) and "team" in found and "roles" in found


def _head(found: Dataset) -> dict[str, Any]:
    if found.run is None:
        return {"records": found.place}
    return {"run": str(found.run.path), "seal": found.run.seal}


def _table(found: Dataset) -> ResultTable | None:
    from rolewall.gradernotes import grader_notes
    from rolewall.tables import result_table

    if found.run is None:
        return None
    info = found.run.info
    return result_table(
        found.run.records,
        team=info.team,
        conditions=info.conditions,
        planned=info.planned,
        notes=grader_notes(info.tasks),
    )


def _code(rows: Sequence[Row]) -> int:
    from rolewall.tally import errored

    if not rows:
        return 4
    return 3 if any(map(errored, rows)) else 0


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
        "notes": list(found.notes),
        "indices": [index.json() for index in found.indices],
    }
    return whole | ({"reason": found.reason} if found.reason else {})
