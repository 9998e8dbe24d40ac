"""How xdist shares out the tests: those that use what is made once a module stay together."""

from __future__ import annotations

import functools
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

__all__ = ["Together"]

ROOT = Path(__file__).parents[1]


class Together(LoadScopeScheduling):
    """A module's fixture would be made anew by every worker that gets one of its tests, so a
    file that has one goes to one worker, and before all others. Tests of other files go one
    by one. The scheduler knows names alone, and what is in the files by their text. Tests of one
    agent's run on a backend stay together over all files."""

    def _split_scope(self, nodeid: str) -> str:
        path, _, name = nodeid.partition("::")
        if _has("on_backends(", ROOT / path) and "[" in name:
            return name.partition("[")[2]
        return path if _has_one(path) else nodeid


@functools.cache
def _has_one(path: str) -> bool:
    file = ROOT / path
    return any(_has('scope="module"', source) for source in (file, file.with_name("conftest.py")))


@functools.cache
def _has(words: str, source: Path) -> bool:
    return source.exists() and words in source.read_text("utf-8")
