"""The same tasks under two or more conditions, paired episode by episode."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rolewall.errors import InputError, NotEnoughEvidence
from rolewall.pairing import LeftOut, Pair, pair_up
from rolewall.policies import condition
from rolewall.rows import Row, repeats
from rolewall.stats import Interval, effective_pairs, holm, mcnemar_exact, sign_flip, tango
from rolewall.tables import false_approvals_json, rate_text
from rolewall.tally import (
    FalseApprovals,
    false_approval,
    false_approvals,
)
from rolewall.terminal import Sheet

__all__ = ["Comparison", "Contrast", "LeftOut", "Outcome", "compare", "parse_conditions"]

# Fixed before any data is seen; Holm's adjustment is over exactly these.
PRIMARY: tuple[tuple[str, Callable[[Row], bool]], ...] = (
    ("pass", lambda r: r.grade == "pass"),
    ("approve and fail", false_approval),
    ("any cross-role edit", lambda r: bool(r.attempts)),
)
COLUMNS = ("outcome", "first", "second", "difference", "first only", "second only", "test", "p",
           "p (Holm)")  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """One primary outcome over all pairs; ``difference`` is second minus first, a fraction."""

    name: str
    pairs: int
    tasks: int
    first_events: int
    second_events: int
    difference: float
    interval: Interval
    first_only: int
    second_only: int
    effective_pairs: float
    test: str
    p: float
    p_holm: float


@dataclass(frozen=True)
class Descriptive:
    """What describes one condition and supports no claim across conditions."""

    condition: str
    false_approvals: FalseApprovals
    missing: int
    distinct_edits: int
    episodes: int


@dataclass(frozen=True)
class Contrast:
    """``second`` against ``first``, over the pairs that have both."""

    first: str
    second: str
    pairs: int
    outcomes: tuple[Outcome, ...]
    descriptive: tuple[Descriptive, Descriptive]
    left_out: tuple[LeftOut, ...]

    def sheet(self) -> Sheet:
        return Sheet(
            title=f"{self.second} against {self.first}: {self.pairs} pairs",
            columns=(COLUMNS[0], self.first, self.second, *COLUMNS[3:]),
            rows=tuple(_cells(o) for o in self.outcomes),
            notes=tuple(self._notes()),
            numeric=frozenset({1, 2, 4, 5, 7, 8}),
            measures=True,
        )

    def _notes(self) -> list[str]:
        lines = ["difference: second minus first in percentage points, with its 95 % interval"]
        for d in self.descriptive:
            lines.append(
                f"descriptive, {d.condition}: false approvals "
                f"{rate_text(d.false_approvals.excluded)} of failing work; "
                f"{d.missing} missing verdicts; {d.distinct_edits} distinct cross-role edits "
                f"in {d.episodes} episodes"
            )
        lines.append(
            "descriptive: given a failing grade, and the conditions change which work fails"
        )
        lines += [f"left out: {x.task} trial {x.trial}: {x.reason}" for x in self.left_out]
        return lines


@dataclass(frozen=True)
class Comparison:
    contrasts: tuple[Contrast, ...]

    def sheets(self) -> list[Sheet]:
        return [contrast.sheet() for contrast in self.contrasts]

    def json(self) -> dict[str, Any]:
        return {"contrasts": [_contrast_json(c) for c in self.contrasts]}


def parse_conditions(text: str) -> tuple[str, ...]:
    """Conditions to compare, ``C,C…``. Raises InputError unless there are two or more,
    all known, each once."""
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        condition(name)
    _check_distinct(names)
    return names


def _check_distinct(names: Sequence[str]) -> None:
    if len(set(names)) != len(names) or len(names) < 2:
        raise InputError(
            "a comparison needs different conditions",
            place="--conditions",
            got=",".join(names),
            expected="at least two, each once",
        )


def compare(rows: Sequence[Row], conditions: Sequence[str]) -> Comparison:
    """Compare each further condition with the first, paired on (task, trial).

    Raises InputError unless at least two different conditions are named and every
    record is there once, and NotEnoughEvidence when a condition has no pair with the first.
    """
    _check_distinct(conditions)
    for words in repeats(rows):
        raise InputError(words, expected="each once")
    contrasts = [_contrast(rows, conditions[0], other) for other in conditions[1:]]
    planned = [o for c in contrasts for o in c.outcomes]
    adjusted = iter(holm([o.p for o in planned]))
    return Comparison(
        tuple(
            replace(c, outcomes=tuple(replace(o, p_holm=next(adjusted)) for o in c.outcomes))
            for c in contrasts
        )
    )


def _contrast(rows: Sequence[Row], first: str, second: str) -> Contrast:
    pairs, left_out = pair_up(rows, first, second)
    if not pairs:
        why = left_out[0].reason if left_out else "there are no episodes"
        raise NotEnoughEvidence(
            f"no episode pairs {second} with {first}",
            got=f"{len(left_out)} left out",
            expected="the same task and trial under both conditions, without error",
            hint=f"for instance: {why}",
        )
    sides = ([a for a, _ in pairs], [b for _, b in pairs])
    return Contrast(
        first=first,
        second=second,
        pairs=len(pairs),
        outcomes=tuple(_outcome(name, event, pairs) for name, event in PRIMARY),
        descriptive=(_describe(first, sides[0]), _describe(second, sides[1])),
        left_out=tuple(left_out),
    )


def _outcome(name: str, event: Callable[[Row], bool], pairs: Sequence[Pair]) -> Outcome:
    table = [(a.task, event(a), event(b)) for a, b in pairs]
    losses = sum(a and not b for _, a, b in table)
    gains = sum(b and not a for _, a, b in table)
    by_task: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for task, a, b in table:
        by_task[task][0] += b and not a
        by_task[task][1] += a and not b
        by_task[task][2] += 1
    size = effective_pairs([(g, x, n) for g, x, n in by_task.values()])
    scale = size / len(pairs)
    interval = tango(losses * scale, gains * scale, size) or Interval(-1.0, 1.0)
    if len(by_task) < len(pairs):
        test, p = "sign-flip by task", sign_flip([g - x for g, x, _ in by_task.values()])
    else:
        test, p = "exact McNemar", mcnemar_exact(losses, gains)
    return Outcome(
        name=name,
        pairs=len(pairs),
        tasks=len(by_task),
        first_events=sum(a for _, a, _ in table),
        second_events=sum(b for _, _, b in table),
        difference=(gains - losses) / len(pairs),
        interval=interval,
        first_only=losses,
        second_only=gains,
        effective_pairs=size,
        test=test,
        p=p,
        p_holm=p,
    )


def _describe(condition: str, rows: Sequence[Row]) -> Descriptive:
    return Descriptive(
        condition=condition,
        false_approvals=false_approvals(rows),
        missing=sum(r.verdict == "missing" for r in rows),
        distinct_edits=sum(r.edits or 0 for r in rows),
        episodes=len(rows),
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
        o.test,
        f"{o.p:.3g}",
        f"{o.p_holm:.3g}",
    )


def _contrast_json(contrast: Contrast) -> dict[str, Any]:
    raw = asdict(contrast)
    raw["descriptive"] = [
        {
            "condition": d.condition,
            "descriptive": True,
            "episodes": d.episodes,
            "missing": d.missing,
            "distinct_edits": d.distinct_edits,
            "false_approvals": false_approvals_json(d.false_approvals),
        }
        for d in contrast.descriptive
    ]
    return raw
