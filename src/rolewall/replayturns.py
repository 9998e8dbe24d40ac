"""What roles of a recorded episode did, read so that it can be done again.

A run may come from a stranger: nothing is read but what its record names, through no link and
within a limit, and each file is held to the digest that was sealed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rolewall._beneath import Root
from rolewall.errors import InputError, RecordError
from rolewall.record import EpisodeRecord, PhaseRecord, phase_name
from rolewall.roles import (
    CALLS,
    EXCHANGES,
    RecordedFiles,
    RecordedTurn,
    Trajectory,
    read_turn,
)
from rolewall.trajectory.exchanges import from_exchanges

__all__ = ["turns_of"]

FILE_CAP = 512 << 20


def turns_of(
    directory: Path, record: EpisodeRecord, roles: Sequence[str], again: Collection[str]
) -> Mapping[str, Callable[[], RecordedTurn]]:
    """By phases' names what reads the turn of each role that plays ``again``.

    All are read here once, so that what cannot be done again is found before anything starts.

    Args:
        directory: the episode's.
        roles: who plays, in order.

    Raises:
        InputError: a role's first phase was not recorded, or a call cannot be done again.
        RecordError: a file is not there, is not what was recorded, or holds something else.
    """
    found = {p.name: _Phase(directory, p) for p in record.phases if p.role in again}
    for index, role in enumerate(roles):
        if role in again and phase_name(index, role) not in found:
            raise InputError(
                f"the run to replay has no turn of the {role} at this place",
                place=str(directory),
                got=", ".join(phase.name for phase in record.phases) or "no phase",
                expected=phase_name(index, role),
                hint="the team needs the roles of the recorded one",
            )
    for phase in found.values():
        phase.read()
    return {name: phase.read for name, phase in found.items()}


@dataclass(frozen=True)
class _Phase:
    directory: Path
    phase: PhaseRecord

    def read(self) -> RecordedTurn:
        place = str(self.directory / "transcripts" / self.phase.name)
        if f"{self.phase.name}.{CALLS}" not in self.phase.transcript_sha256:
            raise InputError("its calls were not recorded", place=place,
                             hint="it was made by an earlier version of rolewall")  # fmt: skip
        files = RecordedFiles(place, self._bytes(CALLS), self._bytes("jsonl"), self._asked)
        turn = read_turn(files, self.phase.role, self.phase.outcome)
        if turn.agent == "command" and self.phase.usage and self.phase.usage.calls:
            raise InputError(
                "cannot be done again: a program that called a model",
                place=place,
                hint="replay the agent itself: --replay answers for its model",
            )
        return turn

    def _asked(self, agent: str) -> Trajectory:
        return from_exchanges(self._bytes(EXCHANGES), agent)

    def _bytes(self, suffix: str) -> bytes:
        name = f"{self.phase.name}.{suffix}"
        recorded = self.phase.transcript_sha256.get(name, "no such file")
        with Root(self.directory, RecordError) as root:
            path = f"transcripts/{name}"
            data = root.read(path, FILE_CAP)
            digest = hashlib.sha256(data).hexdigest()
            if digest != recorded:
                raise RecordError(
                    "not what was recorded", place=root.place(path), got=digest,
                    expected=recorded, hint="`rolewall audit` says more",
                )  # fmt: skip
        return data
