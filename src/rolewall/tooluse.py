"""What phases asked of their team's tools, added up, and in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rolewall.record import EpisodeRecord, PhaseTools
from rolewall.terminal import Sheet, counted

__all__ = ["ToolRow", "tool_rows", "tools_line", "tools_sheet"]

COLUMNS = (
    "condition", "role", "calls", "live", "cached", "failed", "refused", "runs", "redundant",
    "ran again",
)  # fmt: skip
LEGEND = (
    "redundant: calls of what had been answered in the episode before, of all calls; "
    "ran again: of these, those for which the tool ran once more"
)


@dataclass(frozen=True)
class ToolRow:
    """All phases of one role under one condition, or of all roles (``role`` ``all``)."""

    condition: str
    role: str
    use: PhaseTools

    @property
    def redundant_rate(self) -> float | None:
        """Calls whose tool and canonical arguments had been answered in the episode before,
        of all calls; None where there were none."""
        return self.use.repeated / self.use.calls if self.use.calls else None

    def json(self) -> dict[str, object]:
        return {
            "condition": self.condition,
            "role": self.role,
            **self.use.model_dump(),
            "redundant_rate": self.redundant_rate,
        }


def tool_rows(records: Iterable[EpisodeRecord]) -> tuple[ToolRow, ...]:
    """A row for each role that may use tools, under each condition, then one for all of them;
    none where no role may."""
    found: dict[str, dict[str, PhaseTools]] = {}
    for record in records:
        for phase in record.phases:
            if phase.tools is not None:
                roles = found.setdefault(record.condition, {})
                roles[phase.role] = _sum([roles.get(phase.role, PhaseTools()), phase.tools])
    rows = []
    for condition, roles in found.items():
        rows += [ToolRow(condition, role, use) for role, use in roles.items()]
        rows.append(ToolRow(condition, "all", _sum(roles.values())))
    return tuple(rows)


def _sum(uses: Iterable[PhaseTools]) -> PhaseTools:
    total = dict.fromkeys(PhaseTools.model_fields, 0)
    for use in uses:
        for name in total:
            total[name] += getattr(use, name)
    return PhaseTools(**total)


def tools_sheet(rows: Iterable[ToolRow]) -> Sheet:
    return Sheet(
        title="tools",
        columns=COLUMNS,
        rows=tuple(_cells(row) for row in rows),
        notes=(LEGEND,),
        numeric=frozenset(range(2, len(COLUMNS))),
        empty="no role may use a tool",
    )


def _cells(row: ToolRow) -> tuple[str, ...]:
    use, rate = row.use, row.redundant_rate
    counts = (use.calls, use.live, use.cached, use.failed, use.refused, use.runs)
    redundant = "-" if rate is None else f"{use.repeated} ({rate:.0%})"
    return (row.condition, row.role, *map(str, counts), redundant, str(use.rerun))


def tools_line(use: PhaseTools) -> str:
    """One phase's in a line."""
    counts = [(getattr(use, name), name) for name in ("live", "cached", "failed", "refused")]
    told = ", ".join(f"{number} {name}" for number, name in counts if number)
    parts = [counted(use.calls, "call") + (f" ({told})" if told else "")]
    if use.repeated:
        parts.append(f"{use.repeated} of what had been answered before, {use.rerun} ran again")
    if use.held:
        parts.append(f"{use.held} of what a condition holds")
    return "; ".join(parts)
