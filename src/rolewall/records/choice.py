"""Which columns of a table are which fields, and what is said of the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rolewall.errors import RecordError
from rolewall.records.fields import FIELDS, REQUIRED
from rolewall.records.maker import UNSTATED, shorten
from rolewall.records.mapping import RecordMapping

__all__ = ["Choice", "choose", "named", "notes_on"]

NAMED = 12


@dataclass(frozen=True)
class Choice:
    """``fields`` are taken, each from the column at the same place of ``columns``."""

    fields: tuple[str, ...]
    columns: tuple[str, ...]


def choose(
    there: Iterable[str], mapping: RecordMapping, place: str, *, reachable: Iterable[str] = ()
) -> Choice:
    """Choose among the columns that are ``there``; ``reachable`` ones are taken for given.

    Raises RecordError when a column that is asked for, or a field that is needed, is not there.
    """
    known = [*there]
    found = set(known) | set(reachable)
    columns = {name: column for name, column in mapping.columns.items() if column}
    for name, column in columns.items():
        if column not in found:
            raise RecordError(f"no column for `{name}`", place=place, got=named(known),
                              expected=repr(column))  # fmt: skip
    for name in FIELDS:
        if name in found and name not in mapping.columns and name not in mapping.constants:
            columns[name] = name
    if mapping.trials_by_order:
        columns.pop("trial", None)
    given = columns.keys() | mapping.constants.keys()
    judged = mapping.constants.get("verified") not in ("no", "false")
    judged &= "verified" not in known and "verified" not in mapping.columns
    for name in REQUIRED:
        if name not in given and (judged or name != "verdict"):
            raise RecordError(
                f"no column `{name}`", place=place, got=named(known), expected=name,
                hint=f"name it: --map {name}=COLUMN",
            )  # fmt: skip
    for name in (*mapping.values, *mapping.only):
        if name not in given:
            raise RecordError(
                f"something is said of `{name}`, which no column holds",
                place=place, got=named(known), hint=f"name it: --map {name}=COLUMN",
            )  # fmt: skip
    return Choice(tuple(columns), tuple(columns.values()))


def notes_on(
    there: Iterable[str], choice: Choice, mapping: RecordMapping, rows: int, passed_over: int
) -> tuple[str, ...]:
    """What a reader of the numbers should know of how the records were read."""
    if not rows + passed_over:
        return ()
    notes = []
    given = set(choice.fields) | mapping.constants.keys()
    unused = [name for name in there if name not in choice.columns]
    if unused:
        notes.append(f"columns not used: {named(unused)}")
    if "condition" not in given:
        notes.append(f"no record names its condition: all are of one, `{UNSTATED}`")
    if mapping.trials_by_order:
        notes.append("trials are numbered in the order of the records")
    elif "trial" not in given:
        notes.append("no record names its trial: each task is there once, trial 0")
    if mapping.only:
        what = ", ".join(f"{name} {value}" for name, value in mapping.only.items())
        notes.append(f"{rows} of {rows + passed_over} records taken: {what}")
    return tuple(notes)


def named(columns: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    names = ", ".join(shorten(name) if name else "(no name)" for name in columns[:NAMED])
    return names + (f" and {len(columns) - NAMED} more" if len(columns) > NAMED else "")
