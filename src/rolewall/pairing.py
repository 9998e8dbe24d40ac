"""Pairing: which episodes of two conditions belong together, and which do not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from rolewall.record import EpisodeRecord
from rolewall.tally import errored

__all__ = ["LeftOut", "Pair", "pair_up"]

Pair = tuple[EpisodeRecord, EpisodeRecord]


@dataclass(frozen=True)
class LeftOut:
    """An episode, or a would-be pair, that is in no comparison, and why."""

    task: str
    trial: int
    reason: str


def pair_up(
    records: Sequence[EpisodeRecord], first: str, second: str
) -> tuple[list[Pair], list[LeftOut]]:
    sides: dict[tuple[str, int], dict[str, EpisodeRecord]] = defaultdict(dict)
    for record in records:
        if record.condition in (first, second):
            sides[record.task, record.trial][record.condition] = record
    pairs: list[Pair] = []
    left_out: list[LeftOut] = []
    for (task, trial), found in sorted(sides.items()):
        reason = _unpairable(found, first, second)
        if reason:
            left_out.append(LeftOut(task, trial, reason))
        else:
            pairs.append((found[first], found[second]))
    return pairs, left_out


def _unpairable(found: dict[str, EpisodeRecord], first: str, second: str) -> str:
    """Why these episodes are no pair; empty when they are one."""
    for condition in (first, second):
        if condition not in found:
            return f"no episode under {condition}"
    for condition in (first, second):
        if errored(found[condition]):
            error = found[condition].error
            return f"error under {condition}: {error.kind if error else 'grader'}"
    one, other = found[first], found[second]
    for what in ("task", "team", "code"):
        if one.digests.get(what) != other.digests.get(what):
            return f"the {what} differs between {first} and {second}"
    for what, a, b in (
        ("team", one.team, other.team),
        ("backend", one.backend, other.backend),
        ("image", one.image, other.image),
    ):
        if a != b:
            return f"the {what} differs between {first} and {second}"
    return ""
