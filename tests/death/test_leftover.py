"""What a killed harness leaves is removed by the next ``clean`` or ``run``; what a living one
has, or another user, is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.sandbox.owner import Owner, new_name

if TYPE_CHECKING:
    from conftest import Cli, User

pytestmark = pytest.mark.pain(17)

WAIT = 60
SLOW = """
import sys, time
from rolewall.sandbox import temporary_directory
with temporary_directory() as path:
    (path / "below").mkdir(mode=0o000)
    print(path, flush=True)
    time.sleep(300)
"""


@contextmanager
def holding(tmp: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process with a temporary directory of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp)},
    )
    with process:
        try:
            assert process.stdout
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


@pytest.mark.bubblewrap
def test_a_temporary_directory_goes_with_its_dead_harness_alone(cli: Cli, tmp_path: Path) -> None:
    with holding(tmp_path) as (dead, left), holding(tmp_path) as (_, kept):
        assert left.is_dir() and left.parent == tmp_path
        others = [tmp_path / "rolewall-notes", tmp_path / "rolewall-1-2-3", tmp_path / "x"]
        for path in others:
            path.mkdir()
        dead.kill()
        dead.wait(WAIT)
        done = cli("clean", "--json", env={"TMPDIR": str(tmp_path)})
        assert done.code == 0, done.err
        assert not left.exists() and f"directory {left}" in done.json["removed"]
        assert kept.is_dir() and all(path.is_dir() for path in others)


@pytest.mark.bubblewrap
def test_a_harness_that_nobody_waited_for_is_dead(cli: Cli, tmp_path: Path) -> None:
    """In a container often nobody does, and it stays a zombie."""
    with holding(tmp_path) as (dead, left):
        os.kill(dead.pid, signal.SIGKILL)
        os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
        assert Path(f"/proc/{dead.pid}").exists()
        assert cli("clean", env={"TMPDIR": str(tmp_path)}).code == 0
        assert not left.exists()


@pytest.mark.root
@pytest.mark.bubblewrap
def test_names_that_another_user_chose_are_not_believed(cli: Cli, tmp_path: Path) -> None:
    """In a directory that all may write to."""
    me = Owner.me()
    dead = new_name().replace(f"-{me.pid}-", "-999999999-")
    planted, linked, own = (tmp_path / f"{dead}{n}" for n in (1, 2, 3))
    victim = tmp_path / "victim"
    for path in (planted, victim, own):
        path.mkdir()
        (path / "file").touch()
    os.chown(planted, 64101, 64101)
    linked.symlink_to(victim)
    assert cli("clean", env={"TMPDIR": str(tmp_path)}).code == 0
    assert (planted / "file").exists() and (victim / "file").exists()
    assert not own.exists()  # the twin: this user's own


@pytest.mark.root
@pytest.mark.bubblewrap
@pytest.mark.parametrize("how", ["clean", "run"])
def test_exec_that_was_killed(user: User, tmp_path: Path, how: str) -> None:
    zone = user.directory("zone")
    tmp = user.directory("tmp")
    user.env["TMPDIR"] = str(tmp)
    words = ("-m", "rolewall", "exec", "--role", "verifier", "--backend", "bubblewrap",
             "--zone", f"data={zone}:read", "--", "sh", "-c", "echo ready; sleep 300")  # fmt: skip
    with user.process(words) as process:
        try:
            assert process.stdout and process.stdout.readline() == "ready\n"
            assert [Owner.parse(path.name) is not None for path in tmp.iterdir()] == [True]
        finally:
            process.kill()
    if how == "clean":
        done = user.cli("clean")
    else:
        tasks, team = _small(user)
        done = user.cli("run", team, "--tasks", tasks, "--backend", "bubblewrap", "-o",
                        user.home / "out")  # fmt: skip
    assert done.code == 0, done.err
    assert list(tmp.iterdir()) == []


def _small(user: User) -> tuple[Path, Path]:
    from_init = user.cli("init", user.home / "start")
    assert from_init.code == 0, from_init.err
    team = next((user.home / "start").rglob("team.yaml"))
    tasks = sorted(path.parent for path in (user.home / "start").rglob("task.yaml"))
    return tasks[0], team


@pytest.mark.bubblewrap
def test_a_run_killed_before_its_description_was_written(cli: Cli, tmp_path: Path) -> None:
    """What an unfinished write left is no reason to refuse the directory."""
    done = cli("init", tmp_path / "start")
    assert done.code == 0, done.err
    team = next((tmp_path / "start").rglob("team.yaml"))
    task = sorted(path.parent for path in (tmp_path / "start").rglob("task.yaml"))[0]
    out, other = tmp_path / "out", tmp_path / "other"
    for path in (out, other):
        path.mkdir()
        (path / ".partial-abc").write_text("{")
        (path / ".lock").touch()
    (other / "notes").touch()
    words = ["run", team, "--tasks", task, "--backend", "bubblewrap", "-o"]
    done = cli(*words, out)
    assert done.code == 0, done.err
    assert not (out / ".partial-abc").exists()
    refused = cli(*words, other)
    assert refused.code == 2 and (other / ".partial-abc").exists()
