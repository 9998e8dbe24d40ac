"""What lies in the work for an agent's program to obey moves no agent of a preset.

The twin is the same program, started as its users start it: there the plants act.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.conftest import EVERY, on_backends
from tests.agents.parts import MEMO, PLANT, Script
from tests.models import Say

if TYPE_CHECKING:
    from tests.agents.conftest import Play, Played

pytestmark = pytest.mark.agents

PROVIDER = {
    "model_provider": "own",
    "web_search": "disabled",
    "model_providers.own.name": "own",
    "model_providers.own.base_url": "http://127.0.0.1:8378/v1",
    "model_providers.own.wire_api": "responses",
    "model_providers.own.env_key": "OPENAI_API_KEY",
}
BARE = {
    "claude-code": [
        *("claude", "-p", "--model", "scripted-model", "--dangerously-skip-permissions"),
        *("--output-format", "stream-json", "--verbose"),
    ],
    "codex": [
        *("codex", "exec", "--model", "scripted-model", "--skip-git-repo-check", "--trust"),
        *("--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"),
        *(word for name, value in PROVIDER.items() for word in ("-c", f"{name}={value}")),
        "-",
    ],
}
TOOL = {"claude-code": ("Bash", "command"), "codex": ("exec_command", "cmd")}


@on_backends(*BARE)
def test_no_plant_acts_in_a_box_of_the_preset(played: Played) -> None:
    assert played.episode.record["verdict"] == "approve", played.err
    for role in ("executor", "verifier"):
        assert ran(played, role) == 0
        assert of(played, role) and all(MEMO not in heard.text for heard in of(played, role))


@pytest.mark.bubblewrap
@pytest.mark.parametrize("name", BARE)
def test_started_without_the_preset_it_obeys(name: str, playing: Play) -> None:
    tool, word = TOOL[name]
    script = Script(executor=[lambda _: Say("", [(tool, {word: "ls"})])], verifier=[])
    bare = {"command": BARE[name], "prompt": "stdin", "endpoint": "main"}
    played = playing(EVERY[name], script, "bubblewrap", condition="restricted", executor=bare)
    assert ran(played, "executor") > 0
    assert any(MEMO in heard.text for heard in of(played, "executor"))


def ran(played: Played, role: str) -> int:
    lines = (played.episode.directory / "audit.jsonl").read_text().splitlines()
    started = [line for line in map(json.loads, lines) if line["type"] == "exec"]
    return sum(line["role"] == role and line["argv"] == PLANT.split() for line in started)


def of(played: Played, role: str) -> list[Any]:
    return [heard for heard in played.heard if f"You are the {role}" in heard.text]
