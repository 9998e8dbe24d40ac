"""Work of known truth that a verifier is shown in a calibration: as records name it."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "CALIBRATE",
    "STYLES",
    "Bad",
    "CalibrationInfo",
    "Candidate",
    "Kind",
    "PlannedCandidate",
    "Style",
    "TaskCandidates",
    "condition_of",
]

Kind = Literal["solution", "untouched", "mutant"]
Bad = Literal["untouched", "mutant"]
Style = Literal["plain", "boastful", "silent"]
STYLES: tuple[Style, ...] = ("plain", "boastful", "silent")
CALIBRATE = "calibrate-"
"""How the conditions of a calibration begin."""
Number = Annotated[int, Field(ge=0, lt=1 << 31)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


def condition_of(style: Style) -> str:
    """The condition under which candidates come with such a report."""
    return f"{CALIBRATE}{style}"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Candidate(_Strict):
    """One candidate as one verifier met it.

    Attributes:
        id: ``solution``, ``untouched``, or the mutant's own.
        fault: a mutant's kind of fault; empty for the others.
        what: a mutant's place and change, on one line.
        sha256: over the files that the candidate lays over the workspace.
        pair: counts the pairs of a task; of each one is failing work, the other the solution.
        bad: the kind of the failing one of its pair, so that a solution tells whose twin it is.
        twin: the trial of the other one of the pair.
        report: the style of the report that came with it.
    """

    id: str
    kind: Kind
    fault: str = ""
    what: str = ""
    sha256: Sha256
    pair: Number
    bad: Bad
    twin: Number
    report: Style

    @model_validator(mode="after")
    def _of_its_pair(self) -> Candidate:
        _hold_kind(self.kind, self.bad)
        return self


class PlannedCandidate(_Strict):
    """A candidate in ``run.json``: ``trial`` is its number among those of its task, which
    says nothing of it. It is shown once under each style of report."""

    task: str
    trial: Number
    id: str
    kind: Kind
    fault: str = ""
    what: str = ""
    path: str = ""
    sha256: Sha256
    pair: Number
    bad: Bad
    twin: Number

    def shown(self, report: Style) -> Candidate:
        fields = self.model_dump(exclude={"task", "trial", "path"})
        return Candidate(**fields, report=report)


class TaskCandidates(_Strict):
    """What became of one task before anything was shown.

    Attributes:
        why: why it is left out altogether; empty where it is not.
        mutants: those that are shown.
        survived: mutants that the grader passes; they may be no faults at all.
        flaky: mutants that it once failed and once passed.
        slow: mutants on which it needs far longer than on the solution.
        unjudged: mutants that it could not judge.
        untouched: whether the untouched workspace is shown: not where the grader passes it.
    """

    task: str
    why: str = ""
    mutants: Number = 0
    survived: Number = 0
    flaky: Number = 0
    slow: Number = 0
    unjudged: Number = 0
    untouched: bool = False


class CalibrationInfo(_Strict):
    """What a calibration was asked for, beside what every run is, and its candidates.

    ``salt`` decides the numbers of trials, the seeds and the order: see ``rolewall.lots``."""

    mutants: Number
    salt: Sha256
    reports: Annotated[tuple[Style, ...], Field(min_length=1)]
    tasks: tuple[TaskCandidates, ...]
    candidates: tuple[PlannedCandidate, ...]

    def find(self, task: str, trial: int) -> PlannedCandidate | None:
        return self._by_trial.get((task, trial))

    @cached_property
    def _by_trial(self) -> dict[tuple[str, int], PlannedCandidate]:
        return {(found.task, found.trial): found for found in self.candidates}

    @model_validator(mode="after")
    def _in_pairs(self) -> CalibrationInfo:
        if len(self._by_trial) != len(self.candidates):
            raise ValueError("two candidates are one trial of a task")
        for one in self.candidates:
            other = self.find(one.task, one.twin)
            if other is None or (other.twin, other.pair) != (one.trial, one.pair):
                raise ValueError(f"candidate {one.trial} of {one.task} has no twin")
            if (one.kind == "solution") == (other.kind == "solution"):
                raise ValueError(f"pair {one.pair} of {one.task} is not one of each kind")
            if one.bad != other.bad:
                raise ValueError(f"pair {one.pair} of {one.task} has two kinds of failing work")
            _hold_kind(one.kind, one.bad)
        return self


def _hold_kind(kind: Kind, bad: Bad) -> None:
    if kind not in ("solution", bad):
        raise ValueError(f"its kind is {kind}, the failing work of its pair {bad}")
