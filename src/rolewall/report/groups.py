"""Rows that may be counted together: of one source, under one condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rolewall.candidate import CALIBRATE
from rolewall.frozen import kept_apart
from rolewall.records import Dataset
from rolewall.rows import Row, Source
from rolewall.tally import errored

__all__ = ["Group", "groups_of"]

SHORT = 8
WAYS: tuple[Callable[[Source], tuple[str, ...]], ...] = (
    lambda s: (s.team,),
    lambda s: (s.team, s.verifier, s.model),
    lambda s: (s.team, s.verifier, s.model, s.team_digest[:SHORT]),
    lambda s: (s.team, s.verifier, s.model, s.team_digest[:SHORT], s.backend, s.code[:SHORT]),
)


@dataclass(frozen=True)
class Group:
    """``graded`` are the rows that may enter a rate; ``apart`` candidates of a calibration
    that the gate leaves out too; ``absent`` more were planned, where a plan is known."""

    name: str
    source: Source
    condition: str
    rows: tuple[Row, ...]
    graded: tuple[Row, ...]
    apart: tuple[Row, ...] = ()
    absent: int = 0
    planned: bool = False

    @property
    def verified(self) -> bool:
        """Whether there is a verifier to judge, in any of them."""
        return not self.rows or any(row.verified for row in self.rows)

    @cached_property
    def judged(self) -> tuple[Row, ...]:
        """Those of ``graded`` that have a verifier, which is all or none but in records that
        put two kinds of team under one name: what is said of verdicts is of these."""
        return tuple(row for row in self.graded if row.verified)

    @property
    def unverified(self) -> list[Row]:
        """Those of ``graded`` that have none, where others have one."""
        return [row for row in self.graded if not row.verified] if self.verified else []

    @property
    def calibration(self) -> bool:
        return self.condition.startswith(CALIBRATE)


def groups_of(found: Dataset) -> tuple[Group, ...]:
    """One group a source and condition, conditions in the order they were planned.

    A planned condition without a row is a group of none, where there is one source.
    """
    made: dict[tuple[Source, str], list[Row]] = {}
    sources = list(dict.fromkeys(row.source for row in found.rows)) or [Source()]
    if len(sources) == 1:
        made = {(sources[0], condition): [] for condition in found.conditions}
    places = {source: place for place, source in enumerate(sources)}
    planned = {condition: place for place, condition in enumerate(found.conditions)}
    for row in sorted(found.rows, key=lambda r: (places[r.source], _place(planned, r))):
        made.setdefault((row.source, row.condition), []).append(row)
    names = _source_names(sources)
    return tuple(
        Group(
            name=f"{names[source]}, {condition}" if names[source] else condition,
            source=source,
            condition=condition,
            rows=tuple(rows),
            graded=tuple(row for row in rows if not errored(row) and not kept_apart(row)),
            apart=tuple(row for row in rows if not errored(row) and kept_apart(row)),
            absent=found.absent.get(condition, 0) if len(sources) == 1 else 0,
            planned=found.run is not None,
        )
        for (source, condition), rows in made.items()
    )


def _place(planned: Mapping[str, int], row: Row) -> tuple[int, str, str, int]:
    return planned.get(row.condition, len(planned)), row.condition, row.task, row.trial


def _source_names(sources: Sequence[Source]) -> dict[Source, str]:
    """What tells sources apart, as short as it can be; empty where there is one."""
    if len(sources) == 1:
        return {sources[0]: ""}
    for way in WAYS:
        names = {source: _joined(way(source)) for source in sources}
        if len(set(names.values())) == len(sources) and all(names.values()):
            return names
    return {source: f"source {number}" for number, source in enumerate(sources, 1)}


def _joined(parts: Sequence[str]) -> str:
    return " ".join(filter(None, parts))
