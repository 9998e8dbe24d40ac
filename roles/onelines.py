"""What a role wrote, as lines that a reader can trust the shape of.

A role chooses its words. On a terminal, or in a list with a line for each thing, they must
neither move the cursor nor begin a line of their own.
"""

from __future__ import annotations

import time

__all__ = ["cut_line", "moment", "one_line", "visible"]


def visible(text: str) -> str:
    """``text`` with everything that is not printable, but line ends and tabs, as ``\\xNN``,
    ``\\uNNNN`` or ``\\UNNNNNNNN``."""
    return "".join(c if c in "\n\t" or c.isprintable() else _code(c) for c in text)


def one_line(text: str) -> str:
    """``text`` on one line: line ends as ``\\n``, tabs as ``\\t``, the rest as ``visible``."""
    return visible(text.replace("\n", "\\n").replace("\t", "\\t"))


def cut_line(text: str, most: int) -> str:
    """``one_line`` of at most about ``most`` characters, which says how many are missing."""
    if len(text) <= most:
        return one_line(text)
    return f"{one_line(text[:most])}[... {len(text) - most} characters]"


def moment(seconds: float) -> str:
    """Seconds since the epoch as UTC, ``2026-12-01T03:40:12Z``; as they are beyond a calendar."""
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g}"


def _code(char: str) -> str:
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
