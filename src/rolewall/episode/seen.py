"""What the ledger holds of one role's phase."""

from __future__ import annotations

from dataclasses import dataclass

from rolewall.errors import RecordError, TapError
from rolewall.policies import Attempt, LedgerTail
from rolewall.roles import Execution

__all__ = ["Seen", "read_seen"]


@dataclass(frozen=True)
class Seen:
    """Attempts recorded one by one, and programs started, oldest first."""

    attempts: tuple[Attempt, ...]
    executions: tuple[Execution, ...]


def read_seen(ledger: LedgerTail, phase: int, role: str) -> Seen:
    """What of ``phase``, the last one, was done by ``role`` itself: what earlier phases left
    in the ledger has been read.

    Raises:
        TapError: the episode's own ledger cannot be read back.
    """
    attempts, executions = [], []
    try:
        for line in ledger.read():
            if line.get("phase") != phase or line.get("role") != role:
                continue
            if line["type"] == "attempt":
                attempts.append(Attempt.from_line(line))
            elif line["type"] == "exec":
                argv = tuple(line["argv"])
                executions.append(Execution(line["exe"], argv, line["argv_whole"]))
    except RecordError as error:
        raise TapError(f"the ledger cannot be read back: {error}") from error
    return Seen(tuple(attempts), tuple(executions))
