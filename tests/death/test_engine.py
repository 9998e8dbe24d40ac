"""The Docker engine is restarted, killed or hangs in the middle of a phase: infrastructure."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Cli, Studio
    from death.conftest import Death, PrivateEngine, Running

pytestmark = [pytest.mark.root, pytest.mark.docker, pytest.mark.pain(2)]

WAITING = {"steps": [{"run": "touch started; until [ -e go ]; do sleep 0.05; done; touch done"}]}
SECONDS = 2


@pytest.fixture
def death(docker_death: Death, private_engine: PrivateEngine) -> Death:
    """On an engine that the test may do harm to, which has little time to answer."""
    docker_death.env = {
        "DOCKER_HOST": private_engine.address,
        "ROLEWALL_ENGINE_SECONDS": str(SECONDS),
    }
    return docker_death


@pytest.fixture
def team(studio: Studio) -> Path:
    return studio.team(executor=WAITING, verifier={"verdict": "approve"})


def resume(death: Death, running: Running, team: Path, tasks: Path) -> None:
    """To the end, with nothing of it left, and every episode there once."""
    again = death.start(team, tasks, "--trials", 2, "--json", out=running.out)
    code, out, err = again.end()
    assert code == 0, err
    table = json.loads(out)["table"]
    assert table["episodes"] == 2 and table["conditions"][0]["counts"] == {"approve_fail": 2}
    assert table["conditions"][0]["errors"] == 0
    assert death.left() == {}


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_an_engine_that_is_restarted(
    death: Death, private_engine: PrivateEngine, studio: Studio, team: Path, how: str
) -> None:
    tasks = studio.task().parent
    running = death.start(team, tasks, "--trials", 2, "--jobs", 2)
    running.wait_started(2)
    getattr(private_engine, how)()
    code, _, err = running.end()
    assert code == 3 and "Traceback" not in err
    errors = [record["error"] for record in running.records()]
    assert len(errors) == 2
    assert {error["kind"] for error in errors} <= {"BoxError", "BackendUnavailable"}
    private_engine.start()
    resume(death, running, team, tasks)


def test_an_engine_that_hangs(
    death: Death, private_engine: PrivateEngine, studio: Studio, team: Path, cli: Cli
) -> None:
    tasks = studio.task().parent
    running = death.start(team, tasks, "--trials", 2, "--jobs", 2)
    running.wait_started(2)
    private_engine.signal(signal.SIGSTOP)
    code, _, err = running.end()
    assert code == 3 and "Traceback" not in err
    messages = [record["error"]["message"] for record in running.records()]
    assert len(messages) == 2
    assert all(f"did not answer in {SECONDS} s" in message for message in messages)
    for words in (["clean"], ["run", team, "--tasks", tasks, "--backend", "docker"]):
        done = cli(*words, env=death.env)
        assert done.code == 3 and "Traceback" not in done.err
        assert private_engine.address in done.err and f"{SECONDS} s" in done.err
    private_engine.signal(signal.SIGCONT)
    assert cli("clean", env=death.env).code == 0
    resume(death, running, team, tasks)


def test_doctor_says_which_engine_it_asked(
    death: Death, private_engine: PrivateEngine, cli: Cli
) -> None:
    done = cli("doctor", "--json", env=death.env)
    assert private_engine.address in done.out


@pytest.mark.parametrize("seconds", ["0", "soon", "-1", "1e3", "99999"])
def test_a_deadline_that_is_none(cli: Cli, seconds: str) -> None:
    done = cli("clean", env={"ROLEWALL_ENGINE_SECONDS": seconds})
    assert done.code == 2 and "ROLEWALL_ENGINE_SECONDS" in done.err
