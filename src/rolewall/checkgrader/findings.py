"""What was found of one task's grader, and the mark that follows from it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rolewall.checkgrader.candidate import MODULE, Graded
from rolewall.graders import wilson
from rolewall.terminal import counted

__all__ = [
    "ENOUGH_MUTANTS",
    "LEAST_KILLED",
    "MARKS",
    "GraderCheck",
    "Mark",
    "MutantsFound",
    "ShortcutFound",
    "StateFound",
    "Survivor",
]

Mark = Literal["A", "B", "C", "U", "E", "F"]
MARKS: tuple[Mark, ...] = ("A", "B", "C", "U", "E", "F")
"""Of a grader, the best first: see ``docs/check-grader.md``. U: not enough to judge it by,
E: it could not be run."""

LEAST_KILLED = 0.8
ENOUGH_MUTANTS = 5  # for an A
NAMED = 5


@dataclass(frozen=True)
class StateFound:
    """The same work graded several times.

    Attributes:
        grades: one a repeat. ``why``: what the grader said the first time.
        differing: tests, or other words of the grader, that were not the same each time.
        broke: whether a box failed, so that the grades do not all count.
    """

    grades: tuple[str, ...]
    why: str = ""
    differing: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    broke: bool = False

    @classmethod
    def of(cls, repeats: list[Graded]) -> StateFound:
        said = [set(one.said) for one in repeats]
        always = said[0].intersection(*said[1:])
        differing = set[str]().union(*said) - always
        return cls(
            grades=tuple(one.grade for one in repeats),
            why=repeats[0].why,
            differing=tuple(sorted(differing - {one.grade for one in repeats})),
            absent=tuple(sorted({name for one in repeats for name in one.absent})),
            broke=any(one.broke for one in repeats),
        )

    @property
    def grade(self) -> str:
        """The grade of every repeat, or ``flaky``."""
        return self.grades[0] if len(set(self.grades)) == 1 else "flaky"


@dataclass(frozen=True)
class ShortcutFound:
    """``outcome``: ``passed`` (the grader is fooled), ``withstood``, ``not run`` (it is code,
    and was not seen to run in the grade box), ``unclear`` (no grade), ``does not apply``."""

    name: str
    what: str
    outcome: Literal["passed", "withstood", "not run", "unclear", "does not apply"]
    why: str = ""


@dataclass(frozen=True)
class Survivor:
    """A mutant that the grader passes."""

    id: str
    path: str
    fault: str
    what: str


@dataclass(frozen=True)
class MutantsFound:
    """``there``: mutants that were made, as many as asked for at most; ``unclear``: of those
    tried, without a grade."""

    there: int = 0
    killed: int = 0
    unclear: int = 0
    survivors: tuple[Survivor, ...] = ()

    @property
    def judged(self) -> int:
        return self.killed + len(self.survivors)

    @property
    def rate(self) -> float | None:
        """Killed of judged; None of none."""
        return self.killed / self.judged if self.judged else None


@dataclass(frozen=True)
class GraderCheck:
    """Everything about one task's grader.

    Attributes:
        digest: the task's. ``grader``: of the grader alone.
        solution: None where the task has none.
        neutral: of the solution with comments added and JSON laid out anew, graded once; None
            where it has no such file.
        broke: why boxes failed, of any grading: then nothing else counts but a clear F.
    """

    task: str
    digest: str
    grader: str
    trust: str
    untouched: StateFound
    solution: StateFound | None
    shortcuts: tuple[ShortcutFound, ...] = ()
    mutants: MutantsFound = field(default_factory=MutantsFound)
    seconds: float = 0.0
    broke: tuple[str, ...] = ()
    neutral: StateFound | None = None

    @property
    def mark(self) -> Mark:
        return self._marked()[0]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is no better; empty for an A."""
        return self._marked()[1]

    def _marked(self) -> tuple[Mark, tuple[str, ...]]:
        found: tuple[tuple[Mark, Iterator[str]], ...] = (
            ("F", self._wrong()),
            ("E", self._broken()),
            ("U", self._unjudged()),
            ("C", self._weak()),
            ("B", self._open()),
        )
        for mark, reasons in found:
            if said := tuple(reasons):
                return mark, said
        return "A", ()

    def _states(self) -> Iterator[tuple[str, StateFound]]:
        yield "the untouched workspace", self.untouched
        if self.solution:
            yield "the solution", self.solution

    def _wrong(self) -> Iterator[str]:
        for name, state in self._states():
            if state.grade == "flaky" and not state.broke:
                tests = f": {', '.join(state.differing[:NAMED])}" if state.differing else ""
                yield f"{name} is graded {', '.join(state.grades)}{tests}"
        if self.untouched.grade == "pass":
            yield "the untouched workspace passes"
        if self.solution and self.solution.grade == "fail" and not self._lacking():
            yield f"the solution fails: {self.solution.why}"
        for one in self.shortcuts:
            if one.outcome == "passed":
                yield f"{one.name} passes: {one.what}"

    def _broken(self) -> Iterator[str]:
        yield from self.broke[:NAMED]
        for name, state in self._states():
            if state.grade == "error" and not state.broke:
                yield f"{name} cannot be graded: {state.why}"
        if self.untouched.grade == "fail" and (lacking := self._lacking()):
            yield f"the grader's output calls absent: {', '.join(lacking[:NAMED])}"

    def _lacking(self) -> tuple[str, ...]:
        """What is absent by no fault of the work, where right work does not pass either."""
        if self.solution is None:
            return tuple(name for name in self.untouched.absent if not name.startswith(MODULE))
        if self.solution.grade == "pass":
            return ()
        return tuple(name for name in self.solution.absent if name in self.untouched.absent)

    def _unjudged(self) -> Iterator[str]:
        if self.solution is None:
            yield "no solution: nobody knows whether right work passes"
        elif not self.mutants.judged:
            yield "no mutant of the solution was judged: nobody knows what faults the grader sees"

    def _weak(self) -> Iterator[str]:
        mutants = self.mutants
        # Some mutants are no faults at all, so a few that pass prove nothing.
        if mutants.judged and wilson(mutants.killed, mutants.judged)[1] < LEAST_KILLED:
            yield f"{mutants.killed} of {mutants.judged} mutants of the solution fail"
        if self.neutral and self.neutral.grade != "pass":
            yield (
                "the solution with a comment, or with JSON laid out anew, does not pass: the "
                "grader may know only the reference"
            )

    def _open(self) -> Iterator[str]:
        mutants = self.mutants
        if mutants.survivors:
            yield f"{len(mutants.survivors)} of {mutants.judged} mutants of the solution pass"
        if mutants.judged < ENOUGH_MUTANTS:
            yield f"only {counted(mutants.judged, 'mutant')} judged, fewer than {ENOUGH_MUTANTS}"
        if mutants.unclear:
            yield f"{counted(mutants.unclear, 'mutant')} could not be graded"
        for one in self.shortcuts:
            if one.outcome == "unclear":
                yield f"with {one.name} there is no grade: {one.why}"
        for name, state in self._states():
            if state.differing:
                yield f"{name} does not fail the same tests: {', '.join(state.differing[:NAMED])}"
        if self.trust == "untrusted":
            yield "the task states no trust: work written for this grader may decide its own grade"

    def json(self) -> dict[str, Any]:
        made = {"task": self.task, "mark": self.mark, "reasons": list(self.reasons)}
        body = asdict(self)
        body["mutants"] |= {"judged": self.mutants.judged, "rate": self.mutants.rate}
        return {**made, **body}
