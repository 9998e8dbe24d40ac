"""Which candidates of a calibration are weighed: one population, wherever they are counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from rolewall.rows import Row

__all__ = ["APART", "CHANGED", "Place", "kept_apart", "places", "unpaired", "why_apart"]

Place = tuple[str, str, str, int]
UNTOUCHED = "the untouched workspace, which an empty diff gives away"
BESIDE = "the solution beside an untouched workspace"
CHANGED = "graded otherwise than when it was chosen"
APART = (UNTOUCHED, BESIDE, CHANGED)
"""Why a candidate is left out."""


def why_apart(kind: str, bad: str, grade: str) -> str:
    """Why a candidate of this ``kind``, in a pair with this failing work, is not weighed;
    empty where it is, and for what is no candidate."""
    if kind and grade != ("pass" if kind == "solution" else "fail"):
        return CHANGED
    if kind == "untouched":
        return UNTOUCHED
    return BESIDE if bad == "untouched" else ""


def kept_apart(row: Row) -> str:
    """``why_apart`` of an episode without error."""
    return why_apart(row.kind, row.bad, row.grade)


def unpaired(rows: Iterable[Row]) -> tuple[int, str]:
    """Of candidates under one condition, how many are there without their twins; and a pair
    that is none, in words."""
    found: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        if row.pair is not None:
            found[row.task, row.pair].append(row)
    for (task, pair), both in sorted(found.items()):
        kinds = sorted(row.kind for row in both)
        bad = both[0].bad
        if any(row.bad != bad for row in both) or kinds not in _pairs(bad):
            return 0, f"pair {pair} of {task} is {' and '.join(kinds)}"
    return sum(len(both) == 1 for both in found.values()), ""


def _pairs(bad: str) -> list[list[str]]:
    return [[bad], ["solution"], sorted(["solution", bad])]


def places(rows: Sequence[Row]) -> Iterator[tuple[Place, Row]]:
    """Each row with what it is paired by: its task and trial; of a candidate, whose trial is
    drawn by lot in every calibration, its content and which showing of it this is."""
    shown: Counter[tuple[str, str, str]] = Counter()
    for row in sorted(rows, key=lambda r: r.pair or 0):
        if row.pair is None:
            yield (row.task, "", "", row.trial), row
            continue
        same = (row.task, row.candidate, row.bad)
        yield (*same, shown[same]), row
        shown[same] += 1
