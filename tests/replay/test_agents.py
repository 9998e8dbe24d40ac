"""What models asked for, by tools of our own or of real agents, is done without them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.agents import test_claude_code, test_codex, test_mini_swe_agent, test_opencode
from tests.agents.conftest import playing
from tests.models import Heard, Say, ScriptedModel
from tests.replay.conftest import Stage, calls

if TYPE_CHECKING:
    from tests.agents.conftest import Play
    from tests.agents.parts import Script

__all__ = ["playing"]

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


REAL = {
    "claude-code": test_claude_code.script,
    "codex": test_codex.script,
    "opencode": test_opencode.script,
    "mini-swe-agent": test_mini_swe_agent.script,
}


@pytest.mark.agents
@pytest.mark.parametrize("preset", REAL)
def test_what_a_real_agent_did_is_done_without_it(preset: str, playing: Play) -> None:
    script: Script = REAL[preset]()
    then = playing(preset, script, "bubblewrap")
    place = then.run.parent
    stage = Stage(place, None, place / "task")  # type: ignore[arg-type]
    now = stage.played(stage.again(place / "team" / "team.yaml"), "--replay", then.run)
    record = now.record
    assert (record["verdict"], record["grade"]) == ("approve", "pass")
    assert record["isolated"] is True
    for role in ("executor", "verifier"):
        phase, before = now.phase(role), then.episode.phase(role)
        # What is looked for is not there without the agent, or has another name each time.
        assert phase["replay"]["drifted"] <= 1
        assert phase["replay"]["calls"] == len(getattr(script, role))
        assert phase["outcome"] == before["outcome"]
        assert phase["attempts"]["edit_allowed"] == 0
    assert now.phase("verifier")["attempts"]["edit_blocked"] > 0
    assert _work(now.phase("executor")) == _work(then.episode.phase("executor"))


def _work(phase: dict[str, object]) -> set[str]:
    changes = phase["changes"]
    assert isinstance(changes, list)
    return {f"{c['zone']}/{c['path']}" for c in changes}
