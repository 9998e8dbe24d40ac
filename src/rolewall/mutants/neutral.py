"""The solution written a little differently: what may not change what a grader says of it."""

from __future__ import annotations

import json
from pathlib import PurePosixPath

from rolewall.mutants import config, python
from rolewall.mutants.overlay import Overlay, OverlayFile

__all__ = ["neutral"]

_MAX_BYTES = 128 << 10
_COMMENTS = {
    ".py": "#", ".pyi": "#", ".yaml": "#", ".yml": "#", ".toml": "#", ".ini": "#", ".cfg": "#",
    ".sh": "#", ".bash": "#", ".sql": "--",
}  # fmt: skip


def neutral(solution: Overlay) -> Overlay | None:
    """``solution`` with a comment at the end of each file of a language that has comments, and
    with JSON laid out anew; None where it has no such file."""
    files = dict(solution.files)
    for path, file in solution.files.items():
        if (data := _rewritten(path, file.data)) is not None:
            files[path] = OverlayFile(data, file.executable)
    return Overlay(files, solution.deleted) if files != solution.files else None


def _rewritten(path: str, data: bytes) -> bytes | None:
    suffix = PurePosixPath(path).suffix.lower()
    # A line that goes on would take the comment in.
    if len(data) > _MAX_BYTES or not data.strip() or data.endswith(b"\\\n"):
        return None
    made = _laid_out(data) if suffix == ".json" else _commented(suffix, data)
    return made if made is not None and _same(suffix, data, made) else None


def _laid_out(data: bytes) -> bytes | None:
    try:
        return json.dumps(json.loads(data), indent=3).encode() + b"\n"
    except (ValueError, RecursionError):
        return None


def _commented(suffix: str, data: bytes) -> bytes | None:
    if suffix not in _COMMENTS or not data.endswith(b"\n"):
        return None
    return data + f"{_COMMENTS[suffix]} end\n".encode()


def _same(suffix: str, data: bytes, made: bytes) -> bool:
    if suffix in (".py", ".pyi"):
        return python.valid(data) and python.valid(made)
    if suffix in config.PARSERS:
        said = config.parsed(suffix, data)
        return said is not None and config.parsed(suffix, made) == said
    return b"<<" not in data or suffix == ".sql"  # a here-document might have no end
