"""Asked to stop, in every way that a shell or a terminal has: an orderly end."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Cli, Studio
    from death.conftest import Death, Running

pytestmark = [pytest.mark.root, pytest.mark.pain(17)]

WAITING = {"steps": [{"run": "touch started; until [ -e go ]; do sleep 0.05; done; touch done"}]}


@pytest.fixture
def team(studio: Studio) -> Path:
    return studio.team(executor=WAITING, verifier={"verdict": "approve"})


def stopped(death: Death, running: Running, code: int, err: str) -> None:
    assert (code, "Traceback" in err) == (130, False), err
    assert not (running.out / "scratch").exists()
    assert death.left() == {}
    assert running.records() == []


@pytest.mark.parametrize(
    ("number", "times"), [(signal.SIGINT, 1), (signal.SIGTERM, 2), (signal.SIGHUP, 1)]
)
def test_once_or_twice(
    death: Death, studio: Studio, team: Path, number: signal.Signals, times: int
) -> None:
    running = death.start(team, studio.task().parent, "--trials", 2, "--jobs", 2)
    running.wait_started(2)
    for _ in range(times):
        running.process.send_signal(number)
    _, err = running.process.communicate(timeout=60)
    assert "interrupted" in err
    stopped(death, running, running.process.returncode, err)


def test_ctrl_c_reaches_the_whole_group(death: Death, studio: Studio, team: Path) -> None:
    """As a terminal has it: boxes end because the harness ends them, not as a failure of theirs."""
    running = death.start(team, studio.task().parent, "--jobs", 2, start_new_session=True)
    running.wait_started()
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.process.communicate(timeout=60)
    stopped(death, running, running.process.returncode, err)


def test_with_nohup_a_terminal_that_goes_changes_nothing(
    death: Death, studio: Studio, team: Path
) -> None:
    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    running = death.start(team, studio.task().parent, preexec_fn=ignore)
    running.wait_started()
    running.process.send_signal(signal.SIGHUP)
    code, _, err = running.end()
    assert code == 0, err
    assert [record["status"] for record in running.records()] == ["complete"]
    assert death.left() == {}


def test_a_terminal_that_goes_away(death: Death, studio: Studio, team: Path) -> None:
    master, slave = pty.openpty()
    running = death.start(
        team, studio.task().parent, stdin=slave, stdout=slave, stderr=slave,
        start_new_session=True,
        # Opened by a session's leader it becomes the terminal of the session.
        preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),
    )  # fmt: skip
    os.close(slave)
    running.wait_started()
    os.close(master)
    assert running.process
    stopped(death, running, running.process.wait(timeout=60), "")


def test_the_shell_that_started_it_is_killed(death: Death, studio: Studio, team: Path) -> None:
    """The harness goes on, and ends as ever."""
    words = [sys.executable, "-m", "rolewall", "run", team, "--tasks", studio.task().parent,
             "--backend", death.backend, "-o", death.path / "out"]  # fmt: skip
    script = " ".join(map(str, words)) + " >log 2>&1 & echo $!; wait"
    shell = subprocess.Popen(
        ["sh", "-c", script], stdout=subprocess.PIPE, text=True, env=death.environment(),
        cwd=death.path,
    )  # fmt: skip
    assert shell.stdout
    running = death.adopt(int(shell.stdout.readline()), death.path / "out")
    running.wait_started()
    shell.kill()
    shell.communicate(timeout=60)
    running.wait_end()
    assert [record["status"] for record in running.records()] == ["complete"]
    assert death.left() == {}


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_nobody_reads(death: Death, cli: Cli, studio: Studio, team: Path, stream: str) -> None:
    """``rolewall run … | head -1``: what was played is kept; the code is no success."""
    tasks = studio.task().parent
    running = death.start(team, tasks, "--trials", 2)
    running.wait_started()
    read = getattr(running.process, stream)
    read.close()
    setattr(running.process, stream, None)
    code, _, err = running.end()
    assert code == 3 and "Traceback" not in (err or "")
    assert death.left() == {}
    kept = running.records()
    assert kept and all(record["status"] == "complete" for record in kept)
    again = death.start(team, tasks, "--trials", 2, out=running.out)
    assert again.end()[0] == 0
    assert len(again.records()) == 2
    assert all(record in again.records() for record in kept)


@pytest.fixture
def many(studio: Studio, team: Path) -> list[Path]:
    """A task whose staging takes a while."""
    files = {f"{n // 500}/{n}.py": "x = 1\n" for n in range(10_000)}
    return [team, studio.task(files=files).parent]


@pytest.mark.bubblewrap
@pytest.mark.parametrize("times", [1, 3])
def test_many_files_do_not_have_to_be_gone_through_first(
    bubblewrap_death: Death, many: list[Path], times: int
) -> None:
    running = bubblewrap_death.start(*many)
    running.wait_staging()
    assert running.process
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[:times]:
        running.process.send_signal(number)
    _, err = running.process.communicate(timeout=60)
    assert (running.process.returncode, "Traceback" in err) == (130, False), err
    assert not any(running.out.glob("episodes/*/manifests/*")), "it went on to the next step"
    # Removing them takes as long: the third signal breaks that off too.
    assert (running.out / "scratch").exists() is (times == 3)
    assert bubblewrap_death.left() == {}
