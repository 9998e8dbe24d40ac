"""What the gate was asked, and what it decided, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rolewall.errors import InputError
from rolewall.tables import failures_text, false_approvals_json, rate_json, rate_text
from rolewall.tally import FalseApprovals, Rate
from rolewall.terminal import counted

__all__ = ["Decision", "Rules", "Status"]

Status = Literal["holds", "failed", "undecided", "refused"]
ONE_KIND = (
    "this bounds false approvals alone; false rejections and what a verifier repairs are not gated"
)


@dataclass(frozen=True)
class Rules:
    """What is asked. ``max_false_approval`` is a fraction strictly between 0 and 1."""

    max_false_approval: float
    max_errors: int = 0
    require_isolated: bool = False
    allow_partial: bool = False
    confidence: float = 0.95

    def __post_init__(self) -> None:
        _between("--max-false-approval", self.max_false_approval, 0.0)
        _between("confidence", self.confidence, 0.5)
        if self.max_errors < 0:
            raise InputError(
                "not a number of errors",
                place="--max-errors",
                got=self.max_errors,
                expected="0 or more",
            )


@dataclass(frozen=True)
class Decision:
    """What was decided, why, and from which numbers.

    ``needed`` is the number of failing-grade episodes in all that would let the
    gate hold if no further one is approved or left without a verdict; ``None``
    when the decision does not wait for more.
    """

    status: Status
    exit_code: int
    condition: str
    rules: Rules
    reasons: tuple[str, ...]
    episodes: int
    errors: int
    absent: int
    numbers: FalseApprovals | None = None
    needed: int | None = None
    false_rejections: Rate | None = None
    repaired: int = 0
    phases_failed: Mapping[str, int] = field(default_factory=dict)

    def lines(self) -> list[str]:
        text = [f"{self.status}: {self.reasons[0]}", *self.reasons[1:]]
        text.append(
            f"condition {self.condition}: {counted(self.episodes, 'episode')},"
            f" {counted(self.errors, 'error')}, {self.absent} planned and absent"
        )
        if self.phases_failed:
            text.append(f"{failures_text(self.phases_failed)}: such agents say little of a team")
        if self.numbers:
            text.append("false approvals, given failing work, by treatment of missing verdicts:")
            text.append(f"  excluded             {rate_text(self.numbers.excluded)}")
            text.append(f"  as reject            {rate_text(self.numbers.as_reject)}")
            text.append(f"  as false approval    {rate_text(self.numbers.as_approval)}")
            text.append(f"verifier failure, of all: {rate_text(self.numbers.verifier_failure)}")
        if self.false_rejections:
            rejected = rate_text(self.false_rejections)
            text.append(f"false rejections (reject∧pass), given passing work: {rejected}")
            text.append(f"repaired by a verifier: {counted(self.repaired, 'episode')}")
            text.append(ONE_KIND)
        return text

    def json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "exit_code": self.exit_code,
            "condition": self.condition,
            "max_false_approval": self.rules.max_false_approval,
            "max_errors": self.rules.max_errors,
            "require_isolated": self.rules.require_isolated,
            "allow_partial": self.rules.allow_partial,
            "confidence": self.rules.confidence,
            "reasons": list(self.reasons),
            "episodes": self.episodes,
            "errors": self.errors,
            "absent": self.absent,
            "false_approvals": false_approvals_json(self.numbers) if self.numbers else None,
            "false_rejections": rate_json(self.false_rejections) if self.false_rejections else None,
            "repaired": self.repaired,
            "phases_failed": dict(self.phases_failed),
            "bounds": "false approvals",
            "needed": self.needed,
        }


def _between(place: str, value: float, low: float) -> None:
    if not low < value < 1.0:
        raise InputError(
            "out of range", place=place, got=value, expected=f"above {low:g} and below 1"
        )
