"""What the episodes of one condition add up to: the row that every table is made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rolewall.clusterrates import Rate
from rolewall.figures import false_approvals_json, measures_json, rate_json
from rolewall.graders import Treatment
from rolewall.patterns import NAMES, found_in
from rolewall.peeks import PeekCounts, count_peeks
from rolewall.policies import HAS_VERIFIER
from rolewall.pooling import FalseApprovals, Measures, false_approvals, measures, passes
from rolewall.record import EpisodeRecord
from rolewall.rolesheet import RoleRow, count_roles
from rolewall.tally import (
    corrupt,
    distinct_edits,
    edited,
    errored,
    landed,
    landed_edits,
    missing,
    repaired,
    total,
    unfinished_phases,
)

__all__ = ["ConditionRow", "EditCounts", "PatternCount", "Shared", "condition_row", "row_json"]


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
class PatternCount:
    """Episodes in which a phase of the verifier has a pattern, none has, and in which
    that could not be told."""

    yes: int
    no: int
    unknown: int


@dataclass(frozen=True)
class Shared:
    """A verdict that was not isolated from the work it judged: where, and what ran there, or
    which conditions kept the work from its verifier."""

    episode: str
    phase: int
    beside: str
    held: tuple[str, ...] = ()


@dataclass(frozen=True)
class ConditionRow:
    """``episodes`` counts all, ``errors`` among them; the rest is of those without error,
    but for ``phases_failed`` and ``roles``. ``verified`` is whether the condition has a
    verifier; without one nothing that is said of verdicts means anything. ``corrupt``
    counts passes in which a cross-role edit landed."""

    condition: str
    episodes: int
    errors: int
    error_kinds: dict[str, int]
    verified: bool
    passed: Rate
    approved: int
    missing: int
    counts: dict[str, int]
    false_approvals: FalseApprovals
    measures: Mapping[Treatment, Measures]
    edits: EditCounts
    corrupt: int
    peeks: PeekCounts
    patterns: Mapping[str, PatternCount]
    repaired: int
    trust: tuple[str, ...]
    verdict_isolated: bool | None
    shared: tuple[Shared, ...]
    phases_failed: dict[str, int]
    roles: tuple[RoleRow, ...]

    @property
    def graded(self) -> int:
        return self.episodes - self.errors


def condition_row(condition: str, records: Sequence[EpisodeRecord]) -> ConditionRow:
    """The row of ``records``, all of one condition."""
    graded = [r for r in records if not errored(r)]
    errors = Counter(_error_kind(r) for r in records if errored(r))
    judged = [r for r in graded if r.verified]
    return ConditionRow(
        condition=condition,
        episodes=len(records),
        errors=sum(errors.values()),
        error_kinds=dict(errors),
        verified=any(r.verified for r in records) if records else HAS_VERIFIER.get(condition, True),
        passed=passes(graded),
        approved=sum(r.verdict == "approve" for r in judged),
        missing=sum(map(missing, judged)),
        counts=dict(Counter(f"{r.verdict}_{r.grade}" for r in judged)),
        false_approvals=false_approvals(judged),
        measures=measures(judged),
        edits=_edits(graded),
        corrupt=sum(map(corrupt, graded)),
        peeks=count_peeks(graded),
        patterns=_patterns(judged),
        repaired=sum(map(repaired, judged)),
        trust=tuple(sorted({r.trust for r in graded})),
        verdict_isolated=all(r.isolated for r in judged) if judged else None,
        shared=tuple(_shared(judged)),
        phases_failed=unfinished_phases(records),
        roles=count_roles(records),
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


def _patterns(records: Sequence[EpisodeRecord]) -> dict[str, PatternCount]:
    found = [found_in(record) for record in records]
    return {
        name: PatternCount(
            *(sum(one[name] is told for one in found) for told in (True, False, None))
        )
        for name in NAMES
    }


def _shared(records: Sequence[EpisodeRecord]) -> list[Shared]:
    return [
        Shared(f"{r.task}:{r.condition}:{r.trial}", row.phase, row.beside, row.held)
        for r in records
        for row in r.verdicts
        if not row.isolated
    ]


def row_json(row: ConditionRow) -> dict[str, Any]:
    """Without ``roles``, which tell the time: a run that is taken up again, or made again
    with a seed, is to have the same table."""
    return {
        **{name: value for name, value in asdict(row).items() if name != "roles"},
        "passed": rate_json(row.passed),
        "false_approvals": false_approvals_json(row.false_approvals),
        "measures": {name: measures_json(found) for name, found in row.measures.items()},
    }
