"""A team's executor plays by the same door: a script, a model, on either backend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rolewall.binding.teamed import check_executor
from rolewall.errors import InputError
from rolewall.roles import load_team
from tests.binding.conftest import Binding, Played
from tests.models import Heard, Say, ScriptedModel

PLACE = "$(sed -n 's/^place: //p' /brief/brief.md)"
WORDS = ("--episodes", 1, "--twins", 1, "--domains", "payments,procurement")


def team(path: Path, agent: dict[str, Any], **more: Any) -> Path:
    path.mkdir()
    body = {
        "team": "hands",
        "limits": {"phase_seconds": 60, "memory_mb": 512, "pids": 64},
        "roles": {"executor": {"agent": agent}, "verifier": {"agent": {"command": ["/bin/true"]}}},
        **more,
    }
    (path / "team.yaml").write_text(json.dumps(body))
    return path / "team.yaml"


def script(path: Path, command: str) -> Path:
    made = team(path, {"script": "do.yaml"})
    handoff = {"text": "carried on", "status": "blocked"}
    (path / "do.yaml").write_text(json.dumps({"steps": [{"run": command}], "handoff": handoff}))
    return made


@pytest.mark.bubblewrap
def test_a_script_is_held_by_the_wall_and_by_nothing_else(binding: Binding, tmp_path: Path) -> None:
    made = script(tmp_path / "team", f"/rolewall/permission target; echo done > {PLACE}")
    played = binding(made, *WORDS, "--arms", "direct,hard-check,permission-lookup,human-approval")
    assert played.found["executor"] == "hands" and played.found["team"]
    assert played.endpoint("direct", "forbidden") == (2, 2)
    assert played.endpoint("permission-lookup", "forbidden") == (2, 2)
    assert played.endpoint("hard-check", "forbidden") == (0, 2)
    assert played.endpoint("hard-check", "blocked") == (2, 2)
    assert played.endpoint("human-approval", "forbidden") == (0, 2)
    for arm in ("direct", "hard-check", "permission-lookup", "human-approval"):
        assert played.endpoint(arm, "allowed") == (2, 2)
    looked = played.out / "transcripts" / "permission-lookup-payments-1.stdout"
    assert looked.read_text().startswith("no: held until ")


@pytest.mark.docker
def test_docker_blocks_and_lets_through_alike(binding: Binding) -> None:
    words = ("--episodes", 1, "--twins", 1, "--domains", "payments")
    held = binding(*words, "--executor", "heedless", "--arms", "hard-check", backend="docker")
    assert held.endpoint("hard-check", "blocked") == (1, 1)
    assert held.endpoint("hard-check", "allowed") == (1, 1)
    (attempt,) = held.attempts("hard-check-1")
    assert attempt["why"].endswith("forbidden by condition payments-1")


def modelled(binding: Binding, path: Path, *words: object, code: int = 0) -> tuple[Played, Any]:
    """Played by a model that acts unless it reads that the condition is open."""

    def says(heard: Heard) -> Say:
        if heard.results:
            return Say(calls=[("message", {"text": "the step is done"})])
        if "status: open" in heard.text:
            return Say(calls=[("message", {"text": "it is open", "status": "blocked"})])
        return Say(calls=[("run", {"command": f"echo done > {PLACE}"})])

    with ScriptedModel(says) as model:
        endpoint = {"main": {"endpoint": model.url, "allow": ["scripted"]}}
        made = team(path, {"chat": {"model": "scripted"}}, models=endpoint)
        return binding(made, *words, code=code), model


@pytest.mark.bubblewrap
def test_a_model_plays_through_the_gateway(binding: Binding, tmp_path: Path) -> None:
    played, _ = modelled(binding, tmp_path / "team", "--episodes", 3, "--twins", 1,
                         "--domains", "payments", "--arms", "direct,normal",
                         "--allow-team-models")  # fmt: skip
    assert played.endpoint("direct", "forbidden") == (0, 3)
    assert played.endpoint("direct", "allowed") == (1, 1)
    assert played.endpoint("normal", "forbidden")[0] > 0
    for line in played.lines("normal"):
        assert line["endpoint"]["done"] is ("status: open" not in line["handed"])
        (usage,) = line["endpoint"]["usage"]
        assert usage["calls"] in (1, 2) and usage["input"] >= 100
    stops = played.lines("direct")[0]["endpoint"]
    assert (stops["decision"], stops["why"]) == ("blocked", "it is open")


@pytest.mark.bubblewrap
def test_a_model_needs_the_callers_word(binding: Binding, tmp_path: Path) -> None:
    refused, model = modelled(binding, tmp_path / "team", *WORDS, code=2)
    assert "--allow-team-models grants it" in refused.text and not model.heard


@pytest.mark.bubblewrap
def test_what_the_infrastructure_fails_is_in_no_rate(binding: Binding, tmp_path: Path) -> None:
    words = ("--episodes", 1, "--twins", 0, "--domains", "payments", "--arms", "direct")
    with ScriptedModel(lambda heard: Say(status=401, error="no such key")) as model:
        endpoint = {"main": {"endpoint": model.url, "allow": ["scripted"]}}
        made = team(tmp_path / "team", {"chat": {"model": "scripted"}}, models=endpoint)
        played = binding(made, *words, "--allow-team-models", code=3)
    assert played.arm("direct")["errors"] == 1
    assert played.endpoint("direct", "forbidden") == (0, 0)
    assert played.artifact("direct", "deactivation") == (0, 1)
    assert "1 episode that ended in error" in played.text
    (line,) = played.lines("direct")
    assert "refuses the request" in line["endpoint"]["error"]


@pytest.mark.parametrize(
    ("agent", "more", "said"),
    [
        ({"human": {}}, {}, "does not play by itself"),
        ({"replay": {}}, {}, "does not play by itself"),
        ({"command": ["/bin/true"], "network": {"allow": ["example.org:443"]}}, {}, "no network"),
        ({"command": ["/bin/true"]}, {"sandbox": {"backend": "docker", "image": "x"}}, "image"),
    ],
)
def test_what_cannot_be_played_is_refused(
    tmp_path: Path, agent: dict[str, Any], more: dict[str, Any], said: str
) -> None:
    made = load_team(team(tmp_path / "team", agent, **more))
    with pytest.raises(InputError, match=said):
        check_executor(made, models=True)
