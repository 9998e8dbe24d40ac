"""What one episode is given."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rolewall.attest import RunSeals
from rolewall.episode.models import EpisodeModels, RecordedEpisode
from rolewall.episode.work import CandidateWork
from rolewall.policies import Policy
from rolewall.record import ErrorRecord
from rolewall.roles import Arm, Shelf, Team
from rolewall.sandbox import Backend, BlobStore, Supervisor
from rolewall.tasks import Task

__all__ = ["Setting"]


@dataclass(frozen=True)
class Setting:
    """One task under one condition, once.

    Attributes:
        key: the episode's name: equal exactly for equal work.
        directory: where the record goes; new and empty.
        stopping: set when the user asked to stop; the episode then leaves no record.
        scratch: a directory for zones and copies; new, removed afterwards.
        seals: seals the episode before it counts; None where there is no record to seal.
        supervise: gives a supervisor that lives. Raises TapError.
        image: of every role's box, the team's or the task's.
        work: of a calibration: what the verifier, who alone plays, is shown.
        shown: directories of the caller's that every role may read, for its programs.
        handoff: the arm: what the next role is shown of a handoff.
        models: the ways to models; None where no agent has one.
        tries: errors that earlier tries of this episode ended in.
        recorded: an earlier episode that is played again, or whose models answer.
        shelf: results of tools, which the episode's roles share.
    """

    key: str
    task: Task
    team: Team
    policy: Policy
    condition: str
    trial: int
    seed: int
    image: str
    backend: Backend
    supervise: Callable[[], Supervisor]
    store: BlobStore
    directory: Path
    scratch: Path
    digests: dict[str, str]
    seals: RunSeals | None
    stopping: threading.Event
    work: CandidateWork | None = None
    shown: tuple[Path, ...] = ()
    handoff: Arm = "full"
    models: EpisodeModels | None = None
    recorded: RecordedEpisode | None = None
    tries: tuple[ErrorRecord, ...] = ()
    shelf: Shelf = field(default_factory=Shelf)

    @property
    def verified(self) -> bool:
        """Whether a verifier has a part."""
        return "verifier" in self.policy.roles

    @property
    def rounds(self) -> int:
        """Executor phases at most. What opens a further round is a verifier's reject, or an
        executor that was told to hand over to one."""
        return self.team.rounds if self.verified and not self.work else 1

    @property
    def ledger(self) -> Path:
        """The episode's ledger."""
        return self.directory / "audit.jsonl"
