"""What phases took of their models, added up, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rolewall.record import PhaseRecord, PhaseUsage, SpentLimit
from rolewall.terminal import counted

__all__ = [
    "ModelTotals",
    "dollars",
    "limit_text",
    "limits_text",
    "model_totals",
    "tokens_text",
    "usage_text",
]


@dataclass(frozen=True)
class ModelTotals:
    """All phases of one role together. What nobody told is ``None``; ``uncounted`` answers
    are not in the sums of tokens, which are then too small."""

    calls: int
    refused: int
    failed: int
    input: int | None
    cached: int | None
    output: int | None
    uncounted: int
    usd: float | None
    seconds: float

    @property
    def tokens(self) -> int | None:
        if self.input is None and self.output is None:
            return None
        return (self.input or 0) + (self.output or 0)


def model_totals(phases: Sequence[PhaseRecord]) -> ModelTotals | None:
    """None where no phase had a way to a model."""
    found = [phase.usage for phase in phases if phase.usage is not None]
    if not found:
        return None
    paid = [usage.usd for usage in found if _answered(usage)]
    return ModelTotals(
        calls=sum(usage.calls for usage in found),
        refused=sum(usage.refused for usage in found),
        failed=sum(usage.failed for usage in found),
        input=_sum([usage.input for usage in found]),
        cached=_sum([usage.cached for usage in found]),
        output=_sum([usage.output for usage in found]),
        uncounted=sum(usage.uncounted for usage in found),
        usd=None if not paid or None in paid else sum(filter(None, paid)),
        seconds=sum(usage.seconds for usage in found),
    )


def _answered(usage: PhaseUsage) -> bool:
    return usage.uncounted > 0 or usage.input is not None or usage.output is not None


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def dollars(usd: float | None) -> str:
    """``$0.0123``; ``-`` for what is not known."""
    if usd is None:
        return "-"
    return f"${usd:.2f}" if usd >= 1 else f"${usd:.4f}"


def tokens_text(tokens: int | None, uncounted: int) -> str:
    """``≥`` where some were not counted, ``-`` where none was."""
    if tokens is None:
        return "-"
    return f"{'≥' if uncounted else ''}{tokens}"


def usage_text(usage: PhaseUsage) -> str:
    """One phase's in a line."""
    of = f" of {', '.join(usage.models)}" if usage.models else ""
    parts = [counted(usage.calls, "call") + of]
    if usage.input is not None or usage.output is not None:
        cached = f" ({usage.cached} cached)" if usage.cached is not None else ""
        parts.append(f"{_known(usage.input)} tokens in{cached}")
        parts.append(f"{_known(usage.output)} out")
    if usage.usd is not None:
        parts.append(dollars(usage.usd))
    told = (
        (usage.uncounted, "answers whose tokens nobody told"),
        (usage.failed, "failed"),
        (usage.refused, "refused"),
        (usage.drifted, "drifted from the recording"),
    )
    parts += [f"{number} {words}" for number, words in told if number]
    parts += [f"budget spent{_of_what(usage)}"] if usage.over_budget else []
    parts += ["replayed"] if usage.replayed else []
    return f"{', '.join(parts)}; {usage.seconds:.1f} s"


def _of_what(usage: PhaseUsage) -> str:
    return f" ({limits_text(usage.spent)} in this episode)" if usage.spent else ""


def limits_text(spent: Sequence[SpentLimit]) -> str:
    """``60 of 60 calls and $1.02 of $1.00``."""
    return " and ".join(limit_text(one.name, one.spent, one.limit) for one in spent)


def limit_text(name: str, spent: float, limit: float) -> str:
    if name == "usd":
        return f"{dollars(spent)} of {dollars(limit)}"
    if name == "seconds":
        return f"{spent:.1f} of {limit:g} seconds"
    return f"{spent} of {limit} {name}"


def _known(tokens: int | None) -> str:
    return "unknown" if tokens is None else str(tokens)
