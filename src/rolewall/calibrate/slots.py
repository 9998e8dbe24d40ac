"""Which candidate is which trial of its task: shuffled, so that a number says nothing."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass

from rolewall.calibrate.sifting import NOTHING, Sifted
from rolewall.candidate import Kind, PlannedCandidate
from rolewall.mutants import Overlay
from rolewall.tasks import Task

__all__ = ["Slot", "digest_of", "slots_of"]


@dataclass(frozen=True)
class Slot:
    """A planned candidate, its files, and the paths that candidates of its task lay."""

    task: Task
    candidate: PlannedCandidate
    overlay: Overlay
    touched: tuple[str, ...]


@dataclass(frozen=True)
class _Work:
    id: str
    kind: Kind
    overlay: Overlay
    fault: str = ""
    what: str = ""
    path: str = ""


def slots_of(sifted: Sifted, *, trials: int, seed: int) -> Iterator[Slot]:
    """Every failing piece of work ``trials`` times, each time with the solution as its twin,
    so that half of what is shown is right."""
    solution = _Work("solution", "solution", sifted.solution)
    shown = [one for _ in range(trials) for bad in _failing(sifted) for one in (bad, solution)]
    numbers = list(range(len(shown)))
    random.Random(f"{seed} {sifted.task.id} trials").shuffle(numbers)
    for index, (work, trial) in enumerate(zip(shown, numbers, strict=True)):
        candidate = PlannedCandidate(
            task=sifted.task.id,
            trial=trial,
            id=work.id,
            kind=work.kind,
            fault=work.fault,
            what=work.what,
            path=work.path,
            sha256=digest_of(work.overlay),
            pair=index // 2,
            twin=numbers[index ^ 1],
        )
        yield Slot(sifted.task, candidate, work.overlay, sifted.solution.paths)


def _failing(sifted: Sifted) -> Iterator[_Work]:
    for mutant in sifted.mutants:
        work = mutant.over(sifted.solution)
        yield _Work(mutant.id, "mutant", work, mutant.fault, mutant.what, mutant.path)
    if sifted.info.untouched:
        yield _Work("untouched", "untouched", NOTHING)


def digest_of(overlay: Overlay) -> str:
    """SHA-256 over what an overlay does to a workspace."""
    total = hashlib.sha256(b"candidate 1\n")
    for path, file in sorted(overlay.files.items()):
        mark, content = "x" if file.executable else "-", hashlib.sha256(file.data).hexdigest()
        total.update(f"{mark} {content} {path}\0".encode("utf-8", "surrogateescape"))
    for path in sorted(overlay.deleted):
        total.update(f"deleted {path}\0".encode("utf-8", "surrogateescape"))
    return total.hexdigest()
