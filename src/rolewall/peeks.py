"""Counting peeks: looks at what is hidden from a role, where reads were observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rolewall.record import EpisodeRecord
from rolewall.tally import peeked
from rolewall.terminal import counted

__all__ = ["PeekCounts", "count_peeks"]


@dataclass(frozen=True)
class PeekCounts:
    """Of ``observed`` episodes, those whose reads were observed, the ``episodes`` with at
    least one peek; ``distinct`` are (program, target) pairs."""

    observed: int
    episodes: int
    distinct: int

    def text(self) -> str:
        """``2 of 4 episodes with reads observed have peeks at what is hidden (3 distinct)``."""
        of = counted(self.observed, "episode")
        return (
            f"{self.episodes} of {of} with reads observed have peeks at what is hidden"
            f" ({self.distinct} distinct)"
        )


def count_peeks(records: Sequence[EpisodeRecord]) -> PeekCounts:
    """Episodes in which only changes were observed are left out: they say nothing of peeks."""
    found = [number for record in records if (number := peeked(record)) is not None]
    return PeekCounts(len(found), sum(number > 0 for number in found), sum(found))
