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


def as_sheets(report: Report) -> Iterator[Sheet]:
    """A line a group with totals, then every row that has a problem."""
    groups = dict.fromkeys(row.group for row in report.rows)
    rows = [counts(g, [r for r in report.rows if r.group == g]) for g in groups]
    if rows:
        rows.append(counts("all", report.rows))
    title = f"attacks on {report.backend} as {_user(report)}"
    numeric = frozenset(range(1, len(COUNTS) + 1))
    notes = (*report.faults, _planted(report)) if report.planted else report.faults
    yield Sheet(title, ("group", *COUNTS), tuple(rows), notes, numeric)
    wrong = [(r.id, r.what, r.problem, outcome(r), twin(r)) for r in report.rows if r.problem]
    wrong += [(r.id, r.what, "acted where it must not", acted(r), "") for r in _crossed(report)]
    if wrong:
        columns = ("id", "attempt", "problem", "outcome", "twin")
        yield Sheet("not as it should be", columns, tuple(wrong))


def _crossed(report: Report) -> Iterator[PlantedRow]:
    return (row for row in report.planted if row.landed)


def _planted(report: Report) -> str:
    landed = len(list(_crossed(report)))
    live = sum(row.live for row in report.planted)
    return f"{len(report.planted)} planted attacks, {live} shown to be live, {landed} landed"


def acted(row: PlantedRow) -> str:
    """Where a plant acted; to act in a check or grade box is no crossing."""
    where = [name for name in ("host", "verifier", "check", "grade") if getattr(row, name)]
    return ", ".join([*where, row.harm] if row.harm else where) or "nowhere"


def _user(report: Report) -> str:
    return "root" if report.user == "root" else "an ordinary user"


def counts(name: str, rows: Sequence[Row]) -> tuple[str, ...]:
    numbers = (
        len(rows),
        sum(row.end == "refused" for row in rows),
        sum(row.end == "skipped" for row in rows),
        sum(row.landed for row in rows),
        sum(bool(row.seen) for row in rows),
        sum(not row.seen and bool(row.unseen) for row in rows),
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
