"""What every playing of the suite and of the plants must show, by whichever door."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rolewall.attacks import Report, Row
from rolewall.attacks.payload import load
from rolewall.attacks.planted import PlantedRow

Shown = Callable[[Report], None]
Acted = Callable[[Sequence[PlantedRow]], None]

PAGE = Path(__file__).parents[2] / "docs" / "attacks.md"


@pytest.fixture
def shown() -> Shown:
    """Holds a report of the suite against what is expected of it."""
    return _shown


def _shown(report: Report) -> None:
    assert [(row.id, row.changed) for row in report.rows if row.landed] == []
    assert [(row.id, row.problem, row.error) for row in report.rows if row.problem] == []
    assert report.faults == ()
    assert {row.id for row in report.rows} == {attempt.id for attempt in load()}
    for row in report.rows:
        _has_its_traces(row)
    _as_the_document_says(report)


def _has_its_traces(row: Row) -> None:
    """No more is expected of the ledger than was, and what it holds was not let through."""
    if row.end == "skipped":
        return
    assert row.end == "refused" and row.error not in ("", "ENOEXEC"), row
    assert bool(row.seen) != bool(row.unseen), (row.id, row.seen, row.unseen)
    if row.twin == "zone" and not row.unseen:
        assert "edit blocked" in row.seen, (row.id, row.seen)
    assert not [seen for seen in row.seen if seen == "edit allowed"], row.id


def _as_the_document_says(report: Report) -> None:
    """``docs/attacks.md`` lists this backend and user, with what landed and what was seen."""
    written = _column(f"{report.backend}, {report.user}")
    assert set(written) == {row.id for row in report.rows}, "docs/attacks.md is of other attempts"
    for row in report.rows:
        told = written[row.id]
        if row.end == "skipped" or told.startswith("not here"):
            continue  # that depends on the machine
        assert not told.startswith("LANDED"), row.id
        assert told.endswith(", seen" if row.seen else ", unseen"), (row.id, told)


def _column(name: str) -> dict[str, str]:
    """The cells of one backend and user, by id."""
    found, at = {}, -1
    for line in PAGE.read_text("utf-8").partition("## Unseen, and why")[0].splitlines():
        cells = line.removeprefix("| ").removesuffix(" |").split(" | ")
        if cells[0] == "attempt":
            at = cells.index(name)
        elif line.startswith("| `"):
            found[cells[0].strip("`")] = cells[at]
    return found


@pytest.fixture
def acted() -> Acted:
    """Holds the rows of the plants against what is expected of them."""
    return _acted


def _acted(rows: Sequence[PlantedRow]) -> None:
    """The check and the grade box are there for that, so the plants show there too."""
    assert [row.id for row in rows if not row.live] == [], "each plant is alive somewhere"
    assert [row for row in rows if row.landed] == []
    groups = Counter(row.group for row in rows)
    assert groups["git"] >= 40 and groups["python"] >= 20 and groups["process"] >= 6
    graded = {row.id for row in rows if row.grade}
    assert len([name for name in graded if name.startswith(("git-", "hook-"))]) >= 40
    # What lies in the planter's home is in no copy; byte code beside a source is not either.
    assert not [name for name in graded if name.startswith(("home-", "tmp-", "py-byte-code"))]
    checked = {row.id for row in rows if row.check}
    assert {"py-conftest", "py-plugin", "shim-python3", "bare-fsmonitor", "bash-env"} <= checked
    assert not [name for name in checked if name.startswith(("git-", "hook-", "home-"))]
