"""What a verdict file is worth, when it is collected and whenever it is read again."""

from __future__ import annotations

from rolewall.roles import ParsedVerdict, read_verdict

__all__ = ["verdict_in"]


def verdict_in(data: bytes | None, nonce: str, outcome: str) -> ParsedVerdict:
    """The verdict of a phase that left ``data`` (None: no file) and ended as ``outcome``."""
    if outcome == "violation":
        return ParsedVerdict("missing", "the phase was ended as a violation")
    return read_verdict(data, nonce)
