"""One condition against another: all outcomes over their pairs, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rolewall.comparing.effects import (
    Claim,
    CountOutcome,
    Outcome,
    count_outcome,
    event_outcome,
)
from rolewall.comparing.outcomes import COUNTS, Asked
from rolewall.comparing.words import contrast_sheet
from rolewall.errors import NotEnoughEvidence
from rolewall.figures import false_approvals_json
from rolewall.pairing import LeftOut, Pair
from rolewall.pooling import FalseApprovals, false_approvals
from rolewall.rows import Row
from rolewall.tally import missing
from rolewall.terminal import Sheet

__all__ = ["Contrast", "Descriptive", "Untested", "contrast_json", "contrast_of"]


@dataclass(frozen=True)
class Descriptive:
    """What describes one condition and supports no claim across conditions.

    ``false_approvals`` is ``None`` where the condition has no verifier, ``distinct_edits``
    where they are not known. ``judged`` episodes have a verifier; ``missing`` are those of
    them that have no verdict.
    """

    condition: str
    false_approvals: FalseApprovals | None
    judged: int
    missing: int
    distinct_edits: int | None
    episodes: int


@dataclass(frozen=True)
class Untested:
    """A primary outcome that is not known in any pair."""

    name: str
    reason: str
    key: str


@dataclass(frozen=True)
class Contrast:
    """``second`` against ``first``, over the pairs that have both. ``frozen``: both judged
    the same candidates, so that rates given a grade may be compared."""

    first: str
    second: str
    pairs: int
    outcomes: tuple[Outcome, ...]
    descriptive: tuple[Descriptive, Descriptive]
    left_out: tuple[LeftOut, ...]
    untested: tuple[Untested, ...] = ()
    secondary: tuple[CountOutcome, ...] = ()
    frozen: bool = False

    @property
    def claims(self) -> list[tuple[Outcome, Claim]]:
        return [(o, c) for o in self.outcomes for c in o.claims]

    def sheet(self) -> Sheet:
        return contrast_sheet(self)


def contrast_of(
    pairs: Sequence[Pair],
    left_out: Sequence[LeftOut],
    names: tuple[str, str],
    asked: Asked,
) -> Contrast:
    """Compare the second of ``names`` with the first. Raises NotEnoughEvidence without a pair."""
    first, second = names
    if not pairs:
        why = left_out[0].reason if left_out else "there are no episodes"
        raise NotEnoughEvidence(
            f"no episode pairs {second} with {first}",
            got=f"{len(left_out)} left out",
            expected="the same task and trial under both, without error",
            hint=f"for instance: {why}",
        )
    found = [(event, event_outcome(event, pairs, asked)) for event in asked.primary]
    counts = [count_outcome(count, pairs) for count in COUNTS]
    return Contrast(
        first=first,
        second=second,
        pairs=len(pairs),
        outcomes=tuple(o for _, o in found if o),
        descriptive=(_describe(first, [a for a, _ in pairs]),
                     _describe(second, [b for _, b in pairs])),
        left_out=tuple(left_out),
        untested=tuple(Untested(e.name, e.unknown, e.key) for e, o in found if o is None),
        secondary=tuple(c for c in counts if c),
        frozen=all(a.candidate for a, _ in pairs),
    )  # fmt: skip


def _describe(condition: str, rows: Sequence[Row]) -> Descriptive:
    judged = [r for r in rows if r.verified]
    edits = [r.edits for r in rows]
    return Descriptive(
        condition=condition,
        false_approvals=false_approvals(judged) if judged else None,
        judged=len(judged),
        missing=sum(map(missing, judged)),
        distinct_edits=None if None in edits else sum(e or 0 for e in edits),
        episodes=len(rows),
    )


def contrast_json(contrast: Contrast) -> dict[str, Any]:
    raw = asdict(contrast)
    raw["outcomes"] = [_outcome_json(o) for o in contrast.outcomes]
    raw["descriptive"] = [
        {
            "condition": d.condition,
            "descriptive": True,
            "episodes": d.episodes,
            "judged": d.judged,
            "missing": d.missing,
            "distinct_edits": d.distinct_edits,
            "false_approvals": (
                false_approvals_json(d.false_approvals) if d.false_approvals else None
            ),
        }
        for d in contrast.descriptive
    ]
    return raw


def _outcome_json(o: Outcome) -> dict[str, Any]:
    return {
        **asdict(o),
        "finding": o.finding,
        "claims": [{**asdict(c), "shown": c.shown} for c in o.claims],
    }
