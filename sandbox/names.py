"""Names of entries: as text, checked, and in order."""

from __future__ import annotations

from rolewall.policies import escape, unescape

__all__ = ["check_relative", "escape", "order", "unescape"]


def check_relative(path: bytes) -> None:
    """ValueError unless ``path`` names something beneath a directory, in plain parts."""
    for part in path.split(b"/"):
        if part in (b"", b".", b"..") or b"\0" in part:
            raise ValueError("not a relative path")


def order(path: bytes) -> list[bytes]:
    """The key by which a directory comes directly before all that it holds."""
    return path.split(b"/") if path else []
