"""Names of entries as text: readable, on one line, and back without loss."""

from __future__ import annotations

import re

__all__ = ["check_relative", "escape", "order", "unescape"]

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


def check_relative(path: bytes) -> None:
    """ValueError unless ``path`` names something beneath a directory, in plain parts."""
    for part in path.split(b"/"):
        if part in (b"", b".", b"..") or b"\0" in part:
            raise ValueError("not a relative path")


def order(path: bytes) -> list[bytes]:
    """The key by which a directory comes directly before all that it holds."""
    return path.split(b"/") if path else []
