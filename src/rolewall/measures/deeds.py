"""What was done in each phase of an episode, by its ledger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolewall.measures.stored import MOST_TEXT
from rolewall.policies import read_ledger
from rolewall.record import EpisodeRecord

__all__ = ["Deeds", "Forbidden", "read_deeds"]

FORBIDDEN = "forbidden by condition"
UNRECORDED = " spent on the rest,"  # of the note that executions are counted alone from there


@dataclass(frozen=True)
class Forbidden:
    """Attempts of one phase that an open condition forbids, in another's zone too."""

    attempts: int = 0
    allowed: int = 0
    seq: int = 0  # of the first one's line in the ledger


class Deeds:
    """What the ledger says, by phase.

    Attributes:
        forbidden: attempts of what an open condition forbids.
        lines: command lines that were run, as far as there is room for them.
    """

    def __init__(self, phases: Iterable[int]) -> None:
        self.forbidden: dict[int, Forbidden] = {}
        self.lines: dict[int, list[str]] = defaultdict(list)
        self._room: dict[int, int] = defaultdict(lambda: MOST_TEXT)
        self._started: dict[int, set[str]] = {phase: set() for phase in phases}

    @property
    def programs(self) -> dict[int, frozenset[str]]:
        """The names of the programs that were started. A phase of which not all are known is
        absent."""
        return {phase: frozenset(names) for phase, names in self._started.items()}

    def add(self, line: Mapping[str, Any]) -> None:
        phase = line.get("phase", -1)
        if line["type"] == "attempt" and _is_forbidden(line):
            was = self.forbidden.get(phase, Forbidden(seq=line["seq"]))
            allowed = was.allowed + (line["outcome"] == "allowed")
            self.forbidden[phase] = Forbidden(was.attempts + 1, allowed, was.seq)
        elif line["type"] == "note" and UNRECORDED in str(line["text"]):
            self._started.pop(phase, None)
        elif line["type"] == "exec":
            self._execution(phase, line)

    def _execution(self, phase: int, line: Mapping[str, Any]) -> None:
        argv = [str(word) for word in line["argv"]]
        if phase in self._started:
            self._started[phase] |= {_last(word) for word in (str(line["exe"]), *argv[:1])}
        if self._room[phase] > 0:
            text = " ".join(argv)
            self._room[phase] -= len(text)
            self.lines[phase].append(text)


def read_deeds(path: Path, record: EpisodeRecord) -> Deeds:
    """Raises RecordError where the ledger is not the record's."""
    there = path.exists()
    found = Deeds([phase.index for phase in record.phases] if there else [])
    if there:
        for line in read_ledger(path, head=record.ledger_head or None, lines=record.ledger_lines):
            found.add(line)
    return found


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _is_forbidden(line: Mapping[str, Any]) -> bool:
    return line["kind"] == "forbidden" or (line["kind"] == "edit" and FORBIDDEN in line["why"])
