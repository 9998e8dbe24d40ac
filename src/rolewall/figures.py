"""Rates as text and as JSON: never without their counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rolewall.pooling import FalseApprovals, Informedness, Measures, Rate
from rolewall.terminal import counted

__all__ = [
    "failures_text",
    "false_approvals_json",
    "informedness_json",
    "informedness_text",
    "measures_json",
    "percent",
    "rate_json",
    "rate_text",
]


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


def informedness_text(found: Informedness) -> str:
    """``0.87 [0.61, 0.96]``; ``-`` unless there is failing and passing work."""
    if found.value is None or found.interval is None:
        return "-"
    return f"{found.value:.2f} [{found.interval.low:.2f}, {found.interval.high:.2f}]"


def failures_text(outcomes: Mapping[str, int]) -> str:
    """``3 phases failed (2 failed, 1 timeout)``."""
    kinds = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
    return f"{counted(sum(outcomes.values()), 'phase')} failed ({kinds})"


def rate_json(rate: Rate) -> dict[str, Any]:
    return {**asdict(rate), "rate": rate.rate}


def informedness_json(found: Informedness) -> dict[str, Any]:
    """The two rates that it is the difference of stand beside it."""
    return {
        "value": found.value,
        "interval": asdict(found.interval) if found.interval else None,
        "failing": found.catch.total,
        "passing": found.false_rejection.total,
    }


def measures_json(found: Measures) -> dict[str, Any]:
    rates = {name: rate for name, rate in vars(found).items() if isinstance(rate, Rate)}
    return {
        **{name: rate_json(rate) for name, rate in rates.items()},
        "informedness": informedness_json(found.informedness),
    }


def false_approvals_json(rates: FalseApprovals) -> dict[str, Any]:
    return {
        "excluded": rate_json(rates.excluded),
        "as_reject": rate_json(rates.as_reject),
        "as_approval": rate_json(rates.as_approval),
        "verifier_failure": rate_json(rates.verifier_failure),
        "missing_on_failing": rates.missing,
    }
