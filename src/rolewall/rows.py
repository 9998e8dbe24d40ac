"""An episode as statistics see it: one row, whether it comes from a run of ours or from
another harness's table."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from rolewall.errors import ModelUnavailable, RecordError
from rolewall.patterns import found_in
from rolewall.record import EpisodeRecord, Grade, Verdict
from rolewall.tally import (
    attempted,
    distinct_edits,
    landed_edits,
    peeked,
    repaired,
    unfinished_phases,
)

__all__ = ["Judged", "Row", "Source", "Trust", "alike", "refuse_repeats", "repeats", "row_of"]

Trust = Literal["outside", "in-process", "untrusted"]

# Shown as nothing, although Unicode calls them letters, marks or a symbol.
BLANK = {*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), 0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5,
         0x180B, 0x180C, 0x180D, 0x180F, 0x2800}  # fmt: skip


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
    @property
    def verified(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Source:
    """How rows were made. Rows of several sources are never pooled; empty is not known.

    ``verifier`` and ``model`` are what another harness's records say of themselves.
    """

    team: str = ""
    team_digest: str = ""
    backend: str = ""
    code: str = ""
    verifier: str = ""
    model: str = ""


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
        failures: outcomes of phases whose agent failed or was ended; None where phases are
            not known.
        score: the grader's partial score.
        seconds: from the episode's start to its end.
        verified: whether the condition has a verifier. Without one ``verdict`` is
            ``missing`` and says nothing: it enters no account of verdicts.
        candidate: of a calibration, which frozen work was judged, by content; equal
            exactly where a verifier of another run was shown the same.
        kind: of that work: ``solution``, ``untouched`` or ``mutant``; ``fault`` is a
            mutant's kind of fault.
        replayed: whether an earlier episode was played again, or its models' answers given.
        unanswered: earlier tries of it that ended since a model's endpoint gave no answer.
        pair: of that work: which pair of its task; ``bad`` is the kind of the pair's failing work.
        optimistic, echo, rewrite: whether a phase of the verifier has that pattern; see
            ``rolewall.patterns``.
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
    repaired: bool | None = None
    failures: tuple[str, ...] | None = None
    score: float | None = None
    seconds: float | None = None
    verified: bool = True
    candidate: str = ""
    kind: str = ""
    fault: str = ""
    optimistic: bool | None = None
    echo: bool | None = None
    rewrite: bool | None = None
    pair: int | None = None
    bad: str = ""
    replayed: bool = False
    unanswered: int = 0

    @property
    def name(self) -> str:
        return f"{self.task}:{self.condition}:{self.trial}"

    @property
    def corrupt(self) -> bool | None:
        """Whether the work passes and a cross-role edit landed."""
        return None if self.landed is None else self.grade == "pass" and self.landed > 0


def row_of(record: EpisodeRecord) -> Row:
    """The row of an episode's record."""
    last = record.last_grade
    failures, candidate = unfinished_phases([record]), record.candidate
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
        verified=record.verified,
        **found_in(record),
        candidate=candidate.sha256 if candidate else "",
        kind=candidate.kind if candidate else "",
        fault=candidate.fault if candidate else "",
        pair=candidate.pair if candidate else None,
        bad=candidate.bad if candidate else "",
        replayed=bool(record.replay_of),
        unanswered=sum(error.kind == ModelUnavailable.__name__ for error in record.tries),
    )


def alike(name: str) -> str:
    """What tells names apart for who reads them: equal for two that differ in case, in
    spaces, in the way one character is encoded, or in what is not shown."""
    if name.isascii() and name.isprintable():
        return " ".join(name.casefold().split())
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    shown = (
        sign for sign in folded
        if unicodedata.category(sign) not in ("Cc", "Cf") and ord(sign) not in BLANK
    )  # fmt: skip
    return " ".join("".join(shown).split())


def repeats(rows: Iterable[Row]) -> Iterator[str]:
    """Where two rows are of one episode, one is a copy of another, or one task has two
    spellings, in words."""
    seen: dict[tuple[str, ...], Row] = {}
    spelt: dict[str, str] = {}
    names: set[str] = set()
    for row in rows:
        if row.task not in names:
            names.add(row.task)
            if (first := spelt.setdefault(alike(row.task), row.task)) != row.task:
                yield f"two spellings of one task: {first!a} and {row.task!a}"
        for mark in _marks(row):
            if (other := seen.setdefault(mark, row)) is not row:
                yield f"two records of one {mark[0]}: {_words(other)} and {_words(row)}"
                break


def refuse_repeats(rows: Iterable[Row], place: str) -> None:
    """Raises RecordError where ``repeats`` finds one."""
    for words in repeats(rows):
        raise RecordError(words, place=place, expected="each once")


def _marks(row: Row) -> list[tuple[str, ...]]:
    made = row.source
    marks: list[tuple[str, ...]] = [("episode", row.name, made.team, made.verifier, made.model)]
    if row.key:
        marks.insert(0, ("key", row.key))
    return [*marks, ("ledger", row.mark)] if row.mark else marks


def _words(row: Row) -> str:
    return f"{row.name} ({row.key})" if row.key else row.name
