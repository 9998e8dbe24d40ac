"""What is kept of one phase's calls: counts, evidence, and a line of the record for each."""

from __future__ import annotations

import hashlib
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolewall.errors import StorageError
from rolewall.roles.broker.admission import MAX_NAME
from rolewall.roles.broker.answer import Answer
from rolewall.roles.broker.canonical import canonical_text
from rolewall.roles.broker.log import ToolLog
from rolewall.roles.evidence import Evidence, Results

__all__ = ["MOST_CALLS", "Account", "Asked", "ToolUse"]

MOST_CALLS = 1000  # of one phase; more are refused, and of those that are only the count is kept
MOST_SHOWN = 4000  # characters of arguments in evidence; the record of calls has all


@dataclass
class ToolUse:
    """What a phase asked of tools.

    Attributes:
        calls: all of them: ``live``, ``cached``, ``failed`` and ``refused`` together.
        runs: how often a tool was run for them.
        repeated: calls of what had been answered in the episode before.
        rerun: of these, how many a tool was run for again.
        held: calls of a tool that an open condition holds: refused, or where there is no wall,
            let through.
    """

    calls: int = 0
    live: int = 0
    cached: int = 0
    failed: int = 0
    refused: int = 0
    runs: int = 0
    repeated: int = 0
    rerun: int = 0
    held: int = 0


@dataclass(frozen=True)
class Asked:
    """One call, counted from 1 in its phase. ``arguments`` are canonical, None where they could
    not be read, of which ``unread`` is the SHA-256; ``held`` are the conditions that hold its
    tool."""

    n: int
    tool: str
    started: float
    held: tuple[str, ...] = ()
    arguments: dict[str, Any] | None = None
    unread: str | None = None


class Account:
    """One phase's. Safe for threads.

    Args:
        phase: its name.
        record: the file to write calls to; new.
        results: where what tools gave is kept; None keeps nothing of it.

    Attributes:
        trouble: what kept a call from being written down.

    Raises:
        StorageError: the record cannot be made.
    """

    def __init__(self, role: str, phase: str, record: Path, results: Results | None) -> None:
        self.use = ToolUse()
        self.evidence: list[Evidence] = []
        self.trouble: StorageError | None = None
        self._role = role
        self._phase = phase
        self._results = results
        self._log = ToolLog(record)
        self._lock = threading.Lock()
        self._closed = False

    def settle(self, asked: Asked, answer: Answer, *, ran: bool, repeated: bool) -> bool:
        """Count a call and write it down, unless its phase is over: nobody is there to be
        told of it. Whether it was counted.

        Args:
            ran: the tool was run for this call.
            repeated: the same had been answered in this episode before.
        """
        with self._lock:
            if self._closed:
                return False
            self._count(asked, answer, ran, repeated)
            if asked.n > MOST_CALLS:
                return True
            try:
                self._write(asked, answer, ran, repeated)
            except StorageError as error:
                self.trouble = self.trouble or error
            return True

    def _count(self, asked: Asked, answer: Answer, ran: bool, repeated: bool) -> None:
        use = self.use
        use.calls += 1
        use.refused += bool(answer.refused)
        use.failed += answer.origin == "failed" and not answer.refused
        use.live += answer.origin == "live"
        use.cached += answer.origin == "cached"
        use.runs += ran
        use.repeated += repeated
        use.rerun += ran and repeated
        use.held += bool(asked.held)

    def _write(self, asked: Asked, answer: Answer, ran: bool, repeated: bool) -> None:
        evidence = self._evidence(asked, answer, time.time())
        self.evidence.append(evidence)
        self._log.write(
            {
                "n": asked.n,
                "id": evidence.id,
                "tool": evidence.tool,
                "arguments": asked.arguments,
                "started": asked.started,
                "ended": evidence.ended,
                **answer.told(),
                "conditions": list(asked.held),
                "sha256": answer.digest,
                "bytes": len(answer.raw),
                "ran": ran,
                "repeated": repeated,
            }
        )

    def _evidence(self, asked: Asked, answer: Answer, ended: float) -> Evidence:
        """Of the call; what the tool gave is kept."""
        cut = answer.truncated
        if answer.ok and self._results is not None:
            cut = self._results.keep(answer.raw).truncated or cut
        return Evidence(
            id=f"{self._phase}-t{asked.n}",
            role=self._role,
            tool=asked.tool[:MAX_NAME],
            arguments=_shown(asked.arguments or {}),
            unread=asked.unread,
            started=asked.started,
            ended=ended,
            ok=answer.ok,
            result=answer.digest,
            fresh_until=answer.fresh_until,
            origin=answer.origin,
            size=len(answer.raw) if answer.ok else None,
            truncated=cut,
            source="broker",
        )

    def close(self) -> None:
        """Nothing counts from here on. Safe to call twice.

        Raises:
            StorageError: the record may not be whole.
        """
        with self._lock:
            self._closed = True
            self._log.close()


def _shown(arguments: dict[str, Any]) -> dict[str, Any]:
    """A handoff holds the evidence of a whole phase."""
    text = canonical_text(arguments)
    if len(text) <= MOST_SHOWN:
        return arguments
    return {"sha256": hashlib.sha256(text.encode()).hexdigest(), "characters": len(text)}
