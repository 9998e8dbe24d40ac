"""Which fields of what `--json` prints, or a file of a run holds, stand on no page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["unsaid"]

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r"^```.*?^```$", re.S | re.M)
QUOTED = re.compile(r"`([^`]+)`")
WORD = re.compile(r"[A-Za-z_]\w*")
# What these hold is named by the data: zones, roles, conditions, files, outcomes, errors.
NAMED_BY_DATA = frozenset(
    {"attempts", "counts", "digests", "error_kinds", "errors", "findings", "manifests", "origins",
     "outcomes", "phases_failed", "roles", "team_files", "transcript_sha256", "unfinished_names",
     "zones"}
)  # fmt: skip
# What these hold is another's: a model's protocol, a tool's arguments.
ANOTHERS = frozenset({"arguments", "request", "response"})


def unsaid(found: object, *pages: str) -> set[str]:
    """The fields of ``found`` whose names stand in backticks on none of the ``pages``, nor in
    the results reference or that of records; each by its path."""
    texts = [(DOCS / f"{page}.md").read_text("utf-8") for page in ("results", "records", *pages)]
    parts = [part for text in texts for part in BLOCK.sub("", text).split("\n\n")]
    quoted = [words for part in parts for words in QUOTED.findall(part)]
    said = {word for words in quoted for word in WORD.findall(words)}
    return {path for path, name in _fields(found) if name not in said}


def _fields(found: object, path: str = "", open_: bool = False) -> Iterator[tuple[str, str]]:
    if isinstance(found, list):
        for one in found:
            yield from _fields(one, f"{path}[]")
    elif isinstance(found, dict):
        yield from _of_mapping(found, path, open_)


def _of_mapping(found: dict[str, Any], path: str, open_: bool) -> Iterator[tuple[str, str]]:
    for name, value in found.items():
        below = f"{path}.{name}".lstrip(".")
        if not open_ and not name.isdigit():
            yield below, name
        if name not in ANOTHERS:
            yield from _fields(value, below, not open_ and name in NAMED_BY_DATA)
