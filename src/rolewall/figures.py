"""Rates as text and as JSON: never without their counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from rolewall.clusterrates import Informedness, Rate
from rolewall.pooling import FalseApprovals, Measures
from rolewall.terminal import counted

__all__ = [
    "failures_text",
    "false_approvals_json",
    "informedness_json",
    "informedness_text",
    "limit_text",
    "measures_json",
    "percent",
    "rate_json",
    "rate_text",
    "reading",
]

LEAST = 0.05  # by what episodes count for less that shows


def rate_text(rate: Rate) -> str:
    """``k/n 12.3 % [4.5, 29.1]``, in per cent; ``0/0`` has no rate."""
    text = f"{rate.events}/{rate.total}"
    if rate.rate is None or rate.interval is None:
        return f"{text} -"
    low, high = (percent(bound)[:-1] for bound in (rate.interval.low, rate.interval.high))
    return f"{text} {percent(rate.rate)} [{low}, {high}]"


def percent(fraction: float) -> str:
    """With one decimal; what is next to nought or to all, ``<0.1%`` or ``>99.9%``, does not
    read as either."""
    if 0 < fraction < 0.001:
        return "<0.1%"
    return ">99.9%" if 0.999 < fraction < 1 else f"{fraction:.1%}"


def limit_text(fraction: float) -> str:
    """A limit that somebody set, as he set it: with one decimal, or as many as it has."""
    text = percent(fraction)
    exact = f"{100 * fraction:.9f}".rstrip("0")
    return text if float(exact) == round(100 * fraction, 1) else f"{exact}%"


def reading(rates: Iterable[tuple[str, Rate]], confidence: float = 0.95) -> str:
    """How intervals are to be read, to be said once: ``[ ]: 95 % interval; 12 episodes of 4
    tasks count as 5.1``, the latter of each rate, under the name of what it is of, that has
    trials which repeat one another."""
    told = [
        f"{name}{': ' if name else ''}{counted(rate.total, 'episode')} of"
        f" {counted(rate.tasks, 'task')} count as {rate.effective:.1f}"
        for name, rate in rates
        if rate.total - rate.effective >= LEAST
    ]
    return "; ".join([f"[ ]: {100 * confidence:g} % interval", *told])


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
    return {
        "events": rate.events,
        "total": rate.total,
        "tasks": rate.tasks,
        "effective": rate.effective,
        "interval": asdict(rate.interval) if rate.interval else None,
        "rate": rate.rate,
    }


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
