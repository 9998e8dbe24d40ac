"""``rolewall clean``: what a killed harness left is removed, what a living one has is not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.sandbox import Backend
from rolewall.sandbox.kit import _parent as kits
from rolewall.sandbox.owner import Owner

if TYPE_CHECKING:
    from conftest import Cli


def kits_of(harness: int) -> list[Path]:
    found = ((path, Owner.parse(path.name)) for path in kits().iterdir())
    return [path for path, owner in found if owner and owner.pid == harness]


@contextmanager
def executing(zone: Path, backend: Backend) -> Iterator[subprocess.Popen[bytes]]:
    """An ``exec`` whose command runs and waits."""
    words = [sys.executable, "-m", "rolewall", "exec", "--role", "verifier", "--backend",
             backend.name, "--zone", f"data={zone}:read", "--",
             "sh", "-c", "echo ready; exec sleep 300"]  # fmt: skip
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    with process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.kill()


@pytest.fixture
def zone(tmp_path: Path) -> Path:
    (tmp_path / "zone").mkdir()
    return tmp_path / "zone"


@pytest.mark.pain(17)
def test_a_dead_harness_is_cleaned_up_after_and_a_living_one_left_alone(
    cli: Cli, zone: Path, tmp_path: Path, backend: Backend
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with executing(zone, backend) as dead, executing(other, backend) as living:
        (left,), (kept,) = kits_of(dead.pid), kits_of(living.pid)
        dead.kill()
        dead.wait(timeout=60)
        done = cli("clean", "--json")
        assert done.code == 0, done.err
        assert not left.exists() and not kits_of(dead.pid)
        assert kept.exists() and living.poll() is None
        assert not any(kept.name in line for line in done.json["removed"])


def test_with_nothing_of_ones_own_left_it_is_quiet_on_standard_output(
    cli: Cli, zone: Path, backend: Backend
) -> None:
    with executing(zone, backend) as living:
        done = cli("clean")
        assert done.code == 0 and done.out == ""
        assert done.err.splitlines()[-1].endswith((" thing removed", " things removed"))
        assert living.poll() is None and kits_of(living.pid)
