"""What a model asked for by our own tools is done without it."""

from __future__ import annotations

import json

import pytest

from tests.models import Heard, Say, ScriptedModel
from tests.replay.conftest import Stage, calls

pytestmark = pytest.mark.bubblewrap

LONG = "x = 1\n" * 2000  # longer than what transcripts show of arguments


def chats(heard: Heard) -> Say:
    """One step after the other, as many as results have been heard."""
    verifier = "You are the verifier" in heard.text
    steps = JUDGES if verifier else WORKS
    done = len(heard.results)
    return steps[done] if done < len(steps) else Say("It is done.")


WORKS = [
    Say("", [("run", {"command": "cat app.py"})]),
    Say("", [("edit", {"path": "app.py", "old": "return x", "new": "return x + 1"})]),
    Say("", [("edit", {"path": "app.py", "old": "not there", "new": ""})]),
    Say("", [("write", {"path": "data/long.py", "text": LONG})]),
    Say("", [("read", {"path": "data/long.py", "first": 1, "last": 2})]),
    Say("", [("message", {"text": "it adds now"})]),
]
JUDGES = [
    Say("", [("write", {"path": "/workspace/app.py", "text": "spoilt"})]),
    Say("", [("run", {"command": "rolewall-check -- python3 -c 'import app'"})]),
    Say("", [("verdict", {"verdict": "approve", "summary": "it adds"})]),
]


def test_a_chat_is_done_again_call_by_call(stage: Stage) -> None:
    with ScriptedModel(chats) as model:
        team = stage.studio.team(executor={}, verifier={})
        body = json.loads(team.read_text())
        body["models"] = {"main": {"endpoint": model.url, "allow": ["m"]}}
        body["roles"] = {role: {"agent": {"chat": {"model": "m"}}} for role in body["roles"]}
        team.write_text(json.dumps(body))
        then = stage.played(team, "--allow-team-models")
    assert (then.record["verdict"], then.record["grade"]) == ("approve", "pass")
    now = stage.played(stage.again(team), "--replay", stage.run)
    assert (now.record["verdict"], now.record["grade"]) == ("approve", "pass")
    assert now.record["verdicts"][0]["claims"] == then.record["verdicts"][0]["claims"]
    for role, number in (("executor", 6), ("verifier", 3)):
        phase = now.phase(role)
        assert phase["replay"] == {"calls": number, "drifted": 0, "left_out": 0, "outcome": "done"}
        assert phase["usage"] is None
    edits = [e.attempts(role="verifier", kind="edit", outcome="blocked") for e in (then, now)]
    assert len(edits[0]) == len(edits[1]) > 0
    kept = {c["path"]: c for c in now.phase("executor")["changes"]}
    assert {"app.py", "data/long.py"} <= set(kept)
    made = [[c.get("arguments") for c in calls(e, "00-executor")] for e in (then, now)]
    assert made[0] == made[1]
