"""Pairing: which episodes of two conditions belong together, and which do not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from rolewall.rows import Row
from rolewall.tally import errored

__all__ = ["LeftOut", "Pair", "pair_up"]

Pair = tuple[Row, Row]


@dataclass(frozen=True)
class LeftOut:
    """An episode, or a would-be pair, that is in no comparison, and why."""

    task: str
    trial: int
    reason: str


def pair_up(rows: Sequence[Row], first: str, second: str) -> tuple[list[Pair], list[LeftOut]]:
    sides: dict[tuple[str, int], dict[str, Row]] = defaultdict(dict)
    for row in rows:
        if row.condition in (first, second):
            sides[row.task, row.trial][row.condition] = row
    pairs: list[Pair] = []
    left_out: list[LeftOut] = []
    for (task, trial), found in sorted(sides.items()):
        reason = _unpairable(found, first, second)
        if reason:
            left_out.append(LeftOut(task, trial, reason))
        else:
            pairs.append((found[first], found[second]))
    return pairs, left_out


def _unpairable(found: dict[str, Row], first: str, second: str) -> str:
    """Why these episodes are no pair; empty when they are one."""
    for condition in (first, second):
        if condition not in found:
            return f"no episode under {condition}"
    for condition in (first, second):
        if errored(found[condition]):
            return f"error under {condition}: {found[condition].error or 'grader'}"
    one, other = found[first], found[second]
    for what, a, b in (
        ("task", one.version, other.version),
        ("team", one.source.team_digest, other.source.team_digest),
        ("code", one.source.code, other.source.code),
        ("team", one.source.team, other.source.team),
        ("backend", one.source.backend, other.source.backend),
        ("image", one.image, other.image),
    ):
        if a != b:
            return f"the {what} differs between {first} and {second}"
    return ""
