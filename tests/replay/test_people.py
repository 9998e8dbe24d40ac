"""A person's recorded session is typed again, and needs neither the person nor a terminal."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from tests.human.conftest import sit
from tests.human.test_sessions import NONCE, VERDICT, team
from tests.replay.conftest import Stage, calls

if TYPE_CHECKING:
    from tests.human.conftest import Person, Sit

__all__ = ["sit"]

pytestmark = pytest.mark.bubblewrap


def begun(sit: Sit, stage: Stage) -> Person:
    people = team(stage.studio, executor=None, verifier=None)
    return sit("run", people, "--tasks", stage.task, "--backend", "bubblewrap", "-o", stage.run)


def test_a_session_is_typed_again(sit: Sit, stage: Stage) -> None:
    person = begun(sit, stage)
    person.does("sleep 1000")
    person.sees("sleep 1000\r\n")
    time.sleep(0.2)
    person.types(b"\x03")
    person.does("sed -i 's/return x/return x + 1/' app.py", "echo h\xe4user > words", "exit")
    person.sees("verifier of")
    person.does(NONCE, VERDICT)
    person.sees("$ ")
    person.types(b"\x04")
    assert person.ends() == 0
    (path,) = stage.studio.path.glob("team-*/team.yaml")
    now = stage.played(stage.again(path), "--replay", stage.run)
    assert (now.record["verdict"], now.record["grade"]) == ("approve", "pass")
    assert now.record["isolated"] is True
    executor = now.phase("executor")
    assert executor["replay"]["calls"] == 1 and executor["outcome"] == "done"
    assert {c["path"] for c in executor["changes"]} == {"app.py", "words"}
    assert calls(now, "00-executor")[0] == {"agent": "human"}
    kept = (now.directory / "transcripts" / "00-executor.stdout").read_text()
    assert "sed -i" in kept and "^C" in kept


def test_what_was_not_shown_cannot_be_typed_again(sit: Sit, stage: Stage) -> None:
    """It is not recorded; so the session is refused before anything starts."""
    person = begun(sit, stage)
    person.does("stty -echo; echo now; read it")
    person.sees("now\r\n")
    person.types("hunter2\r")
    person.sees("$ ")
    person.types("exit\r")
    person.sees("verifier of")
    person.does("exit")
    assert person.ends() == 0
    (path,) = stage.studio.path.glob("team-*/team.yaml")
    run = stage.run
    refused = stage.plays(stage.again(path), "--replay", run)
    assert refused.code == 2 and not stage.run.exists()
    assert "00-executor" in refused.err and "not recorded" in refused.err
    other = stage.again(path, "verifier", executor={"agent": {"command": ["/bin/true"]}})
    body = json.loads(other.read_text())
    assert "replay" in body["roles"]["verifier"]["agent"]
    assert stage.plays(other, "--replay", run).code == 0
