"""What the gate was asked, and what it decided, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from rolewall.errors import InputError
from rolewall.figures import failures_text, false_approvals_json, rate_json, rate_text
from rolewall.stats import Interval
from rolewall.tally import FalseApprovals, Rate
from rolewall.terminal import counted

__all__ = ["Baseline", "Bound", "BoundStatus", "Decision", "Measure", "Rules", "Status"]

BoundStatus = Literal["holds", "failed", "undecided"]
Status = Literal["holds", "failed", "undecided", "refused"]
ONE_KIND = (
    "this bounds false approvals alone; false rejections and what a verifier repairs are not gated"
)


@dataclass(frozen=True)
class Rules:
    """What is asked. Every limit is a fraction strictly between 0 and 1.

    ``max_false_approval`` or ``margin`` is there: how much the false-approval rate may lie
    above a baseline's. The others are further bounds of the same decision.
    """

    max_false_approval: float | None = None
    max_errors: int = 0
    require_isolated: bool = False
    allow_partial: bool = False
    confidence: float = 0.95
    max_false_rejection: float | None = None
    min_informedness: float | None = None
    max_missing: float | None = None
    margin: float | None = None

    def __post_init__(self) -> None:
        if self.max_false_approval is None and self.margin is None:
            raise InputError(
                "nothing bounds the false approvals",
                place="--max-false-approval",
                expected="a rate, or --baseline with --margin",
            )
        for option, limit in self.limits().items():
            _between(option, limit, 0.0)
        _between("confidence", self.confidence, 0.5)
        if not isinstance(self.max_errors, int) or self.max_errors < 0:
            raise InputError(
                "not a number of errors",
                place="--max-errors",
                got=self.max_errors,
                expected="0 or more",
            )

    def limits(self) -> dict[str, float]:
        """Option → limit, of the bounds that were asked for."""
        given = {
            "--max-false-approval": self.max_false_approval,
            "--max-false-rejection": self.max_false_rejection,
            "--min-informedness": self.min_informedness,
            "--max-missing": self.max_missing,
            "--margin": self.margin,
        }
        return {option: limit for option, limit in given.items() if limit is not None}


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
            if no further one is judged wrong; None when it does not wait for more, or no
            number would.
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
        place: the run directory, or file of records.
        bounds: each that was asked for; the worst of them decides. Empty where the episodes
            may not be weighed (``refused``).
        notes: what a reader has to know beside it.
        needed: the number of failing-grade episodes in all that would let
            ``max_false_approval`` hold if no further one is approved or left without a
            verdict; None when that does not wait for more.
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
    repaired: int = 0
    phases_failed: Mapping[str, int] = field(default_factory=dict)
    place: str = ""
    bounds: tuple[Bound, ...] = ()
    notes: tuple[str, ...] = ()
    missing: Rate | None = None
    informedness: Measure | None = None
    baseline: Baseline | None = None

    def lines(self) -> list[str]:
        text = [f"{self.status}: {self.reasons[0]}", *self.reasons[1:]]
        text += [f"note: {note}" for note in self.notes]
        text.append(
            f"condition {self.condition}: {counted(self.episodes, 'episode')},"
            f" {counted(self.errors, 'error')}, {self.absent} planned and absent"
        )
        if self.phases_failed:
            text.append(f"{failures_text(self.phases_failed)}: such agents say little of a team")
        return text + self._numbers()

    def _numbers(self) -> list[str]:
        text: list[str] = []
        if self.numbers:
            text.append("false approvals, given failing work, by treatment of missing verdicts:")
            text.append(f"  excluded             {rate_text(self.numbers.excluded)}")
            text.append(f"  as reject            {rate_text(self.numbers.as_reject)}")
            text.append(f"  as false approval    {rate_text(self.numbers.as_approval)}")
            text.append(f"verifier failure, of all: {rate_text(self.numbers.verifier_failure)}")
        if self.baseline:
            text.append(f"the baseline's false approvals: {rate_text(self.baseline.there)}")
        if self.missing and self.missing.events:
            text.append(f"missing verdicts, of all: {rate_text(self.missing)}")
        if self.false_rejections:
            rejected = rate_text(self.false_rejections)
            text.append(f"false rejections (reject∧pass), given passing work: {rejected}")
            text.append(f"informedness: {_measure_text(self.informedness)}")
            text.append(f"repaired by a verifier: {counted(self.repaired, 'episode')}")
        if self.rules and list(self.rules.limits()) == ["--max-false-approval"] and self.numbers:
            text.append(ONE_KIND)
        return text

    def json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "exit_code": self.exit_code,
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
            "phases_failed": dict(self.phases_failed),
            "baseline": self.baseline.json() if self.baseline else None,
        }


def _rules_json(rules: Rules | None) -> dict[str, Any]:
    names = [item.name for item in fields(Rules)]
    return {name: getattr(rules, name) if rules else None for name in names}


def _measure_text(measure: Measure | None) -> str:
    if measure is None or measure.value is None:
        return "-"
    return f"{measure.value:.2f} [{measure.low:.2f}, {measure.high:.2f}]"


def _between(place: str, value: object, low: float) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not low < value < 1.0:  # type: ignore[operator]
        raise InputError(
            "out of range", place=place, got=value, expected=f"above {low:g} and below 1"
        )
