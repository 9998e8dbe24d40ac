"""What a hostile executor plants acts nowhere but where somebody runs the work, and harms nobody.

Every plant has been seen to act: the executor is careless with it in its own box.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.attacks.planted import PlantedRow, make_planted_tree, rows_of
from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from conftest import User


@pytest.fixture
def host() -> Iterator[Path]:
    """A directory of the host that every user may reach and write."""
    with tempfile.TemporaryDirectory(prefix="rolewall-planted-host-") as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.mark.pain(7)
@pytest.mark.pain(8)
@pytest.mark.pain(10)
@pytest.mark.pain(24)
def test_no_plant_acts_on_the_host_or_beside_the_verdict(
    user: User, backend: Backend, host: Path
) -> None:
    tree = user.directory("planted")
    team, task = make_planted_tree(tree, host)
    user.give(tree)
    done = user.cli("run", team, "--tasks", task, "--backend", backend.name, "-o", tree / "run")
    assert done.code == 0, done.err
    rows = rows_of(tree / "run", host)
    assert [row.id for row in rows if not row.live] == [], "each plant is alive somewhere"
    assert [row for row in rows if row.landed] == []
    _acted_where_the_work_ran(rows)
    audit = user.cli("audit", tree / "run")
    assert audit.code == 0, audit.err


def _acted_where_the_work_ran(rows: tuple[PlantedRow, ...]) -> None:
    """The check and the grade box are there for that, so the plants show there too."""
    groups = Counter(row.group for row in rows)
    assert groups["git"] >= 40 and groups["python"] >= 20 and groups["process"] >= 6
    graded = {row.id for row in rows if row.grade}
    assert len([name for name in graded if name.startswith(("git-", "hook-"))]) >= 40
    # What lies in the planter's home is in no copy; byte code beside a source is not either.
    assert not [name for name in graded if name.startswith(("home-", "tmp-", "py-byte-code"))]
    checked = {row.id for row in rows if row.check}
    assert {"py-conftest", "py-plugin", "shim-python3", "bare-fsmonitor", "bash-env"} <= checked
    assert not [name for name in checked if name.startswith(("git-", "hook-", "home-"))]
