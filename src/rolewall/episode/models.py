"""The ways of one episode's roles to their models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rolewall.errors import InfrastructureError, InputError
from rolewall.roles import (
    EXCHANGES,
    GATEWAY,
    Acted,
    Agent,
    Gateway,
    ModelDoor,
    ModelUse,
    OpenDoor,
    Purse,
    RecordedTurn,
    Tape,
    Turn,
    read_tape,
)
from rolewall.sandbox import Box

__all__ = ["EpisodeModels", "PhaseModel", "RecordedEpisode", "open_model"]


@dataclass(frozen=True)
class RecordedEpisode:
    """What of an earlier episode is given again, by the names of its phases.

    Attributes:
        key: the episode's.
        nonces: those that verifiers were told.
        files: exchanges, each with the file's SHA-256.
        turns: of each phase what gives what its agent did; raises RecordError and InputError.
    """

    key: str
    nonces: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, tuple[Path, str]] = field(default_factory=dict)
    turns: Mapping[str, Callable[[], RecordedTurn]] = field(default_factory=dict)

    def tape(self, phase: str) -> Tape:
        """Of a phase that it does not have, an empty one. Raises RecordError."""
        return read_tape(*self.files[phase]) if phase in self.files else Tape([])

    def turn(self, phase: str) -> RecordedTurn:
        """Raises RecordError where it cannot be read, InfrastructureError where there is none."""
        if phase not in self.turns:
            raise InfrastructureError("the recording has no such phase", got=phase)
        return self.turns[phase]()


class EpisodeModels:
    """What a role may spend is counted over all its phases, so this is one episode's own.

    Args:
        gateway: the run's.
        recorded: an episode that answers in place of endpoints.
    """

    def __init__(self, gateway: Gateway, recorded: RecordedEpisode | None = None) -> None:
        self.gateway = gateway
        self.recorded = recorded
        self._purses: dict[str, Purse] = {}

    def purse(self, agent: Agent, role: str) -> Purse:
        assert agent.access is not None
        return self._purses.setdefault(role, Purse(agent.access.budget))


class PhaseModel:
    """The way to a model of a phase that is under way.

    Attributes:
        turn: the phase's, which knows the way.
    """

    def __init__(self, door: OpenDoor, turn: Turn, purse: Purse) -> None:
        self.turn = replace(turn, door=ModelDoor(door.socket))
        self._door = door
        self._purse = purse

    @property
    def trouble(self) -> InfrastructureError | None:
        """What makes the phase say nothing about its agent; looked at after ``close``."""
        return self._door.trouble

    def close(self) -> None:
        self._door.shut()

    def settle(self, acted: Acted) -> ModelUse:
        """What was taken of the model; an agent that was refused more has not ended of its
        own accord."""
        use = self._door.use()
        if not use.over_budget:
            return use
        if acted.outcome in ("done", "failed"):
            acted.outcome = "budget"
        return replace(use, spent=self._purse.spent)


def open_model(
    models: EpisodeModels | None, agent: Agent, box: Box, turn: Turn
) -> PhaseModel | None:
    """The way to ``agent``'s model for one phase; None for an agent that has none.

    Raises:
        InputError: the agent has one, and nothing here serves it.
        InfrastructureError: the gateway cannot serve or record.
        RecordError: a recording cannot be read.
    """
    if agent.access is None:
        return None
    if models is None:
        raise InputError("an agent that calls a model has no way to it here", got=turn.role)
    tape = models.recorded.tape(turn.transcript.name) if models.recorded else None
    purse, listener = models.purse(agent, turn.role), box.listeners.pop(GATEWAY, None)
    record = turn.transcript.with_suffix(f".{EXCHANGES}")
    door = models.gateway.open(agent.access, purse, record, listener, tape)
    return PhaseModel(door, turn, purse)
