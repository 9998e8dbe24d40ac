"""The suite's report as tables of a terminal: totals, and what is not as it should be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rolewall.attacks.outcome import Row
from rolewall.attacks.planted import PlantedRow
from rolewall.attacks.suite import Report
from rolewall.terminal import Sheet

__all__ = ["COUNTS", "acted", "as_sheets", "counts", "outcome", "twin"]

COUNTS = ("attempts", "refused", "not here", "landed", "seen", "unseen, why known", "twins")
BARE = "outside a box"
LEGEND = (
    "landed: changed what is another's; not here: this machine lacks the call; unseen, why known:"
    " no line in the ledger, for a reason that docs/attacks.md gives; twins: the same call was"
    " made where it must succeed, and did",
    "--markdown lists every attempt",
)


def as_sheets(report: Report) -> Iterator[Sheet]:
    """A line a group with totals, then every row that has a problem."""
    groups = dict.fromkeys(row.group for row in report.rows)
    rows = [counts(g, [r for r in report.rows if r.group == g]) for g in groups]
    if rows:
        rows.append(counts("all", report.rows))
    title = f"attacks on {report.backend} as {_user(report)}"
    numeric = frozenset(range(1, len(COUNTS) + 1))
    notes = (*report.faults, *report.lacking, *([_planted(report)] if report.planted else []))
    notes += (*LEGEND, _verdict(report))
    yield Sheet(title, ("group", *COUNTS), tuple(rows), notes, numeric)
    wrong = [(r.id, r.what, r.problem, outcome(r), twin(r)) for r in report.rows if r.problem]
    wrong += [(r.id, r.what, r.problem, acted(r), _live(r)) for r in report.planted if r.problem]
    if wrong:
        columns = ("id", "attempt", "problem", "outcome", "twin")
        yield Sheet("not as it should be", columns, tuple(wrong))


def _verdict(report: Report) -> str:
    if report.holds:
        return f"the wall holds on {report.backend}: nothing landed, and what is not seen is known"
    return f"NOT as it should be on {report.backend}"


def _live(row: PlantedRow) -> str:
    return "acts" if row.live else "NO: never acted"


def _planted(report: Report) -> str:
    landed = sum(row.landed for row in report.planted)
    live = sum(row.live for row in report.planted)
    planted = len(report.planted)
    return f"{planted} planted for whoever comes next: {live} act where they may, {landed} landed"


def acted(row: PlantedRow) -> str:
    """Where a plant acted; to act in a check or grade box is no crossing."""
    where = [name for name in ("host", "verifier", "check", "grade") if getattr(row, name)]
    return ", ".join([*where, row.harm] if row.harm else where) or "nowhere"


def _user(report: Report) -> str:
    return "root" if report.user == "root" else "an ordinary user"


def counts(name: str, rows: Sequence[Row]) -> tuple[str, ...]:
    made = [row for row in rows if row.end != "skipped"]
    numbers = (
        len(rows),
        sum(row.end == "refused" for row in rows),
        sum(row.end == "skipped" for row in rows),
        sum(row.landed for row in rows),
        sum(bool(row.seen) for row in made),
        sum(not row.seen and bool(row.unseen) for row in made),
        sum(row.twin_landed for row in rows),
    )
    return (name, *map(str, numbers))


def outcome(row: Row) -> str:
    """Outcome, error number, seen or not."""
    if row.end == "skipped":
        return f"not here ({row.error})"
    word = f"LANDED ({row.error})" if row.landed else _last(row.error)
    return f"{word}, {'seen' if row.seen else 'unseen'}"


def twin(row: Row) -> str:
    if row.twin == "bare":
        return BARE
    if row.twin_landed:
        return "lands" if row.twin == "zone" else "succeeds"
    if row.twin_end == "skipped":
        return f"not here ({row.twin_error})"
    return f"NO: {_last(row.twin_error)}"


def _last(text: str) -> str:
    """Of a traceback, what it ends with."""
    return text.splitlines()[-1] if text else "–"
