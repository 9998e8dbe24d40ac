"""``rolewall clean``: what a killed harness left is removed, what a living one has is not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.sandbox import Backend
from rolewall.sandbox.kit import kits_directory as kits
from rolewall.sandbox.owner import Owner

if TYPE_CHECKING:
    from conftest import Cli, User


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


@pytest.mark.root
def test_where_a_user_can_have_nothing_nothing_is_left(ordinary: User, tmp_path: Path) -> None:
    """As after ``su`` without a login: the environment is another user's."""
    tmp_path.chmod(0o700)
    ordinary.env.update(XDG_RUNTIME_DIR="/run/user/none/of/mine", XDG_CACHE_HOME=str(tmp_path))
    done = ordinary.cli("clean")
    assert done.code in (0, 3) and "bug in rolewall" not in done.err, done.err
    assert "/run/user/none" not in done.err
    zone = ordinary.directory("zone")
    done = ordinary.cli("exec", "--backend", "bubblewrap", "--role", "a", "--zone",
                        f"workspace={zone}:read", "--", "true")  # fmt: skip
    assert done.code == 125 and "/run/user/none" in done.err and "bug" not in done.err, done.err


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory as /tmp is; its path is short, for a socket lies below it."""
    with tempfile.TemporaryDirectory(prefix="rw-") as name:
        os.chmod(name, 0o1777)
        yield Path(name)


@pytest.mark.root
@pytest.mark.bubblewrap
@pytest.mark.parametrize("what", ["file", "directory", "link"])
def test_another_users_thing_of_the_name_of_ones_kits_is_no_obstacle(
    ordinary: User, shared: Path, what: str
) -> None:
    taken = shared / f"rolewall-{ordinary.uid}"
    if what == "file":
        taken.touch()
    elif what == "directory":
        taken.mkdir(mode=0o700)
    else:
        taken.symlink_to("/nonexistent/x")
    del ordinary.env["XDG_RUNTIME_DIR"]
    ordinary.env["TMPDIR"] = str(shared)
    zone = ordinary.directory("zone")
    for _ in range(2):
        done = ordinary.cli("exec", "--backend", "bubblewrap", "--role", "a", "--zone",
                            f"workspace={zone}:write", "--", "touch", "/workspace/x")  # fmt: skip
        assert done.code == 0 and (zone / "x").exists(), done.err
    (place,) = shared.glob(f"{taken.name}-*")
    assert (place.stat().st_uid, place.stat().st_mode & 0o777) == (ordinary.uid, 0o700)
    dead = Owner(Owner.me().namespace, Owner.me().pid, 1)
    left = place / f"rolewall-{dead.namespace}-{dead.pid}-{dead.started}-00"
    left.mkdir()
    ordinary.give(left)
    done = ordinary.cli("clean", "--json")
    assert f"kit {left.name}" in done.json["removed"] and not left.exists(), done.err
