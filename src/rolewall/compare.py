"""The same tasks under two or more conditions, or in two runs, paired episode by episode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rolewall.comparing import (
    Asked,
    Contrast,
    Descriptive,
    Outcome,
    PlanFile,
    contrast_json,
    contrast_of,
    default_asked,
)
from rolewall.errors import InputError
from rolewall.pairing import LeftOut, pair_runs, pair_up
from rolewall.policies import condition
from rolewall.rows import Row, repeats
from rolewall.stats import holm
from rolewall.terminal import Sheet

__all__ = [
    "Comparison",
    "Contrast",
    "Descriptive",
    "LeftOut",
    "Outcome",
    "compare",
    "compare_runs",
    "parse_conditions",
    "split_conditions",
]


@dataclass(frozen=True)
class Held:
    """A comparison held against its plan; ``deviations`` are in words."""

    plan: PlanFile
    deviations: tuple[str, ...]

    def lines(self) -> list[str]:
        by = ", which the run was begun with" if self.plan.sealed else ""
        head = f"plan {self.plan.name} sha256:{self.plan.digest}{by}"
        if not self.deviations:
            return [f"{head}: no deviation"]
        return [f"{head}: deviations", *(f"  {words}" for words in self.deviations)]

    def json(self) -> dict[str, Any]:
        return {
            "name": self.plan.name,
            "sha256": self.plan.digest,
            "from": "run.json" if self.plan.sealed else "--plan",
            "text": self.plan.text,
            "deviations": list(self.deviations),
        }


@dataclass(frozen=True)
class Comparison:
    contrasts: tuple[Contrast, ...]
    held: Held | None = None

    def sheets(self) -> list[Sheet]:
        return [contrast.sheet() for contrast in self.contrasts]

    def lines(self) -> list[str]:
        """What follows the sheets."""
        return self.held.lines() if self.held else []

    def json(self) -> dict[str, Any]:
        return {
            "contrasts": [contrast_json(c) for c in self.contrasts],
            "plan": self.held.json() if self.held else None,
        }

    def against(self, plan: PlanFile, deviations: Sequence[str]) -> Comparison:
        """The same, held against its plan."""
        return replace(self, held=Held(plan, tuple(deviations)))


def parse_conditions(text: str) -> tuple[str, ...]:
    """Conditions to run and compare, ``C,C…``. Raises InputError unless there are two or
    more, all known, each once."""
    for name in text.split(","):
        condition(name.strip())
    return split_conditions(text)


def split_conditions(text: str) -> tuple[str, ...]:
    """As :func:`parse_conditions`, of records, where any word may be a condition."""
    names = tuple(name.strip() for name in text.split(","))
    _check_distinct(names)
    return names


def _check_distinct(names: Sequence[str]) -> None:
    if len(set(names)) != len(names) or len(names) < 2 or not all(names):
        raise InputError(
            "a comparison needs different conditions",
            place="--conditions",
            got=",".join(names),
            expected="at least two, each once",
        )


def compare(
    rows: Sequence[Row], conditions: Sequence[str], asked: Asked | None = None
) -> Comparison:
    """Compare each further condition with the first, paired on (task, trial).

    Raises InputError unless at least two different conditions are named and every
    record is there once, and NotEnoughEvidence when a condition has no pair with the first.
    """
    _check_distinct(conditions)
    _each_once(rows)
    wanted = asked or default_asked(rows)
    first, *others = conditions
    return _adjusted(
        [contrast_of(*pair_up(rows, first, other), (first, other), wanted) for other in others],
        wanted,
    )


def compare_runs(
    first: Sequence[Row], second: Sequence[Row], names: tuple[str, str], asked: Asked | None = None
) -> Comparison:
    """Compare the rows of two runs of one condition each, of different teams maybe, paired
    on (task, trial). ``names`` are shown in place of conditions. Raises as :func:`compare`."""
    _each_once(first)
    _each_once(second)
    wanted = asked or default_asked([*first, *second])
    return _adjusted([contrast_of(*pair_runs(first, second, names), names, wanted)], wanted)


def _each_once(rows: Sequence[Row]) -> None:
    for words in repeats(rows):
        raise InputError(words, expected="each once")


def _adjusted(contrasts: Sequence[Contrast], asked: Asked) -> Comparison:
    """With Holm's adjustment over all primary tests, and over all claims of a margin.

    What could not be tested stays in its family, as not shown. The adjusted p values by what
    was seen alone tell where missing verdicts are what stands in the way.
    """
    outcomes = [o for c in contrasts for o in c.outcomes]
    lost = [u.key for c in contrasts for u in c.untested]
    claims = [claim for o in outcomes for claim in o.claims]
    without = [1.0 for key in lost for of in (asked.equivalence, asked.not_worse) if key in of]
    tests = _both([o.decisive for o in outcomes], [o.p for o in outcomes], [1.0] * len(lost))
    margins = _both([c.p for c in claims], [c.p_seen for c in claims], without)
    return Comparison(
        tuple(
            replace(c, outcomes=tuple(_with(o, *next(tests), margins) for o in c.outcomes))
            for c in contrasts
        )
    )


def _both(
    decisive: Sequence[float], seen: Sequence[float], lost: Sequence[float]
) -> Iterator[tuple[float, float]]:
    """Each adjusted p value, and what it would be by the verdicts that were given."""
    return zip(holm([*decisive, *lost]), holm([*seen, *lost]), strict=True)


def _with(
    outcome: Outcome, p: float, seen: float, margins: Iterator[tuple[float, float]]
) -> Outcome:
    claims = []
    for claim in outcome.claims:
        adjusted, given = next(margins)
        hidden = claim.p > claim.p_seen and given <= claim.alpha < adjusted
        claims.append(replace(claim, p_holm=adjusted, hidden=hidden))
    hidden = outcome.decisive > outcome.p and seen <= outcome.alpha < p
    return replace(outcome, p_holm=p, hidden=hidden, claims=tuple(claims))
