"""The result table: one row a condition, from one data object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rolewall.conditionrow import ConditionRow, condition_row, row_json
from rolewall.figures import failures_text, rate_text, reading
from rolewall.frozen import why_apart
from rolewall.record import EpisodeRecord
from rolewall.rolesheet import roles_sheet
from rolewall.tally import errored
from rolewall.terminal import Sheet, counted
from rolewall.tooluse import ToolRow, tool_rows, tools_sheet
from rolewall.verifiersheet import verifier_sheet

__all__ = ["ResultTable", "result_table"]

COLUMNS = (
    "condition", "episodes", "pass", "approve", "false approvals", "missing",
    "edits attempted", "blocked", "landed", "repaired", "errors", "grader", "isolated",
)  # fmt: skip
LEGEND = "attempted, blocked, landed: episodes with at least one (distinct pairs/entries)"
RATES = "false approvals: of verdicts on failing work"
LOOK = "`rolewall show RUN EPISODE` shows its phases; transcripts/ has what agents said"
NUMERIC = frozenset({1, 2, 3, 5, 6, 7, 8, 9, 10})
NAMED = 3


@dataclass(frozen=True)
class ResultTable:
    """``notes`` are further lines below the table; ``tools`` is what roles asked of tools."""

    team: str
    rows: tuple[ConditionRow, ...]
    planned: int | None = None
    notes: tuple[str, ...] = ()
    tools: tuple[ToolRow, ...] = ()

    @property
    def episodes(self) -> int:
        return sum(row.episodes for row in self.rows)

    def sheet(self) -> Sheet:
        notes = [LEGEND] if self.rows else []
        notes += _rates([row for row in self.rows if row.verified])
        if self.planned is not None and self.planned > self.episodes:
            notes.append(
                f"incomplete: {self.episodes} of {self.planned} planned episodes have a record"
            )
        for row in self.rows:
            notes += _notes(row)
        return Sheet(
            title=f"team {self.team}",
            columns=COLUMNS,
            rows=tuple(_cells(row) for row in self.rows),
            notes=(*notes, *self.notes),
            numeric=NUMERIC,
            empty="no episode was evaluated: this is not a pass",
            measures=True,
        )

    def sheets(self, *, full: bool = False) -> list[Sheet]:
        """The table and a line a role below it; ``full`` has the verifier's measures too."""
        if not self.rows:
            return [self.sheet()]
        roles = roles_sheet([(row.condition, row.roles) for row in self.rows])
        verifier = verifier_sheet(self.rows) if full else None
        tools = [tools_sheet(self.tools)] if self.tools else []
        return [self.sheet(), *([verifier] if verifier else []), roles, *tools]

    def json(self) -> dict[str, Any]:
        return {
            "team": self.team,
            "planned": self.planned,
            "episodes": self.episodes,
            "conditions": [row_json(row) for row in self.rows],
            "notes": list(self.notes),
        }

    def roles_json(self) -> dict[str, list[dict[str, Any]]]:
        """Condition → a line for each of its roles."""
        return {row.condition: [asdict(role) for role in row.roles] for row in self.rows}


def result_table(
    records: Sequence[EpisodeRecord],
    *,
    team: str,
    conditions: Sequence[str] = (),
    planned: int | None = None,
    notes: Sequence[str] = (),
) -> ResultTable:
    """One row for each condition, in the order given, then others by name.

    A condition that was asked for and has no episode is shown with 0. Candidates of a
    calibration that are not weighed are in no row: the notes count them.
    """
    weighed = [r for r in records if not _apart(r)]
    apart = Counter(why for r in records if (why := _apart(r)))
    left = [f"not in this table: {counted(n, 'candidate')}: {why}" for why, n in apart.items()]
    if replayed := sum(bool(r.replay_of) for r in weighed):
        of = counted(len(weighed), "episode")
        left.append(f"in {replayed} of {of} a recording answered in place of models or agents")
    planned = planned - apart.total() if planned is not None else None
    records, notes = weighed, [*left, *notes]
    named = [*conditions, *sorted({r.condition for r in records} - set(conditions))]
    found = {name: [r for r in records if r.condition == name] for name in named}
    rows = tuple(condition_row(name, found[name]) for name in named) if records else ()
    return ResultTable(team, rows, planned, tuple(notes), tool_rows(records))


