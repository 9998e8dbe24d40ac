"""What was asked twice, and what planning took."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rolewall.graders import Rate
from rolewall.measures.files import EpisodeFiles
from rolewall.paralysis import Alarm, paralysis, uses_of
from rolewall.record import PhaseRecord
from rolewall.roles import Evidence

__all__ = ["Effort", "Share", "effort_of", "redundant"]


def redundant(evidence: Iterable[Evidence]) -> Rate:
    """Calls whose tool and canonical arguments had been answered in the episode before, of
    all. ``evidence`` is by time."""
    answered: set[tuple[str, str, str | None]] = set()
    again = total = 0
    for one in evidence:
        asked = (one.tool, json.dumps(one.arguments, sort_keys=True), one.unread)
        total += 1
        again += asked in answered
        if one.ok:
            answered.add(asked)
    return Rate(again, total)


@dataclass(frozen=True)
class Share:
    """What one round, or the whole episode (``round`` None), took: of ``of`` calls, seconds and
    tokens the planner's part. Tokens are None where no role called a model that said."""

    round: int | None
    calls: Rate
    seconds: float
    of_seconds: float
    tokens: Rate | None

    @property
    def of_time(self) -> float | None:
        return self.seconds / self.of_seconds if self.of_seconds else None


@dataclass(frozen=True)
class Effort:
    """``trend`` is the planner's share of seconds in the last round less that in the first, and
    ``tokens_trend`` the same of tokens; None with less than two rounds of which it is known."""

    box: Rate
    broker: Rate
    whole: Share
    rounds: tuple[Share, ...]
    alarm: Alarm | None

    @property
    def trend(self) -> float | None:
        return _trend([share.of_time for share in self.rounds])

    @property
    def tokens_trend(self) -> float | None:
        return _trend([share.tokens.rate if share.tokens else None for share in self.rounds])


def _trend(shares: Sequence[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return known[-1] - known[0] if len(known) > 1 else None


def effort_of(files: EpisodeFiles) -> Effort:
    evidence = files.evidence
    calls = {handed.phase.index: len(handed.evidence) for handed in files.handoffs}
    phases = files.record.phases
    rounds = sorted({phase.round for phase in phases})
    return Effort(
        box=redundant(one for one in evidence if one.source == "box"),
        broker=redundant(one for one in evidence if one.source == "broker"),
        whole=_share(None, phases, calls),
        rounds=tuple(_share(r, [p for p in phases if p.round == r], calls) for r in rounds),
        alarm=paralysis(phases, {h.phase.index: uses_of(h.evidence) for h in files.handoffs}),
    )


def _share(round_: int | None, phases: Sequence[PhaseRecord], calls: dict[int, int]) -> Share:
    mine = [phase for phase in phases if phase.role == "planner"]
    known = any(_tokens(phase) is not None for phase in phases)
    return Share(
        round=round_,
        calls=Rate(*(sum(calls.get(p.index, 0) for p in some) for some in (mine, phases))),
        seconds=_seconds(mine),
        of_seconds=_seconds(phases),
        tokens=Rate(*(sum(_tokens(p) or 0 for p in some) for some in (mine, phases)))
        if known
        else None,
    )


def _seconds(phases: Iterable[PhaseRecord]) -> float:
    return sum(phase.ended - phase.started for phase in phases)


def _tokens(phase: PhaseRecord) -> int | None:
    use = phase.usage
    if use is None or (use.input is None and use.output is None):
        return None
    return (use.input or 0) + (use.output or 0)
