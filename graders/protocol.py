"""What a grader is: a way to find out, in a box, what is true of the work.

Contract, for every grader:

* It starts nothing outside the box and reads nothing the box wrote before the
  box is gone, so that no process of the work can race it.
* It never raises for what the work did. Work that cannot be judged is a
  ``Finding`` of ``error``; ``grade`` then asks the start state whether the work
  or the grader is at fault.
* A box that breaks raises ``BoxError``: infrastructure, and nobody's grade.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from rolewall.graders.spec import Trust
from rolewall.sandbox import WORKSPACE, Completed

__all__ = [
    "Finding",
    "Grade",
    "GradeTask",
    "Grader",
    "Grading",
    "Places",
    "Runner",
    "Submitted",
]

Grade = Literal["pass", "fail", "error"]


@dataclass(frozen=True)
class GradeTask:
    """What of a task a grader needs.

    Attributes:
        id: the task's name.
        spec: the whole requirements, at ``/spec/spec.md``.
        brief: what the executor was told, at ``/brief/brief.md``.
        files: directory of hidden tests and truth, at ``/grader``, read-only.
        seconds: how long one grading may take.
        image: the grade box's image.
        memory_mb: memory of the grade box, in mebibytes.
        workdir: where the work is besides ``/workspace``, and where commands start.
        env: the environment of the work, wherever it runs.
    """

    id: str
    spec: str
    brief: str
    files: Path
    seconds: float = 300.0
    image: str = "host"
    memory_mb: int = 2048
    workdir: str = WORKSPACE
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Places:
    """Where a grader looks for things in its box, as names of directories in ``/``.

    ``directories`` are made in the results' directory before it runs.
    """

    tests: str = "grader"
    results: str = "reports"
    directories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Submitted:
    """The state under judgement.

    Attributes:
        work: a private copy of the workspace, which the grade box may change.
        submission: directory at ``/submission``, read-only: the verdict's copy and,
            where the grader wants one, the attestation. None is an empty one.
        report: a copy of the executor's report, at ``/report``, read-only; or None.
    """

    work: Path
    submission: Path | None = None
    report: Path | None = None


@dataclass(frozen=True)
class Finding:
    """What one grading of one state found. ``why`` is empty for a pass."""

    grade: Grade
    why: str = ""
    score: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Grading:
    """A grade with its trust class, as it goes into the record.

    ``score`` is the grader's own partial score, if it has one; ``seconds`` is
    wall time, start-state grading included.
    """

    grade: Grade
    trust: Trust
    why: str = ""
    score: float | None = None
    seconds: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)


class Runner(Protocol):
    """The part of a box that graders use."""

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str = "/workspace",
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout: float | None = None,
        output_limit: int = 1 << 20,
    ) -> Completed: ...


class Grader(Protocol):
    """One kind of grader, made from its spec.

    ``run`` is called with a fresh box; ``conclude`` after that box is gone, with
    what ``run`` returned and the reports directory that the box could write.
    """

    trust: Trust
    tools: tuple[str, ...]
    places: Places

    def files(self) -> Mapping[str, bytes]:
        """Read-only files for the box, by path below ``/rolewall``."""
        ...

    def reports(self) -> Mapping[str, str]:
        """Files to put into the empty ``/reports``: name → path below ``/grader``."""
        ...

    def run(self, box: Runner, seconds: float) -> Completed: ...

    def conclude(self, ran: Completed, reports: Path) -> Finding: ...
