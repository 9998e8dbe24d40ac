"""Somebody else ends a part of a running box: an infrastructure error, and only that
episode's; the next ``run`` repeats it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.processes import children_of, command_of

if TYPE_CHECKING:
    from conftest import Cli, Studio
    from death.conftest import Death, Running

WAITING = {"steps": [{"run": "touch started; until [ -e go ]; do sleep 0.05; done; touch done"}]}
DOCKER_SECONDS = 60.0


def descendants(pid: int) -> list[int]:
    """Children of a process and theirs, by the kernel's word."""
    found: list[int] = []
    todo = [pid]
    while todo:
        children = children_of(todo.pop())
        found += children
        todo += children
    return found


def named(pid: int, word: str) -> list[int]:
    """Descendants of ``pid`` that have ``word`` in their command line."""
    return [each for each in descendants(pid) if word.encode() in command_of(each)]


def docker(*words: str) -> list[str]:
    done = subprocess.run(
        ["docker", *words], capture_output=True, text=True, timeout=DOCKER_SECONDS, check=True
    )
    return done.stdout.split()


def containers(harness: int) -> list[str]:
    return docker("ps", "-q", "--no-trunc", "--filter", f"label=rolewall.pid={harness}")


def kill_init(harness: int, backend: str) -> None:
    """The pid 1 of one box, with SIGKILL."""
    if backend == "docker":
        (pid,) = docker("inspect", "--format", "{{.State.Pid}}", containers(harness)[0])
        os.kill(int(pid), signal.SIGKILL)
        return
    inits = [
        each
        for each in named(harness, "/rolewall/init")
        if Path(f"/proc/{each}/exe").resolve().name != "bwrap"
    ]
    os.kill(inits[0], signal.SIGKILL)


def kill_outer(harness: int, backend: str) -> None:
    """What the box was started through: bubblewrap's own process, or the container."""
    if backend == "docker":
        docker("rm", "-f", containers(harness)[0])
        return
    outer = [
        each
        for each in named(harness, "/rolewall/init")
        if Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()[1] == str(harness)
    ]
    os.kill(outer[0], signal.SIGKILL)


def kill_supervisor(harness: int, backend: str) -> None:
    (pid,) = named(harness, "tap.supervisor")
    os.kill(pid, signal.SIGKILL)


HARM: dict[str, Callable[[int, str], None]] = {
    "init": kill_init,
    "outer": kill_outer,
    "supervisor": kill_supervisor,
}


@pytest.fixture
def team(studio: Studio) -> Path:
    return studio.team(executor=WAITING, verifier={"verdict": "approve"})


def finish(death: Death, cli: Cli, running: Running, team: Path, tasks: Path) -> dict[str, Any]:
    """Resume to the end; the table."""
    resumed = death.start(team, tasks, "--trials", 3, "--json", out=running.out)
    code, out, err = resumed.end()
    assert code == 0, err
    assert cli("audit", running.out).code == 0
    assert death.left() == {}
    import json

    found: dict[str, Any] = json.loads(out)["table"]
    return found


@pytest.mark.root
@pytest.mark.pain(2)
@pytest.mark.pain(19)
@pytest.mark.parametrize("what", HARM)
def test_it_is_an_error_of_that_episode_alone(
    death: Death, cli: Cli, studio: Studio, team: Path, what: str
) -> None:
    tasks = studio.task().parent
    running = death.start(team, tasks, "--trials", 3, "--jobs", 2)
    running.wait_started(2)
    HARM[what](running.pid, death.backend)
    code, _, err = running.end()
    records = running.records()
    assert len(records) == 3 and "Traceback" not in err
    errors = [r["error"] for r in records if r["status"] == "error"]
    # All boxes of a supervisor go with it; a box outlives the bubblewrap that made it.
    spared = what == "outer" and death.backend == "bubblewrap"
    assert len(errors) == {"supervisor": 2}.get(what, 0 if spared else 1)
    assert {e["kind"] for e in errors} <= {"BoxError", "TapError"}
    assert code == (3 if errors else 0)
    whole = [r for r in records if r["status"] == "complete"]
    # The work is done and judged as the grader has it; nothing counts against the agents.
    assert {(r["verdict"], r["grade"]) for r in whole} == {("approve", "fail")}
    kept = {r["key"]: r for r in whole}
    table = finish(death, cli, running, team, tasks)
    assert table["episodes"] == 3 and table["conditions"][0]["errors"] == 0
    assert table["conditions"][0]["counts"] == {"approve_fail": 3}
    assert all(r == kept[r["key"]] for r in running.records() if r["key"] in kept)


@pytest.mark.root
@pytest.mark.docker
@pytest.mark.pain(2)
def test_a_paused_container_goes_on_when_it_may(
    docker_death: Death, studio: Studio, team: Path
) -> None:
    death, tasks = docker_death, studio.task().parent
    running = death.start(team, tasks)
    running.wait_started()
    (container,) = containers(running.pid)
    docker("pause", container)
    running.release()
    (workspace,) = running.workspaces()
    assert not (workspace / "done").exists() and running.alive()
    docker("unpause", container)
    code, _, err = running.end()
    assert code == 0, err
    assert [r["status"] for r in running.records()] == ["complete"]
    assert death.left() == {}
