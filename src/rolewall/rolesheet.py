"""A line for each role: how its phases went, how long they took, what it tried."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from rolewall.modeluse import dollars, limit_text, model_totals, tokens_text
from rolewall.record import EpisodeRecord, PhaseRecord
from rolewall.terminal import Sheet, counted

__all__ = ["RoleRow", "count_roles", "roles_sheet"]

COLUMNS = ("condition", "role", "phases", "outcomes", "seconds", "edits", "landed", "peeks")
MODEL_COLUMNS = ("calls", "tokens", "cost")  # where any role may call a model
LEGEND = "seconds: all phases (the median one); edits: distinct cross-role, tried"
MODEL_LEGEND = "calls, tokens, cost: of models, by their endpoints' count and the team's prices"


@dataclass(frozen=True)
class BudgetRow:
    """A limit of a role's budget that was used up in so many ``phases``; ``spent`` is of the
    one that took the most of it."""

    name: str
    limit: float
    spent: float
    phases: int

    @property
    def text(self) -> str:
        most = "at most " if self.phases > 1 and self.spent > self.limit else ""
        spent = limit_text(self.name, self.spent, self.limit)
        return f"{most}{spent}, in {counted(self.phases, 'phase')}"


@dataclass(frozen=True)
class RoleRow:
    """All phases of one role under one condition, of episodes that ended in error too.

    ``seconds`` are wall time from start to end of a phase. ``edits`` counts distinct
    (program, target) pairs within a phase and unattributed changes, ``landed`` entries of
    others' zones that changed, ``peeks`` distinct looks; ``None`` where no reads were observed.
    ``calls``, ``tokens`` and ``usd`` are of models: ``None`` where it has none, or where nobody
    told; ``uncounted`` answers are not in ``tokens``. ``budgets`` are limits that were used up.
    """

    role: str
    phases: int
    outcomes: dict[str, int]
    seconds: float
    median_seconds: float
    edits: int
    landed: int
    peeks: int | None
    calls: int | None = None
    tokens: int | None = None
    uncounted: int = 0
    usd: float | None = None
    budgets: tuple[BudgetRow, ...] = ()


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
    used = model_totals(phases)
    return RoleRow(
        role=role,
        phases=len(phases),
        outcomes=dict(sorted(Counter(phase.outcome for phase in phases).items())),
        seconds=sum(spent),
        median_seconds=median(spent),
        edits=sum(p.attempts.distinct_edits + p.attempts.unattributed for p in phases),
        landed=sum(phase.changed.landed for phase in phases),
        peeks=peeks if observed else None,
        calls=used.calls if used else None,
        tokens=used.tokens if used else None,
        uncounted=used.uncounted if used else 0,
        usd=used.usd if used else None,
        budgets=tuple(_budgets(phases)),
    )


def _budgets(phases: Sequence[PhaseRecord]) -> Iterator[BudgetRow]:
    found: dict[tuple[str, float], list[float]] = defaultdict(list)
    for phase in phases:
        for one in phase.usage.spent if phase.usage else ():
            found[one.name, one.limit].append(one.spent)
    for (name, limit), spent in found.items():
        yield BudgetRow(name, limit, max(spent), len(spent))


def roles_sheet(conditions: Sequence[tuple[str, Sequence[RoleRow]]]) -> Sheet:
    modelled = any(row.calls is not None for _, found in conditions for row in found)
    rows = [
        _cells(condition, row) + (_model_cells(row) if modelled else ())
        for condition, found in conditions
        for row in found
    ]
    legends = (LEGEND, MODEL_LEGEND) if modelled else (LEGEND,)
    spent = [
        f"budget spent: {row.role}, {condition}: {one.text}"
        for condition, found in conditions
        for row in found
        for one in row.budgets
    ]
    return Sheet(
        title="roles",
        columns=(*COLUMNS, *MODEL_COLUMNS) if modelled else COLUMNS,
        rows=tuple(rows),
        notes=(*legends, *spent) if rows else (),
        numeric=frozenset({2, 4, 5, 6, 7, 8, 9, 10}),
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


def _model_cells(row: RoleRow) -> tuple[str, ...]:
    calls = "-" if row.calls is None else str(row.calls)
    return calls, tokens_text(row.tokens, row.uncounted), dollars(row.usd)
