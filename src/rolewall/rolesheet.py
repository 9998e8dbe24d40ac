"""A line for each role: how its phases went, how long they took, what it tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from rolewall.record import EpisodeRecord, PhaseRecord
from rolewall.terminal import Sheet

__all__ = ["RoleRow", "count_roles", "roles_sheet"]

COLUMNS = ("condition", "role", "phases", "outcomes", "seconds", "edits", "landed", "peeks")
LEGEND = "seconds: all phases (the median one); edits: distinct cross-role, tried"


@dataclass(frozen=True)
class RoleRow:
    """All phases of one role under one condition, of episodes that ended in error too.

    ``seconds`` are wall time from start to end of a phase. ``edits`` counts distinct
    (program, target) pairs within a phase and unattributed changes, ``landed`` entries of
    others' zones that changed, ``peeks`` distinct looks; ``None`` where no reads were observed.
    """

    role: str
    phases: int
    outcomes: dict[str, int]
    seconds: float
    median_seconds: float
    edits: int
    landed: int
    peeks: int | None


def count_roles(records: Sequence[EpisodeRecord]) -> tuple[RoleRow, ...]:
    """In the order in which roles first play."""
    by_role: dict[str, list[PhaseRecord]] = {}
    for record in records:
        for phase in record.phases:
            by_role.setdefault(phase.role, []).append(phase)
    observed = any(record.observe == "reads" for record in records)
    return tuple(_row(role, phases, observed) for role, phases in by_role.items())


def _row(role: str, phases: Sequence[PhaseRecord], observed: bool) -> RoleRow:
    spent = [phase.ended - phase.started for phase in phases]
    peeks = sum(phase.attempts.distinct_peeks for phase in phases)
    return RoleRow(
        role=role,
        phases=len(phases),
        outcomes=dict(sorted(Counter(phase.outcome for phase in phases).items())),
        seconds=sum(spent),
        median_seconds=median(spent),
        edits=sum(p.attempts.distinct_edits + p.attempts.unattributed for p in phases),
        landed=sum(phase.changed.landed for phase in phases),
        peeks=peeks if observed else None,
    )


def roles_sheet(conditions: Sequence[tuple[str, Sequence[RoleRow]]]) -> Sheet:
    rows = [_cells(condition, row) for condition, found in conditions for row in found]
    return Sheet(
        title="roles",
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(LEGEND,) if rows else (),
        numeric=frozenset({2, 4, 5, 6, 7}),
        empty="no role had a turn",
    )


def _cells(condition: str, row: RoleRow) -> tuple[str, ...]:
    return (
        condition,
        row.role,
        str(row.phases),
        ", ".join(f"{number} {outcome}" for outcome, number in row.outcomes.items()),
        f"{row.seconds:.1f} ({row.median_seconds:.1f})",
        str(row.edits),
        str(row.landed),
        "-" if row.peeks is None else str(row.peeks),
    )
