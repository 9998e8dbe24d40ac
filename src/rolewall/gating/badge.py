"""A decision as a badge, in the JSON that shields.io's endpoint badge reads."""

from __future__ import annotations

from typing import Any

from rolewall.decision import Bound, Decision

__all__ = ["badge"]

COLOURS = {"holds": "brightgreen", "failed": "red", "undecided": "lightgrey", "refused": "orange"}


def badge(decision: Decision) -> dict[str, Any]:
    return {
        "schemaVersion": 1,
        "label": _deciding(decision).name if decision.bounds else "verifier",
        "message": _message(decision),
        "color": COLOURS[decision.status],
        "isError": decision.status == "refused",
    }


def _deciding(decision: Decision) -> Bound:
    """The first bound that has the status of all."""
    return next(bound for bound in decision.bounds if bound.status == decision.status)


def _message(decision: Decision) -> str:
    """The interval, which says more than the rate; in words where nothing may be said.

    The one with missing verdicts as wrong ones, where that is wider.
    """
    if not decision.bounds:
        return decision.status
    bound = _deciding(decision)
    widest = max(bound.seen, bound.feared, key=lambda measure: measure.high - measure.low)
    if widest.value is None:
        return decision.status
    return f"{widest.figure(widest.low)} to {widest.figure(widest.high)}, {decision.status}"
