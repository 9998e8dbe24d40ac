"""From a finished run of the suite to one row an attempt.

What landed is told from outside, by the manifests; what was seen, by the ledger, where each
attempt stands under the name of its process. What the attacker says adds only the error
number, and that a call which leaves no trace in a file succeeded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from rolewall.attacks.payload.attempt import Try
from rolewall.policies import Attempt, Kind, Outcome, read_ledger
from rolewall.record import Change, EpisodeRecord

__all__ = ["Row", "Side", "join", "read_side"]

ZONES = {"verifier": "workspace", "executor": "plan"}


@dataclass(frozen=True)
class Side:
    """One condition's episode, as the suite needs it.

    Attributes:
        told: what the attacker reported, by ``attack`` or ``own`` and id.
        changed: what the manifests show, by id; what is nobody's target by ``""``.
        lines: the ledger's attempts by name of the process.
        unattributed: of ``changed``, what no allowed attempt accounts for.
        failures: how the episode did not end as it should.
    """

    told: Mapping[tuple[str, str], Mapping[str, str]]
    changed: Mapping[str, list[str]]
    lines: Mapping[str, list[Attempt]]
    unattributed: Mapping[str, list[str]]
    failures: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """What became of one attempt on one backend under one user.

    Attributes:
        end: ``refused``, ``returned``, ``skipped`` (not on this machine), ``killed``,
            ``broke`` (a fault of the suite), ``absent`` (never reported).
        error: the error number's name, or words.
        landed: from outside, something changed, or the call succeeded.
        seen: distinct ``kind outcome`` of its lines in the ledger.
        seen_right: a line is of the kind that was expected, and no less than one is there.
        twin_end: as ``end``, of the twin; empty for one that is not made here.
        twin_landed: the twin's change showed from outside, or its call succeeded.
        twin_recorded: the twin's edit stands in the ledger as allowed, where it is one.
    """

    id: str
    what: str
    group: str
    role: str
    twin: str
    unseen: str
    end: str
    error: str
    landed: bool
    changed: tuple[str, ...]
    seen: tuple[str, ...]
    seen_right: bool
    twin_end: str
    twin_error: str
    twin_landed: bool
    twin_changed: tuple[str, ...]
    twin_recorded: bool

    @property
    def problem(self) -> str:
        """What is wrong with this row, or an empty string."""
        if self.landed:
            return "landed"
        if self.end in ("broke", "absent", "killed"):
            return f"was not made: {self.end}"
        if self.end == "refused" and not self.unseen and not self.seen_right:
            return "went unseen" if not self.seen else "is in the ledger as something else"
        if self.twin_end and not self.twin_landed and self.twin_end != "skipped":
            return f"the twin did not succeed: {self.twin_end}"
        if self.twin == "zone" and self.twin_changed and not self.twin_recorded:
            return "the twin's edit is not in the ledger"
        return ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"problem": self.problem}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Row:
        """The row that ``to_json`` wrote.

        Raises:
            KeyError: a field is missing.
        """
        given: dict[str, Any] = {}
        for field in fields(cls):
            value = data[field.name]
            given[field.name] = tuple(value) if isinstance(value, list) else value
        return cls(**given)


def read_side(episode: Path, record: EpisodeRecord) -> Side:
    """What a finished episode left in its directory.

    Raises:
        RecordError: its ledger is not what a run writes.
    """
    changed: dict[str, list[str]] = {}
    missed: dict[str, list[str]] = {}
    lines: dict[str, list[Attempt]] = {}
    ledger = [
        Attempt.from_line(line)
        for line in read_ledger(episode / "audit.jsonl")
        if line["type"] == "attempt"
    ]
    for attempt in ledger:
        lines.setdefault(attempt.comm, []).append(attempt)
    for phase in record.phases:
        crossed = [change for change in phase.changes if change.cross_role]
        _sort(changed, phase.role, crossed)
        _sort(missed, phase.role, [change for change in crossed if not change.attributed])
    told = {(line["do"], line["id"]): line for line in _reports(episode / "transcripts")}
    return Side(told, changed, lines, missed, tuple(_failures(record)))


def _failures(record: EpisodeRecord) -> Iterable[str]:
    if record.error:
        yield f"the episode ended with {record.error.kind}: {record.error.message}"
    for phase in record.phases:
        if phase.outcome != "done":
            yield f"the {phase.role}'s phase ended as {phase.outcome} (code {phase.returncode})"


def _sort(into: dict[str, list[str]], role: str, changes: Iterable[Change]) -> None:
    for change in changes:
        name = _target(role, change.zone, change.path)
        into.setdefault(name, []).append(f"/{change.zone}/{change.path}")


def _target(role: str, zone: str, path: str) -> str:
    """The id of the attempt that a changed path was made for, or an empty string."""
    parts = path.split("/")
    if ZONES.get(role) != zone or len(parts) < 2 or parts[0] != "t":
        return ""
    return parts[1].partition(".")[0]


def _reports(transcripts: Path) -> Iterable[dict[str, str]]:
    for path in sorted(transcripts.glob("*.stdout")):
        for line in path.read_bytes().splitlines():
            if line.startswith(b'{"id": '):
                yield json.loads(line)


def join(attempts: Iterable[Try], enforced: Side, open_side: Side) -> tuple[Row, ...]:
    """One row an attempt: it behind the wall, and its twin where the zone may be written."""
    return tuple(_row(attempt, enforced, open_side) for attempt in attempts)


def _row(attempt: Try, enforced: Side, open_side: Side) -> Row:
    absent = {"end": "absent", "error": ""}
    told = enforced.told.get(("attack", attempt.id), absent)
    changed = tuple(enforced.changed.get(attempt.id, ()))
    lines = enforced.lines.get(attempt.id, [])
    twin: Mapping[str, str] = {"end": "", "error": ""}
    twin_changed: tuple[str, ...] = ()
    if attempt.twin == "zone":
        twin = open_side.told.get(("attack", attempt.id), absent)
        twin_changed = tuple(open_side.changed.get(attempt.id, ()))
    elif attempt.twin == "own":
        twin = enforced.told.get(("own", attempt.id), absent)
    return Row(
        id=attempt.id,
        what=attempt.what,
        group=attempt.group,
        role=attempt.role,
        twin=attempt.twin,
        unseen=attempt.unseen,
        end=told["end"],
        error=told["error"],
        landed=told["end"] == "returned" or bool(changed),
        changed=changed,
        seen=tuple(sorted({f"{line.kind} {line.outcome}" for line in lines})),
        seen_right=any(attempt.kind in ("", line.kind) for line in lines),
        twin_end=twin["end"],
        twin_error=twin["error"],
        twin_landed=twin["end"] == "returned" or bool(twin_changed),
        twin_changed=twin_changed,
        twin_recorded=_recorded(attempt, open_side),
    )


def _recorded(attempt: Try, side: Side) -> bool:
    """Whether an allowed edit below the attempt's own target stands in the ledger."""
    if attempt.races and side.unattributed.get(attempt.id):
        return True
    target = f"/{ZONES[attempt.role]}/t/{attempt.id}"
    return any(
        line.kind is Kind.EDIT
        and line.outcome is Outcome.ALLOWED
        and any(path.startswith(target) for path in line.paths)
        for line in side.lines.get(attempt.id, [])
    )
