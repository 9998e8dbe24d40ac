"""One condition against another: all outcomes over their pairs, as a table and as JSON."""

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
from rolewall.errors import NotEnoughEvidence
from rolewall.pairing import LeftOut, Pair
from rolewall.rows import Row
from rolewall.tables import false_approvals_json, rate_text
from rolewall.tally import FalseApprovals, false_approvals
from rolewall.terminal import Sheet, counted

__all__ = ["Contrast", "Descriptive", "Untested", "contrast_json", "contrast_of"]

COLUMNS = ("outcome", "first", "second", "difference", "first only", "second only", "finding",
           "test", "p", "p (Holm)")  # fmt: skip
MOST_NAMED = 20  # of what was left out, in the text; JSON has all


@dataclass(frozen=True)
class Descriptive:
    """What describes one condition and supports no claim across conditions.

    ``false_approvals`` is ``None`` where the condition has no verifier, ``distinct_edits``
    where they are not known.
    """

    condition: str
    false_approvals: FalseApprovals | None
    missing: int
    distinct_edits: int | None
    episodes: int


@dataclass(frozen=True)
class Untested:
    """A primary outcome that is not known in any pair."""

    name: str
    reason: str


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
        return Sheet(
            title=f"{self.second} against {self.first}: {counted(self.pairs, 'pair')}",
            columns=(COLUMNS[0], self.first, self.second, *COLUMNS[3:]),
            rows=tuple(_cells(o) for o in self.outcomes),
            notes=tuple(self._notes()),
            numeric=frozenset({1, 2, 4, 5, 8, 9}),
            empty="no outcome is known in any pair",
            measures=True,
        )

    def _notes(self) -> list[str]:
        lines = ["difference: second minus first in percentage points, with its 95 % interval"]
        lines += [line for o in self.outcomes for line in _about(o)]
        lines += [line for o, c in self.claims for line in [_claim_text(self, o, c)]]
        lines += [_count_text(self, c) for c in self.secondary]
        lines += [f"not tested: {u.name}: {u.reason}" for u in self.untested]
        lines += [_described(d) for d in self.descriptive]
        if self.frozen:
            lines.append("both judged the same frozen work: what differs is judgement")
        elif any(d.false_approvals for d in self.descriptive):
            lines.append(
                "descriptive: given a failing grade, and the conditions change which work fails"
            )
        shown = self.left_out[:MOST_NAMED]
        lines += [f"left out: {x.task} trial {x.trial}: {x.reason}" for x in shown]
        if further := len(self.left_out) - len(shown):
            lines.append(f"left out: {further} more; --json names all")
        return lines


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
        untested=tuple(Untested(e.name, e.unknown) for e, o in found if o is None),
        secondary=tuple(c for c in counts if c),
        frozen=all(a.candidate for a, _ in pairs),
    )  # fmt: skip


def _describe(condition: str, rows: Sequence[Row]) -> Descriptive:
    judged = [r for r in rows if r.verified]
    edits = [r.edits for r in rows]
    return Descriptive(
        condition=condition,
        false_approvals=false_approvals(judged) if judged else None,
        missing=sum(r.verdict == "missing" for r in judged),
        distinct_edits=None if None in edits else sum(e or 0 for e in edits),
        episodes=len(rows),
    )


def _described(d: Descriptive) -> str:
    said = [f"descriptive, {d.condition}: "]
    if d.false_approvals is None:
        said.append("no verifier; ")
    else:
        said.append(
            f"false approvals {rate_text(d.false_approvals.excluded)} of failing work; "
            f"{counted(d.missing, 'missing verdict')}; "
        )
    edits = "not known" if d.distinct_edits is None else str(d.distinct_edits)
    said.append(f"distinct cross-role edits: {edits}, in {counted(d.episodes, 'episode')}")
    return "".join(said)


def _about(o: Outcome) -> list[str]:
    """What the table has no room for."""
    lines = []
    if o.ratio:
        high = "∞" if o.ratio.high is None else f"{o.ratio.high:.2f}"
        lines.append(f"{o.name}: ratio of episodes {o.ratio.ratio:.2f} [{o.ratio.low:.2f}, {high}]")
    if o.effective_pairs < o.pairs:
        lines.append(
            f"{o.name}: {counted(o.pairs, 'pair')} of {counted(o.tasks, 'task')} "
            f"count as {o.effective_pairs:.1f}"
        )
    if o.unknown:
        lines.append(f"{o.name}: not known in {counted(o.unknown, 'pair')}, which are left out")
    return lines


def _claim_text(contrast: Contrast, o: Outcome, c: Claim) -> str:
    if c.kind == "equivalence":
        said = f"within ±{100 * c.margin:g} points"
        words = f"indistinguishable, {said}" if c.shown else f"not shown to be {said}"
    else:
        said = f"worse by {100 * c.margin:g} points or more"
        words = f"{contrast.second} is not {said}" if c.shown else f"may be {said}"
    if c.interval is None:
        return f"{o.name}: {words}: fewer than two tasks"
    low, high = 100 * c.interval.low, 100 * c.interval.high
    level = 100 * (1 - 2 * c.alpha)
    return (
        f"{o.name}: {words} (α = {c.alpha:g}; {level:g} % interval [{low:+.1f}, {high:+.1f}]; "
        f"p = {c.p:.3g}, Holm over all claims {c.p_holm:.3g})"
    )


def _count_text(contrast: Contrast, c: CountOutcome) -> str:
    interval = f" [{c.interval.low:+.2f}, {c.interval.high:+.2f}]" if c.interval else ""
    unknown = f"; not known in {counted(c.unknown, 'pair')}" if c.unknown else ""
    return (
        f"secondary, {c.name} an episode: {contrast.first} {c.first_total / c.pairs:.2f}, "
        f"{contrast.second} {c.second_total / c.pairs:.2f}, difference {c.difference:+.2f}"
        f"{interval}; {c.test}, p = {c.p:.3g}, not adjusted{unknown}"
    )


def _cells(o: Outcome) -> tuple[str, ...]:
    low, high = 100 * o.interval.low, 100 * o.interval.high
    return (
        o.name,
        f"{o.first_events}/{o.pairs}",
        f"{o.second_events}/{o.pairs}",
        f"{100 * o.difference:+.1f} [{low:+.1f}, {high:+.1f}]",
        str(o.first_only),
        str(o.second_only),
        o.finding,
        o.test,
        f"{o.p:.3g}",
        f"{o.p_holm:.3g}",
    )


def contrast_json(contrast: Contrast) -> dict[str, Any]:
    raw = asdict(contrast)
    raw["outcomes"] = [_outcome_json(o) for o in contrast.outcomes]
    raw["descriptive"] = [
        {
            "condition": d.condition,
            "descriptive": True,
            "episodes": d.episodes,
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
