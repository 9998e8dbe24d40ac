"""One episode as a timeline: phases, attempts, manifest changes, verdict beside grade.

What it looks like is ``timelinetext``'s."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rolewall.aftermath import Aftermath, read_aftermath
from rolewall.errors import RecordError
from rolewall.policies import Attempt, read_ledger
from rolewall.record import EpisodeRecord

__all__ = ["SHOWN", "Crossings", "Timeline", "find_episode", "read_timeline"]

SHOWN = 50
NAMED = 5
# Kinds that cross a wall or try to; the rest is counted.
LISTED = ("edit", "forbidden", "privileged", "peek")


@dataclass(frozen=True)
class Crossings:
    """Attempts of one phase: those listed (at most ``SHOWN``) and how many there are by
    (kind, outcome)."""

    listed: tuple[dict[str, Any], ...]
    total: int
    counts: dict[str, int]


@dataclass(frozen=True)
class Timeline:
    record: EpisodeRecord
    crossings: dict[int, Crossings]
    aftermath: dict[int, Aftermath]

    def json(self) -> dict[str, Any]:
        return {
            "record": self.record.model_dump(mode="json"),
            "attempts": {
                str(index): {"total": c.total, "counts": c.counts, "listed": list(c.listed)}
                for index, c in sorted(self.crossings.items())
            },
            "phases": {str(index): asdict(left) for index, left in self.aftermath.items()},
        }


def find_episode(records: Sequence[EpisodeRecord], name: str) -> EpisodeRecord:
    """The one episode that ``name`` means: task:condition:trial, as much of it as names
    one episode, or the beginning of a key.

    Raises RecordError when there is none, or more than one.
    """
    found = [r for r in records if name in _names(r)]
    found = found or [r for r in records if name and r.key.startswith(name)]
    if len(found) == 1:
        return found[0]
    several = [_names(r)[-1] for r in found[:NAMED]] + ["…"] * (len(found) > NAMED)
    raise RecordError(
        f"{len(found)} episodes: {', '.join(several)}" if found else "no such episode",
        got=name,
        expected="task:condition:trial or the beginning of it or of a key, of one episode",
        hint="`rolewall show RUN` lists them",
    )


def _names(record: EpisodeRecord) -> tuple[str, str, str]:
    task = record.task
    return task, f"{task}:{record.condition}", f"{task}:{record.condition}:{record.trial}"


def read_timeline(directory: Path, record: EpisodeRecord) -> Timeline:
    """The timeline of a record, with the attempts in its ledger.

    Raises RecordError where the ledger or a transcript is not the one that the record has.
    """
    path = directory / "audit.jsonl"
    listed: dict[int, list[dict[str, Any]]] = defaultdict(list)
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    totals: Counter[int] = Counter()
    for attempt in _attempts(path, record) if os.path.lexists(path) else ():
        phase = attempt["phase"]
        counts[phase][f"{attempt['kind']} {attempt['outcome']}"] += 1
        if attempt["kind"] in LISTED or attempt["outcome"] == "unknown":
            totals[phase] += 1
            if len(listed[phase]) < SHOWN:
                listed[phase].append(attempt)
    return Timeline(
        record,
        {
            phase: Crossings(tuple(listed[phase]), totals[phase], dict(found))
            for phase, found in counts.items()
        },
        {phase.index: read_aftermath(directory, phase) for phase in record.phases},
    )


def _attempts(path: Path, record: EpisodeRecord) -> Iterator[dict[str, Any]]:
    for line in read_ledger(path, head=record.ledger_head or None, lines=record.ledger_lines):
        if line["type"] == "attempt":
            Attempt.from_line(line, place=f"{path}:{line['seq']}")
            yield line
