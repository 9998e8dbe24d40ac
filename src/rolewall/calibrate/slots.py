"""Which candidate is which trial of its task: drawn by lot, so that a number says nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from rolewall.calibrate.sifting import NOTHING, Sifted
from rolewall.candidate import Bad, Kind, PlannedCandidate
from rolewall.lots import trials_of
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


def slots_of(sifted: Sifted, *, trials: int, salt: str) -> Iterator[Slot]:
    """Every failing piece of work ``trials`` times, each time with the solution as its twin,
    so that half of what is shown is right."""
    solution = _Work("solution", "solution", sifted.solution)
    pairs = [(kind, bad) for _ in range(trials) for kind, bad in _failing(sifted)]
    shown = [(kind, one) for kind, bad in pairs for one in (bad, solution)]
    numbers = trials_of(salt, sifted.task.id, len(shown))
    for index, ((bad, work), trial) in enumerate(zip(shown, numbers, strict=True)):
        candidate = PlannedCandidate(
            task=sifted.task.id,
            trial=trial,
            id=work.id,
            kind=work.kind,
            fault=work.fault,
            what=_text(work.what),
            path=_text(work.path),
            sha256=digest_of(work.overlay),
            pair=index // 2,
            bad=bad,
            twin=numbers[index ^ 1],
        )
        yield Slot(sifted.task, candidate, work.overlay, sifted.solution.paths)


def _failing(sifted: Sifted) -> Iterator[tuple[Bad, _Work]]:
    for mutant in sifted.mutants:
        work = mutant.over(sifted.solution)
        made = _Work(mutant.id, "mutant", work, mutant.fault, mutant.what, mutant.path)
        yield "mutant", made
    if sifted.info.untouched:
        yield "untouched", _Work("untouched", "untouched", NOTHING)


def _text(path: str) -> str:
    """What holds the name of a file, which need not be text, as text."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def digest_of(overlay: Overlay) -> str:
    """SHA-256 over what an overlay does to a workspace."""
    total = hashlib.sha256(b"candidate 1\n")
    for path, file in sorted(overlay.files.items()):
        mark, content = "x" if file.executable else "-", hashlib.sha256(file.data).hexdigest()
        total.update(f"{mark} {content} {path}\0".encode("utf-8", "surrogateescape"))
    for path in sorted(overlay.deleted):
        total.update(f"deleted {path}\0".encode("utf-8", "surrogateescape"))
    return total.hexdigest()
