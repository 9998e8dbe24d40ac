"""What a hostile executor plants acts nowhere but where somebody runs the work, and harms nobody.

Every plant has been seen to act: the executor is careless with it in its own box.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.attacks.planted import make_planted_tree, rows_of
from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from attacks.conftest import Acted
    from conftest import User

# With bubblewrap an ordinary user plays them by ``rolewall doctor --attack``, in a test of that.
ELSEWHERE = [
    pytest.param("root", "bubblewrap", marks=[pytest.mark.root, pytest.mark.bubblewrap]),
    pytest.param("root", "docker", marks=[pytest.mark.root, pytest.mark.docker]),
    pytest.param("ordinary", "docker", marks=[pytest.mark.root, pytest.mark.docker]),
]


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
@pytest.mark.parametrize(("user", "backend"), ELSEWHERE, indirect=True)
def test_no_plant_acts_on_the_host_or_beside_the_verdict(
    user: User, backend: Backend, host: Path, acted: Acted
) -> None:
    tree = user.directory("planted")
    team, task = make_planted_tree(tree, host)
    user.give(tree)
    done = user.cli("run", team, "--tasks", task, "--backend", backend.name, "-o", tree / "run")
    assert done.code == 0, done.err
    acted(rows_of(tree / "run", host))
    audit = user.cli("audit", tree / "run")
    assert audit.code == 0, audit.err
