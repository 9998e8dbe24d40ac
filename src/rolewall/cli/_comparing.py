"""What ``rolewall compare`` finds in runs and records."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rolewall.cli._compared import Found
from rolewall.errors import InputError, NotEnoughEvidence

if TYPE_CHECKING:
    from rolewall.comparing import Asked, PlanFile
    from rolewall.records import Dataset, RecordMapping
    from rolewall.rows import Row
    from rolewall.rundir import RunInfo
    from rolewall.tables import ResultTable

__all__ = ["Ask", "compare_one", "compare_two", "compared"]

TEAM_CAP = 1 << 20
HEAD = 1 << 14
TEAM = re.compile(rb"""^\s*[{"']*team["']*\s*:""", re.MULTILINE)
# What others are compared with, where nobody says otherwise.
BASELINES = ("prompt-only", "prompt-only-open")


@dataclass(frozen=True)
class Ask:
    plan: PlanFile | None
    equivalence: Mapping[str, float]
    not_worse: Mapping[str, float]
    given: dict[str, Any]
    mapping: RecordMapping | None

    def tests(self, rows: Sequence[Row]) -> Asked:
        """What the plan, or else the command line, asks of these rows."""
        from rolewall.comparing import default_asked

        if self.plan:
            return self.plan.asked()
        return default_asked(rows, self.equivalence, self.not_worse)

    def of_run(self, path: Path, info: RunInfo) -> Ask:
        """With the plan that the run was begun with, where none is given."""
        from rolewall.comparing import sealed_plan

        if self.plan or info.plan is None:
            return self
        if self.equivalence or self.not_worse:
            raise InputError(
                "the plan that the run was begun with fixes the margins", place=str(path),
                got=f"plan {info.plan.name} sha256:{info.plan.sha256}",
                expected="no --equivalence and no --not-worse",
                hint="another plan, by --plan FILE, is a deviation that is named",
            )  # fmt: skip
        return replace(self, plan=sealed_plan(info.plan, f"{path / 'run.json'}: plan"))


def compare_one(path: Path, ask: Ask) -> Found:
    from rolewall.compare import split_conditions

    found = _read(path, ask)
    if found.run:
        ask = ask.of_run(path, found.run.info)
    if ask.given["conditions"] is not None:
        names = split_conditions(ask.given["conditions"])
    elif ask.plan:
        names = ask.plan.content.conditions
    else:
        _refuse_one(found)
        names = tuple(sorted(found.conditions, key=lambda name: name not in BASELINES))
    if strange := [name for name in names if name not in found.conditions and found.rows]:
        raise InputError("no such condition", place=str(path), got=", ".join(strange),
                         expected=f"some of {', '.join(found.conditions)}")  # fmt: skip
    return compared(found, names, ask)


def _refuse_one(found: Dataset) -> None:
    from rolewall.records.maker import UNSTATED

    if not found.rows or len(found.conditions) > 1:
        return
    way = None
    if found.run:
        way = "`rolewall compare TEAM --tasks …` runs several"
    elif found.conditions[0] == UNSTATED:
        way = "--map condition=COLUMN says which column holds it"
    raise InputError(
        "all episodes are of one condition", place=found.place, got=found.conditions[0],
        expected="at least two conditions, or a second RUN or RECORDS to compare with", hint=way,
    )  # fmt: skip


def compared(found: Dataset, names: Sequence[str], ask: Ask) -> Found:
    from rolewall.compare import compare
    from rolewall.comparing import deviations
    from rolewall.indices import indices

    sides = {name: [r for r in found.rows if r.condition == name] for name in names}
    shown = _found(found.head(), sides, found.notes, ask)
    shown.table, shown.indices = _table(found), indices(found.rows)
    try:
        if found.rows:
            shown.comparison = compare(found.rows, names, ask.tests(found.rows))
        else:
            raise NotEnoughEvidence("no episode was evaluated", place=found.place)
    except NotEnoughEvidence as error:
        shown.reason = str(error)
        shown.code = shown.code or error.exit_code
        if ask.plan:
            shown.notes += (f"plan {ask.plan.name} sha256:{ask.plan.digest}: nothing is tested",)
        return shown
    if ask.plan:
        info = found.run.info if found.run else None
        strayed = deviations(ask.plan, found.rows, names, shown.comparison.contrasts, info)
        shown.comparison = shown.comparison.against(ask.plan, strayed)
    return shown


def compare_two(
    first: Path, second: Path, ask: Ask, *, names: tuple[str, str] | None = None
) -> Found:
    """Compare two runs, which ``names`` or else their paths tell apart."""
    from rolewall.compare import compare_runs

    found = [_read(path, ask) for path in (first, second)]
    condition = ask.given["condition"]
    sides = [_side(f, condition) for f in found]
    rows = [row for side in sides for row in side]
    names = names or _names(first, second)
    shown = _found(
        {"runs": [f.head() for f in found]},
        dict(zip(names, sides, strict=True)),
        [*(note for f in found for note in f.notes), *_plans(found), *_arms(found)],
        ask,
    )
    try:
        shown.comparison = compare_runs(sides[0], sides[1], names, ask.tests(rows))
    except NotEnoughEvidence as error:
        shown.reason = str(error)
        shown.code = shown.code or error.exit_code
    return shown


def _plans(found: Sequence[Dataset]) -> list[str]:
    """Which plans two runs were begun with: of one against another they say nothing."""
    plans = [f.run.info.plan if f.run else None for f in found]
    if not any(plans):
        return []
    alike = len({plan.sha256 if plan else "" for plan in plans}) == 1
    head = "both runs were begun with the same plan" if alike else "the plans of the runs differ"
    said = [f"plan {p.name} sha256:{p.sha256}" if p else "no plan" for p in plans]
    return [
        f"{head}; one run against another is not held to a plan",
        *(f"  {f.place}: {words}" for f, words in zip(found, said, strict=True)),
    ]


def _arms(found: Sequence[Dataset]) -> list[str]:
    """Which arms of handoffs two runs were in, where they differ."""
    arms = [f.run.info.handoff if f.run else None for f in found]
    if None in arms or len(set(arms)) == 1:
        return []
    said = (f"{f.place}: {arm}" for f, arm in zip(found, arms, strict=True))
    return [f"the arms of handoffs differ: {', '.join(said)}"]


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
        with path.open("rb") as file:
            if not TEAM.search(file.read(HEAD)):  # to parse a table as YAML takes half a second
                return False
        found = load_yaml(read_capped(path, TEAM_CAP), str(path))
    except (RolewallError, OSError):
        return False
    return isinstance(found, dict) and "team" in found and "roles" in found


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
        notes=grader_notes(info),
    )


def _found(
    head: dict[str, Any], sides: Mapping[str, Sequence[Row]], notes: Sequence[str], ask: Ask
) -> Found:
    """With the exit code, before anything is compared. Errors are said loudly whatever it is:
    an episode that errs takes its partner out of the comparison."""
    from rolewall.tally import errored
    from rolewall.terminal import counted

    errors = {name: sum(map(errored, rows)) for name, rows in sides.items()}
    total, most = sum(errors.values()), ask.given["max_errors"]
    code = 3 if total > most else 0
    lines = [*notes]
    if total:
        each = ", ".join(f"{name} {n} of {len(sides[name])}" for name, n in errors.items())
        lines.append(
            f"{counted(total, 'episode')} ended in error, left out with what they pair with:"
            f" {each}" + (f"; at most {most} may (--max-errors)" if code else "")
        )
    if not any(sides.values()):
        code = 4
    return Found(head, code, notes=tuple(lines), errors=errors)
