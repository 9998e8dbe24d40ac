"""A decision as a badge, in the JSON that shields.io's endpoint badge reads."""

from __future__ import annotations

from typing import Any

from rolewall.decision import Decision
from rolewall.figures import percent

__all__ = ["badge"]

COLOURS = {"holds": "brightgreen", "failed": "red", "undecided": "lightgrey", "refused": "orange"}


def badge(decision: Decision) -> dict[str, Any]:
    return {
        "schemaVersion": 1,
        "label": "false approvals",
        "message": _message(decision),
        "color": COLOURS[decision.status],
        "isError": decision.status == "refused",
    }


def _message(decision: Decision) -> str:
    """The interval, which says more than the rate; in words where nothing may be said."""
    rate = decision.numbers.excluded if decision.numbers else None
    if decision.status == "refused" or rate is None or rate.interval is None:
        return decision.status
    bounds = f"{percent(rate.interval.low)} to {percent(rate.interval.high)}"
    return f"{bounds}, {decision.status}"
