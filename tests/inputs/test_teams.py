"""Whatever a team file or a script holds: a team that can be run to its end, or one TeamError."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolewall.errors import InputError, TeamError
from rolewall.policies import ROLES, parse_host_port
from rolewall.roles import CommandAgent, Team, load_team
from rolewall.roles.script import parse_script

if TYPE_CHECKING:
    from conftest import Junk, Read

COMMAND = {"agent": {"command": ["python3", "{agents}/a.py"], "prompt": "stdin",
                     "env": {"A_B": "{role}"}, "network": {"allow": ["h:1"]}}}  # fmt: skip
SCRIPT = {"agent": {"script": "s.yaml"}}
TEAM = {
    "team": "fixers",
    "sandbox": {"backend": "docker", "image": "a:1"},
    "limits": {"phase_seconds": 9.5, "memory_mb": 64, "pids": 8, "cpus": 1, "disk_mb": 1},
    "rounds": 1,
    "replan": True,
    "observe": "reads",
    "roles": {"planner": COMMAND, "executor": COMMAND, "verifier": SCRIPT},
}
SMALL = {"team": "a", "roles": {"executor": SCRIPT, "verifier": SCRIPT}}
STEPS = {
    "steps": [
        {"id": "look", "run": "cat /brief/brief.md", "timeout": 1, "stop_on_failure": True},
        {"id": "tests", "check": "pytest"},
    ],
    "handoff": {
        "status": "done",
        "text": "t",
        "steps": [{"id": "a", "goal": "g", "depends_on": ["b"]}, {"id": "b", "goal": "g"}],
        "conditions": [{"id": "c", "statement": "s"}],
        "artifacts": [{"zone": "workspace", "path": "a/b"}],
        "questions": ["q"],
    },
    "verdict": {"when": "tests", "then": "approve", "else": "reject"},
    "summary": "s",
}


@pytest.fixture(scope="session")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with what the teams name."""
    made = tmp_path_factory.mktemp("team")
    (made / "a.py").write_text("")
    (made / "s.yaml").write_text("{}")
    return made


def stated(team: Team) -> dict[str, Any]:
    """The team again, as a file would say it."""
    limits = {name: getattr(team.limits, name) for name in type(team.limits).__slots__}
    return {
        "team": team.name,
        "sandbox": {"backend": team.backend, "image": team.image},
        "limits": limits,
        "rounds": team.rounds,
        "replan": team.replan,
        "observe": team.observe,
        "roles": {role: {"agent": agent_of(agent)} for role, agent in team.agents.items()},
    }


def agent_of(agent: Any) -> dict[str, Any]:
    shared = {"env": dict(agent.env), "network": {"allow": [str(one) for one in agent.network]}}
    if isinstance(agent, CommandAgent):
        return {"command": list(agent.command), "prompt": agent.prompt, **shared}
    return {"script": agent.path, **shared}


@given(data=st.data())
def test_a_team_file(beside: Path, junk: Junk, read: Read, data: st.DataObject) -> None:
    path = beside / "team.yaml"
    path.write_bytes(data.draw(junk.yaml(TEAM, SMALL)))
    team = read(load_team, path, error=TeamError)
    if team is None:
        return
    assert {"executor", "verifier"} <= set(team.roles) <= set(ROLES)
    assert 1 <= team.rounds <= 100 and math.isfinite(team.limits.phase_seconds)
    assert not team.replan or "planner" in team.roles
    for role, agent in team.agents.items():
        words = agent.environment(role=role, task="t").values()
        if isinstance(agent, CommandAgent):
            words = [*words, *agent.argv(role=role, task="t")]
        assert all(isinstance(word, str) and "\0" not in word for word in words)
    path.write_bytes(junk.render(stated(team)))
    assert stated(load_team(path)) == stated(team)


@given(data=st.data())
@pytest.mark.parametrize("role", ["executor", "verifier"])
def test_a_script(junk: Junk, read: Read, role: str, data: st.DataObject) -> None:
    found = data.draw(junk.yaml(STEPS, {"verdict": "reject"}, {"steps": [{"run": "a"}]}))
    script = read(parse_script, found, "s.yaml", role, error=TeamError)
    if script is None:
        return
    assert role == "verifier" or not (script.checks or script.verdict)
    if script.verdict is None:
        assert script.decide(frozenset({"tests"})) is None
    again = script.model_dump(mode="json", by_alias=True, exclude_none=True)
    if script.verdict and script.verdict.when is None:
        again["verdict"] = script.verdict.then
    assert parse_script(junk.render(again), "s.yaml", role) == script


@given(text=st.text(max_size=12) | st.from_regex(r"[a-z0-9.*:\[\]/@-]{1,20}:[0-9]{0,6}"))
def test_a_destination(read: Read, text: str) -> None:
    found = read(parse_host_port, text, "network", error=InputError)
    if found is not None:
        assert 1 <= found.port <= 65535 and not set("/@*[] \0") & set(found.host)
        assert parse_host_port(str(found), "network") == found
