"""Names of files as text: printable, on one line, and back without loss.

Ledger and manifest write names this way, so that one and the same file has one
and the same name in both.
"""

from __future__ import annotations

import hashlib
import re

__all__ = ["SHORT", "escape", "shorten", "unescape"]

SHORT = 1024
"""Characters of the longest path text that ``shorten`` leaves whole."""

_KEPT = 448  # characters kept of either end; with the mark between them less than SHORT
_ESCAPED = re.compile(r"\\x([0-9a-f]{2})")
_PLAIN = re.compile(rb"[ -\[\]-~]*\Z")  # printable ASCII without the backslash


def escape(name: bytes) -> str:
    """``name`` as printable text, each other byte and each backslash as ``\\xNN``."""
    if _PLAIN.match(name):
        return name.decode("ascii")
    text = name.decode("utf-8", "surrogateescape")
    return "".join(c if c.isprintable() and c != "\\" else _hex(c) for c in text)


def _hex(character: str) -> str:
    raw = character.encode("utf-8", "surrogateescape")
    return "".join(f"\\x{byte:02x}" for byte in raw)


def unescape(text: str) -> bytes:
    """The bytes that ``escape`` was given; ValueError for text it would not have written."""
    name = _ESCAPED.sub(lambda found: chr(0xDC00 + int(found[1], 16)), text)
    raw = b"".join(
        bytes([ord(c) - 0xDC00]) if 0xDC00 <= ord(c) <= 0xDCFF else c.encode("utf-8") for c in name
    )
    if escape(raw) != text:
        raise ValueError("not an escaped name")
    return raw


def shorten(text: str) -> str:
    """``text`` as a ledger holds it: above ``SHORT`` characters its two ends, with its length
    and the start of its SHA-256 between them, so that two texts stay two."""
    if len(text) <= SHORT:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:32]
    return f"{text[:_KEPT]}\\[{len(text)} characters, sha256 {digest}]{text[-_KEPT:]}"