def _rates(rows: Sequence[ConditionRow]) -> Iterator[str]:
    """How the rates are to be read, and what becomes of missing verdicts, where one is."""
    if not rows:
        return
    among = [(_where("failing work", row, rows), row.false_approvals.excluded) for row in rows]
    yield f"{RATES}; {reading(among)}"
    judged = [row for row in rows if row.graded]
    yield from (_treatments(row) for row in judged if row.missing)
    if told := [row for row in judged if not row.missing]:
        wrong = [_where(rate_text(r.false_approvals.verifier_failure), r, rows) for r in told]
        silent = "no verdict is missing" if told == judged else "elsewhere no verdict is missing"
        yield f"{silent}; wrong verdicts, of all: {'; '.join(wrong)}"


def _where(words: str, row: ConditionRow, rows: Sequence[ConditionRow]) -> str:
    return f"{words} under {row.condition}" if len(rows) > 1 else words


def _apart(record: EpisodeRecord) -> str:
    found = record.candidate
    return why_apart(found.kind, found.bad, record.grade) if found and not errored(record) else ""


def _treatments(row: ConditionRow) -> str:
    rates = row.false_approvals
    return (
        f"false approvals under {row.condition}, missing verdicts excluded "
        f"{rate_text(rates.excluded)}; as reject {rate_text(rates.as_reject)}; "
        f"as verifier failure, of all {rate_text(rates.verifier_failure)}"
    )


def _notes(row: ConditionRow) -> Iterator[str]:
    where = f"under {row.condition}"
    yield from _absence(row, where)
    kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(row.error_kinds.items()))
    if kinds:
        yield f"errors {where}: {kinds}"
    if row.peeks.observed:
        yield f"{where} {row.peeks.text()}"
    if row.phases_failed:
        yield f"{where} {failures_text(row.phases_failed)}; {LOOK}"
    if row.corrupt:
        of = counted(row.passed.events, "pass", "passes")
        yield f"{where} a cross-role edit landed in {row.corrupt} of {of}: corrupt successes"
    patterns = [f"{name} {found.yes}" for name, found in row.patterns.items() if found.yes]
    if patterns:
        of = counted(row.graded, "episode")
        yield f"patterns of the verifier {where}, in {of}: {', '.join(patterns)}"
    for shared in row.shared[:NAMED]:
        ran = f" beside {shared.beside}" if shared.beside else ""
        if shared.held:
            ran += f" without the work, held by condition {', '.join(shared.held)}"
        yield f"not isolated: {shared.episode}, the verdict of phase {shared.phase}{ran}"
    if (more := len(row.shared) - NAMED) > 0:
        yield f"not isolated {where}: {counted(more, 'more verdict')}"


def _absence(row: ConditionRow, where: str) -> Iterator[str]:
    """Why a rate cannot be had, where it cannot."""
    of = counted(row.graded, "episode")
    if not row.verified:
        yield f"{where} there is no verifier: nobody was asked for a verdict"
    if row.episodes and not row.graded:
        yield f"{where} every episode ended in error: nothing can be said of roles or verifier"
        return
    if not row.graded or not row.verified:
        return
    if row.missing == row.graded:
        yield f"{where} the verifier gave no verdict in any of {of}"
        return
    found = row.measures["excluded"]
    if not found.catch.total:
        yield f"{where} there is no verdict on failing work: false approvals cannot be known"
    if not found.false_rejection.total:
        yield f"{where} there is no verdict on passing work: false rejections cannot be known"


def _cells(row: ConditionRow) -> tuple[str, ...]:
    edits, judged = row.edits, row.verified
    isolated = {True: "yes", False: "no", None: "-"}[row.verdict_isolated]
    return (
        row.condition,
        str(row.episodes),
        f"{row.passed.events}/{row.graded}",
        f"{row.approved}/{row.graded}" if judged else "-",
        rate_text(row.false_approvals.excluded) if judged else "-",
        str(row.missing) if judged else "-",
        f"{edits.attempted_episodes} ({edits.distinct})",
        str(edits.blocked_episodes),
        f"{edits.landed_episodes} ({edits.landed_distinct})",
        str(row.repaired) if judged else "-",
        str(row.errors),
        ", ".join(row.trust) or "-",
        isolated,
    )
