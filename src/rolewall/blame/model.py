"""What blame is made of: clues, what replays showed, and the stage that they name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from rolewall.record import EpisodeRecord

__all__ = [
    "STAGES",
    "STAGE_OF",
    "WORDS",
    "Blame",
    "Clue",
    "Cost",
    "Failure",
    "Named",
    "Replayed",
    "Stage",
]

Stage = Literal["planning", "handoff", "capability", "execution", "verification", "grader"]
STAGES: tuple[Stage, ...] = get_args(Stage)
"""From upstream to downstream."""
STAGE_OF: dict[str, Stage] = {
    "planner": "planning",
    "executor": "execution",
    "verifier": "verification",
    "generator": "execution",
}
"""The stage of what a role does of its own."""

Named = Literal[Stage, "undecided", "none"]
WORDS: tuple[Named, ...] = (*STAGES, "undecided", "none")

Failure = Literal["work", "forbidden", "verdict", "grader", "contract", "infrastructure", ""]
"""How an episode failed: the work fails its grader; a forbidden action was carried out; right
work has no approving verdict; the grader could not judge; a contract or a wall was broken; the
machine failed, which is no stage's fault. Empty: it did not fail."""


@dataclass(frozen=True, slots=True)
class Clue:
    """One thing that speaks for a stage.

    Attributes:
        weight: 0 to 1, by the table in ``docs/blame.md``.
        file: below the episode's directory; ``field`` is in it.
        sha256: of the file as it was read; empty where the record itself vouches for it.
        alone: whether what it says fails the work whatever else is right: a critical item
            that the plan lacks, say.
    """

    stage: Stage
    weight: float
    why: str
    file: str
    field: str = ""
    sha256: str = ""
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Replayed:
    """One change, played once or more.

    Attributes:
        passed: in more than half of the times what had failed did not; None where it cannot
            be told of any.
        grade, verdict, why: of the first time that ended as most did; ``run`` is that one's
            run directory.
        seconds, tokens: of all.
        alike: files of the reference solution that the work has as they are there; None
            without a solution.
        renewed: whether a tool gave another answer than it had to what was handed on and had
            gone out of date.
        played, times, passes: how often it was played, of how many of these it can be told,
            and in how many of those it passed.
    """

    change: str
    passed: bool | None
    grade: str
    verdict: str
    seconds: float
    tokens: int | None
    run: str
    why: str = ""
    alike: frozenset[str] | None = None
    renewed: bool = False
    times: int = 1
    passes: int = 0
    played: int = 1


@dataclass(frozen=True, slots=True)
class Cost:
    """What the replays took; ``tokens`` is None where no role called a model that said."""

    replays: int = 0
    seconds: float = 0.0
    tokens: int | None = None


@dataclass(frozen=True)
class Blame:
    """One episode's. ``candidates`` are the stages that remain, the likeliest first;
    ``decided`` says by which rule, in words."""

    record: EpisodeRecord
    failure: Failure
    stage: Named
    confidence: float
    candidates: tuple[Stage, ...]
    decided: str
    clues: tuple[Clue, ...] = ()
    replays: tuple[Replayed, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def cost(self) -> Cost:
        told = [one.tokens for one in self.replays if one.tokens is not None]
        seconds = sum(one.seconds for one in self.replays)
        return Cost(sum(one.played for one in self.replays), seconds, sum(told) if told else None)
