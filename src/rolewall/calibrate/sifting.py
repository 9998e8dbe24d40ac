"""Which work is known to be bad: mutants that the grader is seen to fail, twice.

What the grader passes is discarded and counted, since a verifier is not at fault who
approves it; so is what it fails only sometimes, and what it takes too long over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rolewall.candidate import TaskCandidates
from rolewall.checkgrader.candidate import Bench, Candidate, Graded
from rolewall.errors import BoxError
from rolewall.mutants import Mutant, Overlay, mutants_of, read_solution
from rolewall.sandbox import Backend, BlobStore, make_directory, temporary_directory
from rolewall.tasks import Task
from rolewall.terminal import counted
from rolewall.workers import each

__all__ = ["Sifted", "Sifter", "most_tried"]

LEAST_SECONDS, TIMES_SOLUTION = 10.0, 5.0
NOTHING = Overlay({}, ())


def most_tried(mutants: int) -> int:
    """How many mutants are graded to find ``mutants`` that fail."""
    return 5 * mutants + 10


@dataclass(frozen=True)
class Sifted:
    """One task's candidates; ``info.why`` is set, and there are none, where it is left out."""

    task: Task
    info: TaskCandidates
    solution: Overlay = NOTHING
    mutants: tuple[Mutant, ...] = ()


@dataclass(frozen=True)
class Sifter:
    """Grades candidates as episodes do, before any verifier sees one.

    Attributes:
        images: task → the image of its boxes.
        memory_mb: of a grade box.
        mutants: how many to find a task.
        told: called with a line on each task.
    """

    backend: Backend
    images: Mapping[str, str]
    memory_mb: int
    mutants: int
    seed: int
    told: Callable[[str], None]

    def sift(self, tasks: Sequence[Task], jobs: int) -> list[Sifted]:
        """The candidates of every task, in the order of ``tasks``.

        Raises:
            InfrastructureError: a grade box failed.
            TaskError: the files of a task are not acceptable.
            Interrupted: the user asked to stop.
        """
        with temporary_directory() as scratch:
            store = BlobStore(scratch / "blobs.git")

            def one(numbered: tuple[int, Task]) -> Sifted:
                number, task = numbered
                place = scratch / str(number)
                make_directory(place)
                found = self._one(task, place, store)
                self.told(_words(found.info))
                return found

            self.told(f"grading mutants of {counted(len(tasks), 'solution')}")
            return each(list(enumerate(tasks)), one, jobs=jobs)

    def _one(self, task: Task, place: Path, store: BlobStore) -> Sifted:
        solution = read_solution(task)
        if solution is None:
            return _left_out(task, "it has no solution")
        image = self.images[task.id]
        grades = _Grades(Bench(task, self.backend, place, store, image, self.memory_mb))
        right = [grades.of(solution) for _ in range(2)]
        if wrong := [graded for graded in right if graded.grade != "pass"]:
            return _left_out(task, f"its grader does not pass the solution: {wrong[0].why}")
        longest = max(graded.seconds for graded in right)
        grades.seconds = min(task.seconds, max(LEAST_SECONDS, TIMES_SOLUTION * longest))
        untouched = grades.fails(NOTHING)
        discarded: Counter[str] = Counter()
        mutants = tuple(self._failing(task, solution, grades, discarded))
        info = TaskCandidates(
            task=task.id,
            mutants=len(mutants),
            survived=discarded["survived"],
            flaky=discarded["flaky"],
            slow=discarded["slow"],
            unjudged=discarded["unjudged"],
            untouched=untouched,
        )
        if not mutants and not untouched:
            return _left_out(task, "its grader fails neither the untouched workspace nor a mutant")
        return Sifted(task, info, solution, mutants)

    def _failing(
        self, task: Task, solution: Overlay, grades: _Grades, discarded: Counter[str]
    ) -> Iterator[Mutant]:
        found = 0
        for mutant in mutants_of(task, seed=self.seed, most=most_tried(self.mutants)):
            if found == self.mutants:
                return
            word = grades.word(mutant.over(solution))
            if word == "fails":
                found += 1
                yield mutant
            else:
                discarded[word] += 1


class _Grades:
    """What one task's grader says of work, and how long it may take over it."""

    def __init__(self, bench: Bench) -> None:
        self.seconds: float | None = None
        self._bench = bench
        self._number = 0

    def of(self, work: Overlay) -> Graded:
        self._number += 1
        found = self._bench.grade(Candidate("mutant", self._number, work, seconds=self.seconds))
        if found.broke:
            raise BoxError(found.why)
        return found

    def fails(self, work: Overlay) -> bool:
        return self.word(work) == "fails"

    def word(self, work: Overlay) -> str:
        """``fails``, or for what else it is discarded: a count of ``TaskCandidates``."""
        grades = set()
        for _ in range(2):
            graded = self.of(work)
            if self.seconds is not None and graded.seconds >= self.seconds:
                return "slow"
            grades.add(graded.grade)
            if graded.grade == "pass" and len(grades) == 1:
                return "survived"
        if "error" in grades:
            return "unjudged"
        return "fails" if grades == {"fail"} else "flaky"


def _left_out(task: Task, why: str) -> Sifted:
    return Sifted(task, TaskCandidates(task=task.id, why=why[:400]))


def _words(info: TaskCandidates) -> str:
    if info.why:
        return f"{info.task}: left out: {info.why}"
    numbers = [f"{counted(info.mutants, 'mutant')} that its grader fails"]
    for name in ("survived", "flaky", "slow", "unjudged"):
        if number := getattr(info, name):
            numbers.append(f"{number} {name}")
    return f"{info.task}: {', '.join(numbers)}"
