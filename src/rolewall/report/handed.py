"""What bound the roles, and what they used together: conditions, contracts, tools."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from rolewall.record import EpisodeRecord
from rolewall.report.model import Cell, Section, Table
from rolewall.rundir import Run
from rolewall.tooluse import ToolRow, tool_rows

__all__ = ["handed_section"]

EVENTS = ("opened", "discharged", "refused")
TOOLS = ("calls", "live", "cached", "failed", "refused", "held", "redundant", "of these run again")
REDUNDANT = (
    "Redundant: calls of what had been answered in the episode before, of all calls. Held: calls of"
    " a tool that an open condition forbids, refused where there is a wall."
)


def handed_section(run: Run | None) -> Section | None:
    """None where no episode has any of it."""
    records = run.records if run else ()
    tables = [
        *_conditions(records),
        *_breaches(records),
        *_tools(tool_rows(records)),
    ]
    if not tables:
        return None
    notes = [
        "`rolewall measures RUN` says what each handoff kept, `rolewall blame RUN` where it failed."
    ]
    if any(record.breaches and record.error is None for record in records):
        notes.append(
            "A breach ends an episode where there is a wall; elsewhere it is recorded alone."
        )
    return Section(
        "handed", "What bound the roles, and what did they share?", (), tuple(tables), tuple(notes)
    )


def _conditions(records: Iterable[EpisodeRecord]) -> Iterable[Table]:
    """Events of binding conditions, and what was tried of what open ones forbid."""
    events: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        found = events[record.condition]
        found.update(event.event for event in record.conditions)
        found["blocked"] += sum(phase.attempts.forbidden_blocked for phase in record.phases)
        found["allowed"] += sum(phase.attempts.forbidden_allowed for phase in record.phases)
    told = {name: found for name, found in events.items() if found.total()}
    if told:
        columns = (*EVENTS, "forbidden and blocked", "forbidden and let through")
        lines = tuple(
            (name, tuple(Cell(str(found[word])) for word in (*EVENTS, "blocked", "allowed")))
            for name, found in told.items()
        )
        yield Table("Binding conditions", "condition", columns, lines)


def _breaches(records: Iterable[EpisodeRecord]) -> Iterable[Table]:
    found: dict[tuple[str, str], list[EpisodeRecord]] = defaultdict(list)
    for record in records:
        for kind in sorted({breach.kind for breach in record.breaches}):
            found[record.condition, kind].append(record)
    if found:
        lines = tuple(
            (f"{condition}: {kind}", (Cell(str(len(those))),))
            for (condition, kind), those in found.items()
        )
        yield Table("Contracts broken", "breach", ("episodes",), lines)


def _tools(rows: tuple[ToolRow, ...]) -> Iterable[Table]:
    if rows:
        lines = tuple((f"{row.condition}: {row.role}", _cells(row)) for row in rows)
        yield Table("Tools of the team", "role", TOOLS, lines, (REDUNDANT,))


def _cells(row: ToolRow) -> tuple[Cell, ...]:
    use, rate = row.use, row.redundant_rate
    redundant = "-" if rate is None else f"{use.repeated} ({rate:.0%})"
    counts = (
        use.calls,
        use.live,
        use.cached,
        use.failed,
        use.refused,
        use.held,
        redundant,
        use.rerun,
    )
    return tuple(Cell(str(count)) for count in counts)
