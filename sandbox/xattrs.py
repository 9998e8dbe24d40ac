"""Extended attributes as a manifest records them."""

from __future__ import annotations

import hashlib
import os

from rolewall.sandbox.names import escape

__all__ = ["Xattrs", "read_xattrs"]

Xattrs = tuple[tuple[str, str], ...]
"""Names with values, sorted; see ``Entry``."""

_SHORT = 64


def read_xattrs(where: str | int) -> Xattrs:
    """Of a path or an open file; an attribute that may not be read is recorded by name."""
    try:
        names = os.listxattr(where)
    except OSError:
        return ()  # this file system or type of entry has none
    return tuple(sorted((escape(os.fsencode(name)), _xattr(where, name)) for name in names))


def _xattr(where: str | int, name: str) -> str:
    try:
        value = os.getxattr(where, name)
    except OSError:
        return "unreadable"
    if len(value) <= _SHORT:
        return f"={escape(value)}"
    return f"sha256:{hashlib.sha256(value).hexdigest()}"
