"""Every attempt of the suite, on each backend, by root and by an ordinary user."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.attacks import make_tree, report_of
from rolewall.attacks.outcome import Side, join, read_side
from rolewall.attacks.payload import load
from rolewall.rundir import open_run
from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from attacks.conftest import Shown
    from conftest import User

TRIED = load()
# With bubblewrap an ordinary user plays it by ``rolewall doctor --attack``, in a test of that.
ELSEWHERE = [
    pytest.param("root", "bubblewrap", marks=[pytest.mark.root, pytest.mark.bubblewrap]),
    pytest.param("root", "docker", marks=[pytest.mark.root, pytest.mark.docker]),
    pytest.param("ordinary", "docker", marks=[pytest.mark.root, pytest.mark.docker]),
]


@pytest.mark.pain(11)
@pytest.mark.pain(14)
@pytest.mark.pain(22)
@pytest.mark.parametrize(("user", "backend"), ELSEWHERE, indirect=True)
def test_nothing_lands_and_all_that_has_effect_is_seen(
    user: User, backend: Backend, shown: Shown
) -> None:
    """Behind the wall and, with the same calls, without: by ``rolewall compare``."""
    run = _compared(user, backend)
    shown(report_of(run, backend.name, user.name))
    assert user.cli("audit", run).code == 0
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
