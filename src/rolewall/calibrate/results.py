"""What a calibration found: how a verifier judged candidates, by report and by kind of fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rolewall.candidate import CalibrationInfo, Candidate, Kind, Style, condition_of
from rolewall.clusterrates import Rate
from rolewall.errors import InputError
from rolewall.figures import measures_json, rate_json
from rolewall.frozen import CHANGED, why_apart
from rolewall.gradernotes import grader_notes
from rolewall.graders import Treatment
from rolewall.pooling import Measures, measures, rate_of
from rolewall.record import EpisodeRecord
from rolewall.rundir import Run
from rolewall.tally import errored, unfinished_phases

__all__ = ["CalibrationTable", "FaultRow", "ReportRow", "Shift", "calibration_table"]

UNTOUCHED: Kind = "untouched"
APART = ("reject", "approve")


@dataclass(frozen=True)
class ReportRow:
    """All that was judged beside one style of report: mutants and the solutions that are
    their twins; the untouched workspace, which shows itself by an empty diff, stands apart.

    Attributes:
        shown: episodes, errors and changed ones too.
        errors: those that infrastructure ended, by kind; ``changed`` those whose grade is
            not what the candidate's was when it was chosen. Neither enters a rate.
        failures: phases whose agent failed or was ended, by outcome.
        measures: by treatment of missing verdicts.
        missing: missing verdicts on mutants and their twins.
        told_apart: pairs of which the mutant was rejected and the solution approved, of
            those of which both can be counted.
        untouched: untouched workspaces rejected, of those shown.
    """

    report: Style
    shown: int
    errors: Mapping[str, int]
    failures: Mapping[str, int]
    changed: int
    missing: int
    measures: Mapping[Treatment, Measures]
    told_apart: Rate
    untouched: Rate

    def json(self) -> dict[str, Any]:
        return {
            "report": self.report,
            "condition": condition_of(self.report),
            "shown": self.shown,
            "errors": dict(self.errors),
            "failures": dict(self.failures),
            "changed": self.changed,
            "missing": self.missing,
            "told_apart": rate_json(self.told_apart),
            "untouched": rate_json(self.untouched),
            "measures": {name: measures_json(found) for name, found in self.measures.items()},
        }


@dataclass(frozen=True)
class FaultRow:
    """One kind of fault: how often it was caught, by style of report. A missing verdict
    catches nothing."""

    fault: str
    caught: Mapping[Style, Rate]

    def json(self) -> dict[str, Any]:
        caught = {style: rate_json(rate) for style, rate in self.caught.items()}
        return {"fault": self.fault, "caught": caught}


@dataclass(frozen=True)
class Shift:
    """What another report changed, candidate by candidate, mutants and their twins: of
    ``pairs`` judged under both, how many verdicts became an approval, and how many ceased to
    be one."""

    first: Style
    second: Style
    pairs: int
    to_approve: int
    from_approve: int

    def json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class CalibrationTable:
    """``info`` tells what was left out before anything was shown, ``notes`` what is known
    of the graders."""

    team: str
    info: CalibrationInfo
    planned: int
    rows: tuple[ReportRow, ...]
    faults: tuple[FaultRow, ...]
    shifts: tuple[Shift, ...]
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> int:
        return sum(row.shown for row in self.rows)

    def json(self) -> dict[str, Any]:
        return {
            "team": self.team,
            "planned": self.planned,
            "shown": self.shown,
            "reports": [row.json() for row in self.rows],
            "faults": [row.json() for row in self.faults],
            "shifts": [shift.json() for shift in self.shifts],
            "tasks": [task.model_dump() for task in self.info.tasks],
        }


@dataclass(frozen=True)
class _Seen:
    """An episode that can be counted, with its candidate."""

    record: EpisodeRecord
    candidate: Candidate

    @property
    def pair(self) -> tuple[str, int]:
        return self.record.task, self.candidate.pair

    @property
    def failing(self) -> bool:
        return self.candidate.kind != "solution"

    @property
    def weighed(self) -> bool:
        """Whether it is in a pair whose failing work does not show itself."""
        return self.candidate.bad != UNTOUCHED


def calibration_table(run: Run) -> CalibrationTable:
    """The table of a calibration.

    Raises:
        InputError: the run is none.
    """
    info = run.info.calibration
    if info is None:
        raise InputError(
            "not a calibration", place=str(run.path), hint="`rolewall calibrate` makes one"
        )
    counted = {style: _counted(run.records, style) for style in info.reports}
    rows = tuple(_row(style, run.records, seen) for style, seen in counted.items())
    first, *others = info.reports
    return CalibrationTable(
        team=run.info.team,
        info=info,
        planned=run.info.planned,
        rows=rows,
        faults=tuple(_faults(counted)),
        shifts=tuple(_shift(first, other, counted) for other in others),
        notes=tuple(grader_notes(run.info)),
    )


def _counted(records: Iterable[EpisodeRecord], style: Style) -> list[_Seen]:
    return [
        _Seen(record, record.candidate)
        for record in records
        if record.candidate
        and record.candidate.report == style
        and not errored(record)
        and not _changed(record)
    ]


def _changed(record: EpisodeRecord) -> bool:
    found = record.candidate
    if found is None or errored(record):
        return False
    return why_apart(found.kind, found.bad, record.grade) == CHANGED


def _row(style: Style, records: Iterable[EpisodeRecord], seen: Sequence[_Seen]) -> ReportRow:
    mine = [record for record in records if record.condition == condition_of(style)]
    judged = [one for one in seen if one.weighed]
    untouched = [one for one in seen if one.candidate.kind == UNTOUCHED]
    return ReportRow(
        report=style,
        shown=len(mine),
        errors=Counter(r.error.kind if r.error else "grader" for r in mine if errored(r)),
        failures=unfinished_phases(mine),
        changed=sum(map(_changed, mine)),
        missing=sum(one.record.verdict == "missing" for one in judged),
        measures=measures([one.record for one in judged]),
        told_apart=_told_apart(judged),
        untouched=_rejected(untouched),
    )


def _rejected(seen: Iterable[_Seen]) -> Rate:
    return rate_of([one.record for one in seen], lambda record: record.verdict == "reject")


def _told_apart(seen: Sequence[_Seen]) -> Rate:
    solutions = {one.pair: one.record for one in seen if not one.failing}
    pairs = [
        (one.record, solutions[one.pair]) for one in seen if one.failing and one.pair in solutions
    ]
    apart = {bad.key for bad, good in pairs if (bad.verdict, good.verdict) == APART}
    return rate_of([bad for bad, _ in pairs], lambda record: record.key in apart)


def _faults(counted: Mapping[Style, Sequence[_Seen]]) -> list[FaultRow]:
    """Kinds of fault by name, then the untouched workspace."""
    every = [one for seen in counted.values() for one in seen if one.failing]
    names = sorted({one.candidate.fault for one in every if one.candidate.fault})
    rows = [_fault(name, counted, _has_fault(name)) for name in names]
    if any(one.candidate.kind == UNTOUCHED for one in every):
        rows.append(_fault(UNTOUCHED, counted, lambda one: one.candidate.kind == UNTOUCHED))
    return rows


def _has_fault(name: str) -> Callable[[_Seen], bool]:
    return lambda one: one.candidate.fault == name


def _fault(
    name: str, counted: Mapping[Style, Sequence[_Seen]], belongs: Callable[[_Seen], bool]
) -> FaultRow:
    return FaultRow(
        name, {style: _rejected(filter(belongs, seen)) for style, seen in counted.items()}
    )


def _shift(first: Style, second: Style, counted: Mapping[Style, Sequence[_Seen]]) -> Shift:
    before, after = (
        {
            (one.record.task, one.record.trial): one.record.verdict == "approve"
            for one in counted[style]
            if one.weighed
        }
        for style in (first, second)
    )
    both = before.keys() & after.keys()
    return Shift(
        first,
        second,
        len(both),
        to_approve=sum(after[key] and not before[key] for key in both),
        from_approve=sum(before[key] and not after[key] for key in both),
    )
