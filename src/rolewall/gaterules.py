"""What the gate is asked: limits, and which episodes it may weigh."""

from __future__ import annotations

from dataclasses import dataclass

from rolewall.errors import InputError

__all__ = ["Rules"]


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
        _true_or_false("--require-isolated", self.require_isolated)
        _true_or_false("--allow-partial", self.allow_partial)
        if type(self.max_errors) is not int or self.max_errors < 0:  # True is no number
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


def _true_or_false(place: str, value: object) -> None:
    """No other word: "false" would be true."""
    if not isinstance(value, bool):
        raise InputError("not a yes or no", place=place, got=value, expected="True or False")


def _between(place: str, value: object, low: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low < value < 1.0:
        raise InputError(
            "out of range", place=place, got=value, expected=f"above {low:g} and below 1"
        )
