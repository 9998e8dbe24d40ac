"""Every attempt of the suite, on each backend, by root and by an ordinary user."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.attacks import Report, Row, make_tree, report_of
from rolewall.attacks.outcome import Side, join, read_side
from rolewall.attacks.payload import load
from rolewall.rundir import open_run
from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from conftest import User

PAGE = Path(__file__).parents[2] / "docs" / "attacks.md"
TRIED = load()


@pytest.mark.pain(11)
@pytest.mark.pain(14)
@pytest.mark.pain(22)
def test_nothing_lands_and_all_that_has_effect_is_seen(user: User, backend: Backend) -> None:
    """Behind the wall and, with the same calls, without: by ``rolewall compare``."""
    run = _compared(user, backend)
    report = report_of(run, backend.name, user.name)
    assert [(row.id, row.changed) for row in report.rows if row.landed] == []
    assert [(row.id, row.problem, row.error) for row in report.rows if row.problem] == []
    assert report.faults == ()
    assert {row.id for row in report.rows} == {attempt.id for attempt in TRIED}
    assert user.cli("audit", run).code == 0
    for row in report.rows:
        _has_its_traces(row)
    _as_the_document_says(report)
    sides = {r.condition: read_side(run / "episodes" / r.key, r) for r in open_run(run).records}
    _would_be_told(sides["enforced"], sides["prompt-only"])


def _compared(user: User, backend: Backend) -> Path:
    tree = user.directory("attack")
    team, task = make_tree(tree)
    user.give(tree)
    done = user.cli("compare", team, "--tasks", task, "--backend", backend.name,
                    "--jobs", 2, "-o", tree / "run")  # fmt: skip
    assert done.code == 0, done.err
    return tree / "run"


def _has_its_traces(row: Row) -> None:
    """No more is expected of the ledger than was, and what it holds was not let through."""
    if row.end == "skipped":
        return
    assert row.end == "refused" and row.error not in ("", "ENOEXEC"), row
    assert bool(row.seen) != bool(row.unseen), (row.id, row.seen, row.unseen)
    if row.twin == "zone" and not row.unseen:
        assert "edit blocked" in row.seen, (row.id, row.seen)
    assert not [seen for seen in row.seen if seen == "edit allowed"], row.id


def _would_be_told(enforced: Side, open_side: Side) -> None:
    """The same reading, of an episode without a wall and of one without a ledger, is a fault."""
    zones = {a.id for a in TRIED if a.twin == "zone"}
    broken = {row.id: row.problem for row in join(TRIED, open_side, open_side)}
    here = {i for i in zones if open_side.told["attack", i]["end"] != "skipped"}
    assert {name for name in here if broken[name] != "landed"} == set()
    assert sum(bool(open_side.changed.get(name)) for name in zones) >= 100
    blind = Side(enforced.told, enforced.changed, {}, enforced.unattributed, ())
    due = {
        a.id for a in TRIED if not a.unseen and enforced.told["attack", a.id]["end"] == "refused"
    }
    unseen = {row.id for row in join(TRIED, blind, open_side) if row.problem == "went unseen"}
    assert unseen == due


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


def test_the_catalogue_is_broad() -> None:
    groups = Counter(attempt.group for attempt in TRIED)
    assert len(TRIED) >= 300
    assert groups["names"] >= 35 and groups["contents"] >= 25 and groups["metadata"] >= 35
    assert groups["routes"] >= 30 and groups["hidden"] >= 25
    assert [a.id for a in TRIED if len(a.what) > 90] == []
    reasons = {attempt.unseen for attempt in TRIED if attempt.unseen}
    assert min(map(len, reasons)) > 10


def test_what_a_module_calls_an_attempt_is_checked() -> None:
    from rolewall.attacks.payload.attempt import attempt

    for name, twin in (("Upper", "zone"), ("sixteen-letters-", "zone"), ("", "own"), ("a", "no")):
        with pytest.raises(ValueError, match="not an attempt"):
            attempt(name, "", twin=twin)
