"""What a report says, as plain data; ``page`` turns it into HTML.

Texts are as they were found: they are escaped where they are shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rolewall.rows import Row

__all__ = [
    "AttemptLine",
    "Cell",
    "DiffView",
    "EpisodeView",
    "Links",
    "Pick",
    "Plot",
    "Report",
    "RowSet",
    "Section",
    "Table",
    "TimelineEntry",
    "VerdictLine",
]


@dataclass(frozen=True)
class RowSet:
    """The episodes behind a number, or several; ``anchor`` is where the page lists them."""

    anchor: str
    titles: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Cell:
    """A number or word; ``anchor`` leads to the episodes behind it, if there are any."""

    text: str
    anchor: str = ""


@dataclass(frozen=True)
class Table:
    """``rows`` have a heading and one cell for each of ``columns``."""

    caption: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plot:
    """``svg`` is safe HTML of our own making; ``reading`` says how to read it."""

    caption: str
    svg: str
    reading: str


@dataclass(frozen=True)
class Section:
    """``answers`` come first, in plain words."""

    anchor: str
    title: str
    answers: tuple[str, ...]
    parts: tuple[Table | Plot, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class AttemptLine:
    """Calls of one program at one place with one outcome; ``words`` says what they are."""

    at: float
    outcome: str
    words: str
    calls: int


@dataclass(frozen=True)
class DiffView:
    """One file that a phase changed. ``lines`` are of a unified diff, each with its kind
    (``add``, ``del``, ``hunk``, ``same``); ``words`` stand in place of or below them."""

    name: str
    change: str
    cross_role: bool
    lines: tuple[tuple[str, str], ...] = ()
    words: str = ""


@dataclass(frozen=True)
class VerdictLine:
    """A verdict beside the grades of the work before and after the verifier's phase."""

    verdict: str
    before: str
    after: str
    why: str
    claims: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


@dataclass(frozen=True)
class TimelineEntry:
    """One phase. ``facts`` are lines about it; ``left_out`` says what is not shown."""

    title: str
    failed: bool
    facts: tuple[str, ...]
    attempts: tuple[AttemptLine, ...] = ()
    diffs: tuple[DiffView, ...] = ()
    left_out: tuple[str, ...] = ()
    verdict: VerdictLine | None = None


@dataclass(frozen=True)
class Pick:
    """An episode worth a look, and why; no reasons where nothing stands out."""

    anchor: str
    row: Row
    why: tuple[str, ...]


@dataclass(frozen=True)
class EpisodeView:
    """One episode in full. Without a run directory there is no timeline."""

    pick: Pick
    facts: tuple[str, ...]
    timeline: tuple[TimelineEntry, ...] = ()
    tail: tuple[str, ...] = ()


@dataclass
class Links:
    """Gives each set of episodes an anchor, equal sets the same one."""

    sets: dict[tuple[int, ...], RowSet] = field(default_factory=dict)

    def cell(self, text: str, title: str, rows: list[Row]) -> Cell:
        """A cell that leads to ``rows``; to nowhere where there are none."""
        if not rows:
            return Cell(text)
        mark = tuple(map(id, rows))
        found = self.sets.get(mark) or RowSet(f"n{len(self.sets) + 1}", (), tuple(rows))
        if title not in found.titles:
            found = replace(found, titles=(*found.titles, title))
        self.sets[mark] = found
        return Cell(text, found.anchor)


@dataclass(frozen=True)
class Report:
    """All of it but the episodes in full, which are read one at a time as there is room.

    Attributes:
        facts: what the report is about, in lines.
        picks: every episode, those worth a look first.
        how: how to see an episode that is left out.
        full: whether episodes have timelines to be shown in full.
    """

    title: str
    facts: tuple[str, ...]
    sections: tuple[Section, ...]
    picks: tuple[Pick, ...]
    sets: tuple[RowSet, ...]
    how: str
    full: bool = True
