"""Checking one task's grader: which work is graded next, and what it all amounts to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rolewall.checkgrader.candidate import Candidate, Graded
from rolewall.checkgrader.findings import (
    GraderCheck,
    MutantsFound,
    ShortcutFound,
    StateFound,
    Survivor,
)
from rolewall.checkgrader.planting import planted
from rolewall.checkgrader.saved import grader_digest
from rolewall.checkgrader.shortcuts import SHORTCUTS, Plant
from rolewall.checkgrader.subject import look_at
from rolewall.mutants import Mutant, mutants_of, neutral, read_solution
from rolewall.tasks import Task

__all__ = ["Checking", "Extent"]

SPARE_SECONDS, TIMES = 3.0, 5
PATIENCE = 60.0


@dataclass(frozen=True)
class Extent:
    """How much is looked at: gradings of the same work, and mutants of the solution."""

    repeats: int = 3
    mutants: int = 20
    seed: int = 0


class Checking:
    """The check of one task, in two steps: first the work whose grade is known, then, if that
    holds, shortcuts and mutants. The candidates of one step may be graded in any order.

    Raises:
        TaskError: the task or its solution cannot be read.
    """

    def __init__(self, task: Task, extent: Extent) -> None:
        self.task = task
        self._extent = extent
        self._solution = read_solution(task)
        self._subject = look_at(task, self._solution)
        self._planted = planted(self._subject, self._solution)
        self._mutants: tuple[Mutant, ...] = ()
        self._graded: dict[tuple[str, int], Graded] = {}
        self._waiting = 0
        self._begun = False

    def first(self) -> list[Candidate]:
        """The work whose grade is known."""
        turns = range(self._extent.repeats)
        known = [Candidate("untouched", turn) for turn in turns]
        if self._solution is not None:
            known += [Candidate("solution", turn, self._solution) for turn in turns]
            if (other := neutral(self._solution)) is not None:
                known.append(Candidate("neutral", 0, other))
        self._waiting = len(known)
        return known

    def take(self, candidate: Candidate, graded: Graded) -> list[Candidate]:
        """Take a result; what is to be graded now that it is known."""
        self._graded[candidate.kind, candidate.index] = graded
        self._waiting -= 1
        if self._waiting or self._begun:
            return []
        self._begun = True
        further = [*self._shortcut_candidates(), *self._mutant_candidates()]
        self._waiting = len(further)
        return further

    @property
    def over(self) -> bool:
        return self._begun and not self._waiting

    def _state(self, kind: str) -> StateFound | None:
        repeats = [graded for (of, _), graded in sorted(self._graded.items()) if of == kind]
        return StateFound.of(repeats) if repeats else None

    def _is(self, kind: str, grade: str) -> bool:
        state = self._state(kind)
        return state is not None and state.grade == grade

    def _limit(self, most: float) -> float:
        """Time enough for whoever ends at all."""
        slowest = max(graded.seconds for graded in self._graded.values())
        return min(self.task.seconds, max(most, SPARE_SECONDS + TIMES * slowest))

    def _shortcut_candidates(self) -> list[Candidate]:
        if not self._is("untouched", "fail"):
            return []
        # A grader with a time limit of its own is to meet that one first.
        patience = PATIENCE if self._subject.grader_says("timeout") else 0.0
        return [
            Candidate("shortcut", index, planted.overlay, planted.report,
                      self._limit(patience) if shortcut.hangs else None)
            for index, (shortcut, planted) in enumerate(zip(SHORTCUTS, self._planted, strict=True))
            if isinstance(planted, Plant)
        ]  # fmt: skip

    def _mutant_candidates(self) -> list[Candidate]:
        if self._solution is None or not self._is("solution", "pass"):
            return []
        self._mutants = mutants_of(self.task, seed=self._extent.seed, most=self._extent.mutants)
        limit = self._limit(0.0)
        return [
            Candidate("mutant", index, mutant.over(self._solution), seconds=limit)
            for index, mutant in enumerate(self._mutants)
        ]

    def result(self) -> GraderCheck:
        """What was found; call when it is ``over``."""
        untouched = self._state("untouched")
        assert untouched is not None
        trusts = [graded.trust for graded in self._graded.values() if graded.trust]
        return GraderCheck(
            task=self.task.id,
            digest=self.task.digest,
            grader=grader_digest(self.task),
            trust=trusts[0] if trusts else "",
            untouched=untouched,
            solution=self._state("solution"),
            shortcuts=tuple(_shortcut(i, self._planted, self._graded) for i in _all(SHORTCUTS)),
            mutants=self._mutants_found(),
            neutral=self._state("neutral"),
            broke=tuple(sorted({one.why for one in self._graded.values() if one.broke})),
            seconds=round(sum(graded.seconds for graded in self._graded.values()), 3),
        )

    def _mutants_found(self) -> MutantsFound:
        tried = [
            (self._mutants[index], graded)
            for (kind, index), graded in sorted(self._graded.items())
            if kind == "mutant"
        ]
        return MutantsFound(
            there=len(self._mutants),
            killed=sum(graded.grade == "fail" for _, graded in tried),
            unclear=sum(graded.grade == "error" for _, graded in tried),
            survivors=tuple(
                Survivor(mutant.id, mutant.path, mutant.fault, mutant.what)
                for mutant, graded in tried
                if graded.grade == "pass"
            ),
        )


def _all(things: Sequence[object]) -> range:
    return range(len(things))


def _shortcut(
    index: int, planted: Sequence[Plant | str], graded: dict[tuple[str, int], Graded]
) -> ShortcutFound:
    shortcut, plant = SHORTCUTS[index], planted[index]
    if isinstance(plant, str):
        return ShortcutFound(shortcut.name, shortcut.what, "does not apply", plant)
    found = graded.get(("shortcut", index))
    if found is None:
        why = "the untouched workspace does not fail each time"
        return ShortcutFound(shortcut.name, shortcut.what, "does not apply", why)
    if found.grade == "pass":
        return ShortcutFound(shortcut.name, shortcut.what, "passed")
    if found.grade == "error":
        return ShortcutFound(shortcut.name, shortcut.what, "unclear", found.why)
    if plant.code and not found.ran:
        return ShortcutFound(shortcut.name, shortcut.what, "not run", found.why)
    return ShortcutFound(shortcut.name, shortcut.what, "withstood", found.why)
