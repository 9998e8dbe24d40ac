"""The result table: one row a condition, from one data object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rolewall.peeks import PeekCounts, count_peeks
from rolewall.record import EpisodeRecord
from rolewall.tally import (
    FalseApprovals,
    Rate,
    accounts,
    distinct_edits,
    edited,
    errored,
    false_approvals,
    landed,
    landed_edits,
    pooled,
    repaired,
    total,
    unfinished_phases,
)
from rolewall.terminal import Sheet, counted

__all__ = [
    "ConditionRow",
    "EditCounts",
    "ResultTable",
    "failures_text",
    "false_approvals_json",
    "percent",
    "rate_json",
    "rate_text",
    "result_table",
]

COLUMNS = (
    "condition", "episodes", "pass", "approve", "false approvals", "missing",
    "edits attempted", "blocked", "landed", "repaired", "errors", "grader", "isolated",
)  # fmt: skip
LEGEND = "attempted, blocked, landed: episodes with at least one (distinct pairs/entries)"
NUMERIC = frozenset({1, 2, 3, 5, 6, 7, 8, 9, 10})


@dataclass(frozen=True)
class EditCounts:
    """Cross-role edits: episodes with at least one, and distinct ones.

    ``distinct`` counts (program, target) pairs tried, ``landed_distinct``
    entries changed. ``incidental`` and ``unattributed`` are calls and changes.
    """

    attempted_episodes: int
    blocked_episodes: int
    landed_episodes: int
    distinct: int
    landed_distinct: int
    incidental: int
    unattributed: int


@dataclass(frozen=True)
class ConditionRow:
    """``episodes`` counts all, ``errors`` among them; the rest is of those without error."""

    condition: str
    episodes: int
    errors: int
    error_kinds: dict[str, int]
    passed: Rate
    approved: int
    missing: int
    counts: dict[str, int]
    false_approvals: FalseApprovals
    edits: EditCounts
    peeks: PeekCounts
    repaired: int
    trust: tuple[str, ...]
    verdict_isolated: bool | None
    phases_failed: dict[str, int]


@dataclass(frozen=True)
class ResultTable:
    team: str
    rows: tuple[ConditionRow, ...]
    planned: int | None = None

    @property
    def episodes(self) -> int:
        return sum(row.episodes for row in self.rows)

    def sheet(self) -> Sheet:
        notes = [LEGEND, *self._missing_notes()] if self.rows else []
        if self.planned is not None and self.planned > self.episodes:
            notes.append(
                f"incomplete: {self.episodes} of {self.planned} planned episodes have a record"
            )
        for row in self.rows:
            kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(row.error_kinds.items()))
            if kinds:
                notes.append(f"errors under {row.condition}: {kinds}")
            if row.peeks.observed:
                notes.append(f"under {row.condition} {row.peeks.text()}")
            if row.phases_failed:
                notes.append(f"under {row.condition} {failures_text(row.phases_failed)}")
        return Sheet(
            title=f"team {self.team}",
            columns=COLUMNS,
            rows=tuple(_cells(row) for row in self.rows),
            notes=tuple(notes),
            numeric=NUMERIC,
            empty="no episode was evaluated: this is not a pass",
            measures=True,
        )

    def _missing_notes(self) -> list[str]:
        return [
            f"false approvals under {row.condition}, missing verdicts excluded "
            f"{rate_text(fa.excluded)}; as reject {rate_text(fa.as_reject)}; "
            f"as verifier failure, of all {rate_text(fa.verifier_failure)}"
            for row in self.rows
            for fa in [row.false_approvals]
        ]

    def json(self) -> dict[str, Any]:
        rows = [_row_json(row) for row in self.rows]
        return {
            "team": self.team,
            "planned": self.planned,
            "episodes": self.episodes,
            "conditions": rows,
        }


def result_table(
    records: Sequence[EpisodeRecord],
    *,
    team: str,
    conditions: Sequence[str] = (),
    planned: int | None = None,
) -> ResultTable:
    """One row for each condition, in the order given, then others by name.

    A condition that was asked for and has no episode is shown with 0.
    """
    named = [*conditions, *sorted({r.condition for r in records} - set(conditions))]
    found = {name: [r for r in records if r.condition == name] for name in named}
    rows = tuple(_row(name, found[name]) for name in named) if records else ()
    return ResultTable(team, rows, planned)


def _row(condition: str, records: Sequence[EpisodeRecord]) -> ConditionRow:
    graded = [r for r in records if not errored(r)]
    errors = Counter(_error_kind(r) for r in records if errored(r))
    return ConditionRow(
        condition=condition,
        episodes=len(records),
        errors=sum(errors.values()),
        error_kinds=dict(errors),
        passed=pooled(accounts(graded), lambda t: t.passed),
        approved=sum(r.verdict == "approve" for r in graded),
        missing=sum(r.verdict == "missing" for r in graded),
        counts=dict(Counter(f"{r.verdict}_{r.grade}" for r in graded)),
        false_approvals=false_approvals(graded),
        edits=_edits(graded),
        peeks=count_peeks(graded),
        repaired=sum(map(repaired, graded)),
        trust=tuple(sorted({r.trust for r in graded})),
        verdict_isolated=all(r.isolated for r in graded) if graded else None,
        phases_failed=unfinished_phases(records),
    )


def _error_kind(record: EpisodeRecord) -> str:
    return record.error.kind if record.error else "grader"


def _edits(records: Sequence[EpisodeRecord]) -> EditCounts:
    return EditCounts(
        attempted_episodes=sum(map(edited, records)),
        blocked_episodes=sum(total([r], "edit_blocked") > 0 for r in records),
        landed_episodes=sum(map(landed, records)),
        distinct=sum(map(distinct_edits, records)),
        landed_distinct=sum(map(landed_edits, records)),
        incidental=total(records, "incidental"),
        unattributed=total(records, "unattributed"),
    )


def rate_text(rate: Rate) -> str:
    """``k/n 12.3 % [4.5, 29.1]``, in per cent; ``0/0`` has no rate."""
    text = f"{rate.events}/{rate.total}"
    if rate.rate is None or rate.interval is None:
        return f"{text} -"
    low, high = (percent(bound)[:-1] for bound in (rate.interval.low, rate.interval.high))
    return f"{text} {percent(rate.rate)} [{low}, {high}]"


def percent(fraction: float) -> str:
    """With one decimal; below one per cent with two figures, so that none reads as nought."""
    return f"{100 * fraction:.2g}%" if 0 < fraction < 0.01 else f"{fraction:.1%}"


def failures_text(outcomes: Mapping[str, int]) -> str:
    """``3 phases failed (2 failed, 1 timeout)``."""
    kinds = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
    return f"{counted(sum(outcomes.values()), 'phase')} failed ({kinds})"


def rate_json(rate: Rate) -> dict[str, Any]:
    return {**asdict(rate), "rate": rate.rate}


def false_approvals_json(rates: FalseApprovals) -> dict[str, Any]:
    return {
        "excluded": rate_json(rates.excluded),
        "as_reject": rate_json(rates.as_reject),
        "as_approval": rate_json(rates.as_approval),
        "verifier_failure": rate_json(rates.verifier_failure),
        "missing_on_failing": rates.missing,
    }


def _cells(row: ConditionRow) -> tuple[str, ...]:
    edits, graded = row.edits, row.episodes - row.errors
    isolated = {True: "yes", False: "no", None: "-"}[row.verdict_isolated]
    return (
        row.condition,
        str(row.episodes),
        f"{row.passed.events}/{graded}",
        f"{row.approved}/{graded}",
        rate_text(row.false_approvals.excluded),
        str(row.missing),
        f"{edits.attempted_episodes} ({edits.distinct})",
        str(edits.blocked_episodes),
        f"{edits.landed_episodes} ({edits.landed_distinct})",
        str(row.repaired),
        str(row.errors),
        ", ".join(row.trust) or "-",
        isolated,
    )


def _row_json(row: ConditionRow) -> dict[str, Any]:
    return {
        **asdict(row),
        "passed": rate_json(row.passed),
        "false_approvals": false_approvals_json(row.false_approvals),
    }
