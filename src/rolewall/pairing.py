"""Pairing: which episodes of two conditions, or runs, belong together, and which do not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rolewall.errors import InputError
from rolewall.frozen import Place, kept_apart, places
from rolewall.rows import Row
from rolewall.sources import one_source
from rolewall.tally import errored

__all__ = ["LeftOut", "Pair", "pair_runs", "pair_up"]

Pair = tuple[Row, Row]


@dataclass(frozen=True)
class LeftOut:
    """An episode, or a would-be pair, that is in no comparison, and why."""

    task: str
    trial: int
    reason: str


Paired = tuple[list[Pair], list[LeftOut]]


def pair_up(rows: Sequence[Row], first: str, second: str) -> Paired:
    """Pair the rows of two conditions on (task, trial), candidates on what they are.

    Raises InputError where one of them was made in several ways: by two models, say, each of
    which would do some of the tasks. A pair of two teams, verifiers or models is left out.
    """
    sides = [[r for r in rows if r.condition == name] for name in (first, second)]
    return _pair(sides, (first, second), one_team=True)


def pair_runs(first: Sequence[Row], second: Sequence[Row], names: tuple[str, str]) -> Paired:
    """Pair the rows of two runs on (task, trial), candidates on what they are; their teams
    may differ from each other.

    Raises InputError where one run was made in several ways.
    """
    return _pair([first, second], names, one_team=False)


def _pair(sides: Iterable[Sequence[Row]], names: tuple[str, str], *, one_team: bool) -> Paired:
    found: dict[Place, dict[str, Row]] = defaultdict(dict)
    for name, rows in zip(names, sides, strict=True):
        for place, row in places(rows):
            at = found[place]
            if name in at:
                raise InputError(
                    f"several episodes of one task and trial under {name}",
                    place=f"{row.task} trial {row.trial}",
                    got=" and ".join(map(_made, (at[name], row))),
                    expected="one team at a time",
                    hint="choose one by --only, such as --only team=NAME",
                )
            at[name] = row
        one_source(rows, name)
    pairs: list[Pair] = []
    left_out: list[LeftOut] = []
    for (task, *_), both in sorted(found.items()):
        reason = _unpairable(both, names, one_team)
        if reason:
            left_out.append(LeftOut(task, next(iter(both.values())).trial, reason))
        else:
            pairs.append((both[names[0]], both[names[1]]))
    return pairs, left_out


def _unpairable(found: dict[str, Row], names: tuple[str, str], one_team: bool) -> str:
    """Why these episodes are no pair; empty when they are one."""
    for name in names:
        if name not in found:
            return f"no episode under {name}"
    for name in names:
        if errored(found[name]):
            return f"error under {name}: {found[name].error or 'grader'}"
    for name in names:
        if why := kept_apart(found[name]):
            return why
    one, other = (found[name] for name in names)
    for what, a, b in (
        ("task", one.version, other.version),
        ("candidate", one.candidate, other.candidate),
        *(
            (
                ("team", one.source.team_digest, other.source.team_digest),
                ("team", one.source.team, other.source.team),
                ("verifier", one.source.verifier, other.source.verifier),
                ("model", one.source.model, other.source.model),
            )
            if one_team
            else ()
        ),
        ("code", one.source.code, other.source.code),
        ("backend", one.source.backend, other.source.backend),
        ("image", one.image, other.image),
    ):
        if a != b:
            return f"the {what} differs between {names[0]} and {names[1]}"
    return ""


def _made(row: Row) -> str:
    """Who made an episode, in words."""
    made = row.source
    return " ".join(filter(None, (made.team, made.verifier, made.model))) or "no team named"
