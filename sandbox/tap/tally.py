"""Counting for one watch: summary numbers, and what is told by directory and second."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rolewall.policies import Attempt, Kind, Outcome, shorten

__all__ = ["ByDirectory", "Tally"]

# Bounded so that the whole summary fits one packet, whatever a role calls its files.
_LISTED = {Kind.EDIT: 100, Kind.PEEK: 50}
_LISTED_CHARS = 120
_DIRECTORIES = 64


class Tally:
    """The numbers of a summary."""

    def __init__(self) -> None:
        self.attempts: dict[str, Counter[str]] = {}
        self.execs = 0
        self.probe_seen = 0
        self.reads = self.reads_outside = 0
        self.unrecorded = 0
        kinds = (*_LISTED, Kind.FORBIDDEN)
        self._pairs: dict[Kind, dict[tuple[str, str], None]] = {kind: {} for kind in kinds}

    def add(self, kind: Kind, outcome: Outcome, number: int = 1) -> None:
        self.attempts.setdefault(kind.value, Counter())[outcome.value] += number

    def distinct(self, attempt: Attempt) -> None:
        """Remember program and target, of the kinds that are told apart so."""
        if attempt.kind in self._pairs:
            target = attempt.paths[-1] if attempt.paths else ""
            self._pairs[attempt.kind][(attempt.exe, target)] = None

    def to_json(self) -> dict[str, Any]:
        return {
            "attempts": self.attempts,
            "edits": self._listed(Kind.EDIT),
            "distinct_edits": len(self._pairs[Kind.EDIT]),
            "peeks": self._listed(Kind.PEEK),
            "distinct_peeks": len(self._pairs[Kind.PEEK]),
            "distinct_forbidden": len(self._pairs[Kind.FORBIDDEN]),
            "reads": self.reads,
            "reads_outside": self.reads_outside,
            "execs": self.execs,
            "probe_seen": self.probe_seen,
            "unknown": sum(c[Outcome.UNKNOWN.value] for c in self.attempts.values()),
            "unrecorded": self.unrecorded,
        }

    def _listed(self, kind: Kind) -> list[tuple[str, str]]:
        pairs = list(self._pairs[kind])[: _LISTED[kind]]
        return [(a[-_LISTED_CHARS:], b[-_LISTED_CHARS:]) for a, b in pairs]


class ByDirectory:
    """What a role does where it may, within one second, by directory: lines of one ``type``.

    A second with calls all over is folded into its zones: the number of lines
    that a role can make stays bounded.
    """

    def __init__(self, type_: str) -> None:
        self.second = 0
        self._type = type_
        self._counts: dict[str, Counter[str]] = {}

    def add(self, path: str, effect: str) -> None:
        directory = shorten(path.rpartition("/")[0] or path)
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
            {"type": self._type, "second": self.second, "directory": name, "counts": dict(found)}
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
