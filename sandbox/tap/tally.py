"""Counting for one watch: summary numbers, and own writes by directory and second."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rolewall.policies import Attempt, Kind, Outcome, shorten

__all__ = ["OwnWrites", "Tally"]

# Bounded so that the whole summary fits one packet, whatever a role calls its files.
_EDITS_LISTED = 100
_EDIT_CHARS = 120
_DIRECTORIES = 64


class Tally:
    """The numbers of a summary."""

    def __init__(self) -> None:
        self.attempts: dict[str, Counter[str]] = {}
        self.execs = 0
        self.probe_seen = 0
        self.unrecorded = 0
        self._edits: dict[tuple[str, str], None] = {}

    def add(self, kind: Kind, outcome: Outcome, number: int = 1) -> None:
        self.attempts.setdefault(kind.value, Counter())[outcome.value] += number

    def edit(self, attempt: Attempt) -> None:
        if attempt.kind is Kind.EDIT:
            target = attempt.paths[-1] if attempt.paths else ""
            self._edits[(attempt.exe, target)] = None

    def to_json(self) -> dict[str, Any]:
        listed = list(self._edits)[:_EDITS_LISTED]
        return {
            "attempts": self.attempts,
            "edits": [(a[-_EDIT_CHARS:], b[-_EDIT_CHARS:]) for a, b in listed],
            "distinct_edits": len(self._edits),
            "execs": self.execs,
            "probe_seen": self.probe_seen,
            "unknown": sum(c[Outcome.UNKNOWN.value] for c in self.attempts.values()),
            "unrecorded": self.unrecorded,
        }


class OwnWrites:
    """A role's writes to its own zones within one second, by directory.

    A second with writes all over is folded into its zones: the number of lines
    that a role can make stays bounded.
    """

    def __init__(self) -> None:
        self.second = 0
        self._counts: dict[str, Counter[str]] = {}

    def add(self, path: str, effect: str) -> None:
        directory = shorten(path.rpartition("/")[0]) or "/"
        counts = self._counts.get(directory)
        if counts is None:
            counts = self._counts[directory] = Counter()
        counts[effect] += 1

    def take(self) -> list[dict[str, Any]]:
        """The lines of the second that ended, without what the watch adds."""
        counts, self._counts = self._counts, {}
        if len(counts) > _DIRECTORIES:
            counts = _folded(counts)
        return [
            {"type": "own", "second": self.second, "directory": name, "counts": dict(found)}
            for name, found in counts.items()
        ]

    def __bool__(self) -> bool:
        return bool(self._counts)


def _folded(counts: dict[str, Counter[str]]) -> dict[str, Counter[str]]:
    folded: dict[str, Counter[str]] = {}
    for directory, found in counts.items():
        top = "/" + directory[1:].partition("/")[0]
        folded.setdefault(top, Counter()).update(found)
    return folded
