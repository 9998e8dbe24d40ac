"""An episode as statistics see it: one row, whether it comes from a run of ours or from
another harness's table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from rolewall.record import EpisodeRecord, Grade, Verdict
from rolewall.tally import (
    attempted,
    distinct_edits,
    landed_edits,
    peeked,
    repaired,
    unfinished_phases,
)

__all__ = ["Judged", "Row", "Source", "Trust", "repeats", "row_of"]

Trust = Literal["outside", "in-process", "untrusted"]


class Judged(Protocol):
    """What the accounting needs of an episode: records and rows both have it."""

    @property
    def task(self) -> str: ...
    @property
    def verdict(self) -> Verdict: ...
    @property
    def grade(self) -> Grade: ...
    @property
    def error(self) -> object: ...


@dataclass(frozen=True, slots=True)
class Source:
    """How rows were made. Rows of several sources are never pooled; empty is not known."""

    team: str = ""
    team_digest: str = ""
    backend: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One episode. ``None`` and empty are not known, and never taken for nought.

    Attributes:
        error: the kind of what ended the episode; it then enters no rate.
        key: the episode's directory in its run.
        mark: equal for copies of one episode (the head of its ledger).
        version: of the task, by content; ``image`` of the boxes.
        attempts: cross-role edits attempted, each call; ``edits`` distinct ones;
            ``landed`` entries changed by another role than their owner.
        peeks: distinct peeks, where reads were observed.
        repaired: whether the verifier turned failing work into passing work.
        failures: outcomes of phases whose agent failed or was ended.
        score: the grader's partial score.
        seconds: from the episode's start to its end.
    """

    task: str
    condition: str
    trial: int
    verdict: Verdict
    grade: Grade
    source: Source = Source()
    error: str | None = None
    key: str = ""
    mark: str = ""
    version: str = ""
    image: str = ""
    trust: Trust | None = None
    isolated: bool | None = None
    attempts: int | None = None
    edits: int | None = None
    landed: int | None = None
    peeks: int | None = None
    repaired: bool = False
    failures: tuple[str, ...] = ()
    score: float | None = None
    seconds: float | None = None

    @property
    def name(self) -> str:
        return f"{self.task}:{self.condition}:{self.trial}"


def row_of(record: EpisodeRecord) -> Row:
    """The row of an episode's record."""
    last = record.verdicts[-1].grade_after if record.verdicts else None
    failures = unfinished_phases([record])
    return Row(
        task=record.task,
        condition=record.condition,
        trial=record.trial,
        verdict=record.verdict,
        grade=record.grade,
        source=Source(
            record.team,
            record.digests.get("team", ""),
            record.backend,
            record.digests.get("code", ""),
        ),
        error=record.error.kind if record.error else None,
        key=record.key,
        mark=record.ledger_head if record.ledger_head.strip("0") else "",
        version=record.digests.get("task", ""),
        image=record.image,
        trust=record.trust,
        isolated=record.isolated,
        attempts=attempted(record),
        edits=distinct_edits(record),
        landed=landed_edits(record),
        peeks=peeked(record),
        repaired=repaired(record),
        failures=tuple(word for word, count in failures.items() for _ in range(count)),
        score=last.score if last else None,
        seconds=record.ended - record.started,
    )


def repeats(rows: Iterable[Row]) -> Iterator[str]:
    """Where two rows are of one episode, or one is a copy of another, in words."""
    seen: dict[tuple[str, ...], Row] = {}
    for row in rows:
        for mark in _marks(row):
            if (other := seen.setdefault(mark, row)) is not row:
                yield f"two records of one {mark[0]}: {_words(other)} and {_words(row)}"
                break


def _marks(row: Row) -> list[tuple[str, ...]]:
    marks: list[tuple[str, ...]] = [("episode", row.name, row.source.team)]
    if row.key:
        marks.insert(0, ("key", row.key))
    return [*marks, ("ledger", row.mark)] if row.mark else marks


def _words(row: Row) -> str:
    return f"{row.name} ({row.key})" if row.key else row.name
