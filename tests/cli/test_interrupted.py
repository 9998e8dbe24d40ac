"""A run that is interrupted or killed: nothing of it lives on, and it resumes to the same table."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.sandbox import Backend
from tests.processes import children_of, command_of

if TYPE_CHECKING:
    from conftest import Cli, Studio

WAIT = 60.0
SLOW = {"steps": [{"run": "sleep 2"}]}


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def boxes_of(harness: int) -> list[int]:
    """Pids of init processes whose kit belongs to this harness, or who are its children."""
    children = children_of(harness)
    return [pid for pid in children if b"--as-pid-1" in command_of(pid).split(b"\0")]


def containers_of(harness: int, *more: str) -> list[str]:
    words = ["docker", "ps", "-q", "--filter", f"label=rolewall.pid={harness}", *more]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split()


def alive(backend: Backend, harness: int) -> bool:
    return bool(containers_of(harness) if backend.name == "docker" else boxes_of(harness))


def left(backend: Backend, harness: int) -> bool:
    """Also what was killed between its making and its start, which nobody but ``clean`` ends."""
    if backend.name != "docker":
        return alive(backend, harness)
    return bool(containers_of(harness, "-a"))


def start(team: Path, tasks: Path, backend: Backend, out: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "rolewall", "run", team, "--tasks", tasks, "--trials", "3",
             "--backend", backend.name, "--jobs", "2", "-o", out]  # fmt: skip
    return subprocess.Popen(
        list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.pain(17)
@pytest.mark.pain(19)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_lives_on_and_the_run_resumes(
    cli: Cli, studio: Studio, backend: Backend, tmp_path: Path, number: signal.Signals
) -> None:
    team = studio.team(executor=SLOW, verifier={"verdict": "reject"})
    tasks = studio.task().parent
    out = tmp_path / "out"
    process = start(team, tasks, backend, out)
    records = out / "episodes"
    until(lambda: len(list(records.glob("*/episode.json"))) >= 1)
    until(lambda: alive(backend, process.pid))
    process.send_signal(number)
    _, said = process.communicate(timeout=WAIT)
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 130 and "interrupted" in said and "Traceback" not in said
        assert not (out / "scratch").exists()
    until(lambda: not alive(backend, process.pid))
    if number == signal.SIGKILL:
        assert cli("clean").code == 0
    assert not left(backend, process.pid)
    kept = {p: p.read_bytes() for p in records.glob("*/episode.json")}
    assert 1 <= len(kept) < 3

    resume = ["run", team, "--tasks", tasks, "--trials", "3", "--backend", backend.name, "-o", out]
    done = cli(*resume, "--json")
    assert done.code == 0, done.err
    table = done.json["table"]
    assert table["episodes"] == 3
    assert table["conditions"][0]["errors"] == 0
    assert all(path.read_bytes() == data for path, data in kept.items())
    assert len(list(records.iterdir())) == 3
    assert not (out / "scratch").exists()
    assert cli("audit", out).code == 0


def test_an_existing_run_is_not_mixed_with_another(
    cli: Cli, studio: Studio, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = studio.team(verifier={"verdict": "reject"})
    tasks = studio.task()
    words = ["--tasks", tasks, "--backend", "bubblewrap", "-o", out]
    assert cli("run", first, *words).code == 0
    other = cli("run", studio.team(verifier={"verdict": "approve"}), *words)
    assert other.code == 2 and str(out) in other.err and other.err.count("\n") <= 2
    again = cli("run", first, *words)
    assert again.code == 0, again.err


@pytest.mark.pain(18)
def test_two_harnesses_side_by_side_on_one_task(
    cli: Cli, studio: Studio, backend: Backend, tmp_path: Path
) -> None:
    team = studio.team(verifier={"verdict": "reject"})
    tasks = studio.task().parent
    running = [start(team, tasks, backend, tmp_path / name) for name in ("one", "two")]
    for process in running:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    for name in ("one", "two"):
        found = list((tmp_path / name / "episodes").glob("*/episode.json"))
        assert len(found) == 3
        assert all(json.loads(p.read_text())["status"] == "complete" for p in found)


def test_a_run_directory_in_use_is_refused(cli: Cli, studio: Studio, tmp_path: Path) -> None:
    import fcntl

    out = tmp_path / "out"
    out.mkdir()
    lock = os.open(out / ".lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    team = studio.team(verifier={"verdict": "reject"})
    done = cli("run", team, "--tasks", studio.task(), "--backend", "bubblewrap", "-o", out)
    os.close(lock)
    assert done.code == 2 and "another rolewall" in done.err
