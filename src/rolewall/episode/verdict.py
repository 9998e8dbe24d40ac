"""What a verdict file is worth, when it is collected and whenever it is read again."""

from __future__ import annotations

from rolewall.modeluse import limits_text
from rolewall.record import PhaseUsage
from rolewall.roles import ParsedVerdict, read_verdict

__all__ = ["verdict_in"]


def verdict_in(
    data: bytes | None, nonce: str, outcome: str, usage: PhaseUsage | None = None
) -> ParsedVerdict:
    """The verdict of a phase that left ``data`` (None: no file) and ended as ``outcome``,
    having used ``usage`` of its model."""
    if outcome == "violation":
        return ParsedVerdict("missing", "the phase was ended as a violation")
    if data is None and outcome == "budget" and usage and usage.spent:
        spent = limits_text(usage.spent)
        return ParsedVerdict("missing", f"no verdict was written: its budget was spent, {spent}")
    return read_verdict(data, nonce)
