"""What client and supervisor say to each other: one JSON object a packet."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rolewall.policies import View

__all__ = ["PACKET_MAX", "WatchSpec", "WatchSummary", "receive", "send"]

PACKET_MAX = 192 * 1024


@dataclass(frozen=True, slots=True)
class WatchSpec:
    """What to record of one box, and where.

    Attributes:
        view: the policy as the role in the box meets it; ``view.role`` is ``role``.
        ledger: the episode's ``audit.jsonl``; several watches may share it.
        role_uid: user id of the role's processes; -1 where it is read from each process.
        crossing_budget: crossings recorded one by one, after which the watch is
            violated and every watched call is refused. As many peeks, as many attempts at
            what conditions forbid, and as many other lines, are recorded; what is beyond is
            only counted.
        reads: whether opens for reading are observed; the box's filter must notify them.
    """

    role: str
    phase: int
    view: View
    ledger: Path
    role_uid: int = -1
    crossing_budget: int = 20_000
    reads: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "role": self.role,
            "phase": self.phase,
            "view": self.view.to_json(),
            "ledger": str(self.ledger.absolute()),
            "role_uid": self.role_uid,
            "crossing_budget": self.crossing_budget,
            "reads": self.reads,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> WatchSpec:
        view, ledger = View.from_json(data["view"]), Path(data["ledger"])
        return cls(**{**data, "view": view, "ledger": ledger})


@dataclass(frozen=True, slots=True)
class WatchSummary:
    """What a watch saw.

    Attributes:
        attempts: number of attempts by kind, then by outcome (words of ``Kind``, ``Outcome``).
        edits: distinct (program, target) pairs of cross-role edits, at most 100 of them, the
            last 120 characters of each.
        distinct_edits: how many such pairs there are in all.
        peeks, distinct_peeks: the same of peeks, at most 50 pairs; those past the budget
            are in ``attempts`` alone.
        distinct_forbidden: how many such pairs there are of what conditions forbid.
        reads: other opens for reading in zones, the role's own too.
        reads_outside: opens for reading of what is in no zone.
        execs: programs started.
        probe_seen: calls seen before ``begin``.
        unknown: attempts that could not be read or handled, and were refused.
        unrecorded: outside and privileged attempts and executions past their own cap,
            counted but not recorded.
        violated: the budget for crossings was spent.
        ledger_head, ledger_lines: the ledger's end when this watch ended.
    """

    attempts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    edits: tuple[tuple[str, str], ...] = ()
    distinct_edits: int = 0
    peeks: tuple[tuple[str, str], ...] = ()
    distinct_peeks: int = 0
    distinct_forbidden: int = 0
    reads: int = 0
    reads_outside: int = 0
    execs: int = 0
    probe_seen: int = 0
    unknown: int = 0
    unrecorded: int = 0
    violated: bool = False
    ledger_head: str = ""
    ledger_lines: int = 0

    def count(self, kind: str, outcome: str | None = None) -> int:
        """Attempts of one kind, of one outcome or of all."""
        found = self.attempts.get(kind, {})
        return sum(found.values()) if outcome is None else found.get(outcome, 0)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> WatchSummary:
        pairs = {name: tuple((p, t) for p, t in data[name]) for name in ("edits", "peeks")}
        return cls(**{**data, **pairs})


def send(channel: socket.socket, message: Mapping[str, Any], *fds: int) -> None:
    raw = json.dumps(message, ensure_ascii=False).encode()
    if fds:
        socket.send_fds(channel, [raw], list(fds))
    else:
        channel.send(raw)


def receive(channel: socket.socket, fds: int = 0) -> tuple[dict[str, Any], list[int]] | None:
    """One message with its descriptors, or None at the end of the connection."""
    raw, found, _, _ = socket.recv_fds(channel, PACKET_MAX, fds)
    if not raw:
        return None
    message: dict[str, Any] = json.loads(raw)
    return message, found
