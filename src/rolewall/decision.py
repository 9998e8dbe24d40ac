"""What the gate was asked, and what it decided, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from rolewall.clusterrates import Rate
from rolewall.figures import (
    failures_text,
    false_approvals_json,
    percent,
    rate_json,
    rate_text,
    reading,
)
from rolewall.gaterules import Rules
from rolewall.pooling import FalseApprovals
from rolewall.stats import Interval
from rolewall.terminal import counted

__all__ = ["Baseline", "Bound", "BoundStatus", "Decision", "Measure", "Status"]

BoundStatus = Literal["holds", "failed", "undecided"]
Status = Literal["holds", "failed", "undecided", "refused"]
ONE_KIND = (
    "this bounds false approvals alone; false rejections and what a verifier repairs are not gated"
)


@dataclass(frozen=True)
class Measure:
    """A rate, or a difference of two, with its interval; None where nothing was seen.

    ``anywhere`` is the interval that takes the place of none.
    """

    value: float | None
    interval: Interval | None
    anywhere: Interval

    @property
    def low(self) -> float:
        return (self.interval or self.anywhere).low

    @property
    def high(self) -> float:
        return (self.interval or self.anywhere).high

    def figure(self, value: float) -> str:
        """A value of it as text: a rate in per cent, a difference with its sign."""
        return percent(value) if self.anywhere.low == 0 else f"{value:+.2f}"

    def json(self) -> dict[str, Any]:
        return {"value": self.value, "interval": asdict(self.interval) if self.interval else None}


@dataclass(frozen=True)
class Bound:
    """One bound that was asked for, and what became of it.

    Attributes:
        limit: as a fraction.
        seen: what it bounds, missing verdicts excluded.
        feared: the same with every missing verdict counted as a wrong one.
        needed: how many episodes in all, of the work that it is a rate of, would let it hold
            if each further one is of another task and none is judged wrong; None when it
            does not wait for more, or no number would.
    """

    name: str
    limit: float
    status: BoundStatus
    reasons: tuple[str, ...]
    seen: Measure
    feared: Measure
    needed: int | None = None

    def json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "limit": self.limit,
            "status": self.status,
            "reasons": list(self.reasons),
            "seen": self.seen.json(),
            "feared": self.feared.json(),
            "needed": self.needed,
        }


@dataclass(frozen=True)
class Baseline:
    """What a run was held against.

    Attributes:
        pairing: ``paired`` on the same frozen candidates, or ``unpaired``: each on its own
            failing work.
        pairs: pairs on failing work, where there are any.
        here: the false-approval rate of what was gated, of the episodes that are held against
            the baseline; ``there`` is the baseline's.
    """

    place: str
    pairing: Literal["paired", "unpaired"]
    pairs: int
    here: Rate
    there: Rate

    def json(self) -> dict[str, Any]:
        return {
            "place": self.place,
            "pairing": self.pairing,
            "pairs": self.pairs,
            "here": rate_json(self.here),
            "there": rate_json(self.there),
        }


@dataclass(frozen=True)
class Decision:
    """What was decided, why, and from which numbers.

    Attributes:
        place: the run directory, or file of records; of a run ``run`` is the same, and
            ``seal`` the SHA-256 of its ``seal.json``, where it has one.
        bounds: each that was asked for; the worst of them decides. Empty where the episodes
            may not be weighed (``refused``).
        notes: what a reader has to know beside it.
        repaired: episodes whose work the verifier repaired, and ``phases_failed`` outcomes of
            phases whose agent failed or was ended; None where the records do not state it.
        needed: the number of failing-grade episodes in all that would let
            ``max_false_approval`` hold if each further one is of another task and none is
            approved or left without a verdict; None when that does not wait for more.
    """

    status: Status
    exit_code: int
    condition: str
    rules: Rules | None
    reasons: tuple[str, ...]
    episodes: int = 0
    errors: int = 0
    absent: int = 0
    numbers: FalseApprovals | None = None
    needed: int | None = None
    false_rejections: Rate | None = None
    repaired: int | None = 0
    phases_failed: Mapping[str, int] | None = field(default_factory=dict)
    place: str = ""
    bounds: tuple[Bound, ...] = ()
    notes: tuple[str, ...] = ()
    missing: Rate | None = None
    informedness: Measure | None = None
    baseline: Baseline | None = None
    run: str | None = None
    seal: str | None = None

    def __bool__(self) -> bool:
        """Whether it holds, so that ``assert decide(…)`` asserts what it seems to."""
        return self.status == "holds"

    def lines(self) -> list[str]:
        text = [f"{self.status}: {self.reasons[0]}", *self.reasons[1:]]
        text += [f"note: {note}" for note in self.notes]
        if self.rules is None:
            return text
        text.append(
            f"condition {self.condition}: {counted(self.episodes, 'episode')},"
            f" {counted(self.errors, 'error')}, {self.absent} planned and absent"
        )
        if self.phases_failed:
            text.append(f"{failures_text(self.phases_failed)}: such agents say little of a team")
        return [*text, *self._numbers(), *self.unstated()]

    def unstated(self) -> list[str]:
        """What the records do not say, in words."""
        told = {"repaired by a verifier": self.repaired, "failed phases": self.phases_failed}
        return [f"{name}: not stated" for name, value in told.items() if value is None]

    def reading(self) -> str:
        """How the intervals are to be read; empty where there is none."""
        if self.rules is None or self.numbers is None:
            return ""
        rates = [("failing work", self.numbers.as_approval)]
        rates += [("passing work", self.false_rejections)] if self.false_rejections else []
        return reading(rates, self.rules.confidence)

    def _numbers(self) -> list[str]:
        text: list[str] = []
        if self.numbers:
            text += _false_approvals(self.numbers)
            text.append(f"verifier failure, of all: {rate_text(self.numbers.verifier_failure)}")
        if self.baseline:
            text.append(f"the baseline's false approvals: {rate_text(self.baseline.there)}")
        if self.missing and self.missing.total:
            silent = f"missing verdicts, of all: {rate_text(self.missing)}"
            text.append(silent if self.missing.events else "no verdict is missing")
        if self.false_rejections:
            rejected = rate_text(self.false_rejections)
            text.append(f"false rejections (reject∧pass), given passing work: {rejected}")
            text.append(f"informedness: {_measure_text(self.informedness)}")
            if self.repaired is not None:
                text.append(f"repaired by a verifier: {counted(self.repaired, 'episode')}")
            text.append(self.reading())
        if self.rules and list(self.rules.limits()) == ["--max-false-approval"] and self.numbers:
            text.append(ONE_KIND)
        return text

    def json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "exit_code": self.exit_code,
            "run": self.run,
            "seal": self.seal,
            "place": self.place,
            "condition": self.condition,
            **_rules_json(self.rules),
            "reasons": list(self.reasons),
            "notes": list(self.notes),
            "episodes": self.episodes,
            "errors": self.errors,
            "absent": self.absent,
            "bounds": [bound.json() for bound in self.bounds],
            "needed": self.needed,
            "false_approvals": false_approvals_json(self.numbers) if self.numbers else None,
            "false_rejections": rate_json(self.false_rejections) if self.false_rejections else None,
            "informedness": self.informedness.json() if self.informedness else None,
            "missing": rate_json(self.missing) if self.missing else None,
            "repaired": self.repaired,
            "phases_failed": None if self.phases_failed is None else dict(self.phases_failed),
            "baseline": self.baseline.json() if self.baseline else None,
        }


def _rules_json(rules: Rules | None) -> dict[str, Any]:
    names = [item.name for item in fields(Rules)]
    return {name: getattr(rules, name) if rules else None for name in names}


def _false_approvals(rates: FalseApprovals) -> list[str]:
    """By each treatment of missing verdicts, where one is missing on failing work."""
    if not rates.missing:
        return [f"false approvals, given failing work: {rate_text(rates.excluded)}"]
    return [
        "false approvals, given failing work, by treatment of missing verdicts:",
        f"  excluded             {rate_text(rates.excluded)}",
        f"  as reject            {rate_text(rates.as_reject)}",
        f"  as false approval    {rate_text(rates.as_approval)}",
    ]


def _measure_text(measure: Measure | None) -> str:
    if measure is None or measure.value is None:
        return "-"
    return f"{measure.value:.2f} [{measure.low:.2f}, {measure.high:.2f}]"
