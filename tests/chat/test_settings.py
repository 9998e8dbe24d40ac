"""``chat:`` in a team file, and what it needs."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from rolewall.errors import InputError, TeamError
from rolewall.roles import ChatAgent, load_team


def team(path: Path, **chat: Any) -> Path:
    agent = {"agent": {"chat": {"model": "m", **chat}}}
    body = {
        "team": "t",
        "models": {"main": {"endpoint": "http://127.0.0.1:9/v1", "allow": ["m"]}},
        "roles": {"executor": agent, "verifier": {"agent": {"command": ["true"]}}},
    }
    path.mkdir()
    (path / "team.yaml").write_text(json.dumps(body))
    return path / "team.yaml"


def test_what_is_left_out_has_a_default(tmp_path: Path) -> None:
    agent = load_team(team(tmp_path / "t", tools="text")).agents["executor"]
    assert isinstance(agent, ChatAgent)
    assert (agent.chat.tools, agent.chat.turns, agent.chat.seed) == ("text", 50, None)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"temprature": 1}, "executor.agent.chat.temprature: unknown key"),
        ({"model": "other"}, "does not allow this model"),
        ({"model": "a b"}, "chat.model"),
        ({"tools": "xml"}, "chat.tools"),
        ({"prompt": "long"}, "chat.prompt"),
        ({"turns": 0}, "chat.turns"),
        ({"turns": True}, "chat.turns"),
        ({"context_tokens": 1000}, "chat.context_tokens"),
        ({"context_tokens": 4096, "answer_tokens": 4000}, "more than half of context_tokens"),
        ({"output_chars": 10}, "chat.output_chars"),
        ({"opening": ["ls", ""]}, "chat.opening[1]"),
        ({"opening": ["a\0b"]}, "chat.opening[0]"),
        ({"opening": "ls"}, "chat.opening"),
        ({"command_seconds": 0}, "chat.command_seconds"),
        ({"temperature": 3}, "chat.temperature"),
        ({"seed": -1}, "chat.seed"),
        ({"seed": "trial"}, "chat.seed"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_name(
    tmp_path: Path, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(TeamError) as refused:
        load_team(team(tmp_path / "t", **settings))
    assert words in str(refused.value)


def test_without_the_extra_nothing_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "openai" else found(name, *a)
    )
    with pytest.raises(InputError) as refused:
        load_team(team(tmp_path / "t"))
    assert "pip install 'rolewall[llm]'" in str(refused.value)
    assert "roles.executor.agent.chat" in str(refused.value)
