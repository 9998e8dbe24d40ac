"""Which columns of a table are which fields, and what is said of the rest."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rolewall._validate import shorten
from rolewall.errors import RecordError
from rolewall.records.fields import FIELDS, OUTCOMES, REQUIRED, WEIGHTY
from rolewall.records.maker import UNSTATED
from rolewall.records.mapping import RecordMapping
from rolewall.rows import alike
from rolewall.terminal import listed

__all__ = ["Choice", "choose", "named", "notes_on", "refuse_passed_over"]

NAMED = 12
HINTED = 60  # characters of a column that a hint repeats


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
    refuse_passed_over(known, mapping, place)
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
    _refuse_shared(columns, place)
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


def _refuse_shared(columns: Mapping[str, str], place: str) -> None:
    """A condition or a team that is read from a verdict would choose records by it."""
    outcomes = {column: name for name, column in columns.items() if name in OUTCOMES}
    for name, column in columns.items():
        if name not in OUTCOMES and column in outcomes:
            raise RecordError(
                f"`{name}` is read from the column of the `{outcomes[column]}`", place=place,
                got=shorten(column), expected="nothing else where an outcome stands",
            )  # fmt: skip


def refuse_passed_over(there: Iterable[str], mapping: RecordMapping, place: str) -> None:
    """Refuse to pass over a column that is a field's but for case, spaces or what is not
    shown, unless the mapping says where the field stands; and one of an error or of trust,
    whatever it says.

    Raises RecordError.
    """
    taken = set(mapping.columns.values())
    for column in there:
        name = alike(column)
        if name not in FIELDS or mapping.columns.get(name) == column:
            continue
        said = name in mapping.columns or name in mapping.constants
        if name in WEIGHTY and said:
            raise RecordError(
                f"a column of `{name}` that is left out", place=place, got=shorten(column),
                expected="every error and every lack of trust to count",
                hint=f"take it: --map {_pair(name, column)}; what a word in it means,"
                f" --value {name}:THEIRS=OURS says",
            )  # fmt: skip
        if name != column and not said and column not in taken:
            way_out = "" if name in WEIGHTY else f", or leave it out: --map {name}="
            raise RecordError(
                f"a column that is nearly `{name}`", place=place, got=shorten(column),
                expected=repr(name), hint=f"take it: --map {_pair(name, column)}{way_out}",
            )  # fmt: skip


def _pair(name: str, column: str) -> str:
    return shlex.quote(f"{name}={column}") if len(column) <= HINTED else f"{name}=COLUMN"


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
    passed = [theirs for theirs, ours in mapping.values.get("error", {}).items() if not ours]
    if any(passed):
        notes.append(f"read as no error: {named([*filter(None, passed)])}")
    if mapping.only:
        what = ", ".join(f"{name} {value}" for name, value in mapping.only.items())
        notes.append(f"{rows} of {rows + passed_over} records taken: {what}")
    return tuple(notes)


def named(columns: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    return listed([shorten(name) if name else "(no name)" for name in columns], NAMED)
