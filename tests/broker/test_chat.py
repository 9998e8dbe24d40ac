"""A team's tools, offered to models of ``chat`` agents as tools of their own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.broker.conftest import Pages, Tooled, Tools, ask, served
from tests.conftest import Cli
from tests.models import Heard, Say, ScriptedModel

pytestmark = pytest.mark.bubblewrap
SERVER = Path(__file__).with_name("server.py").read_text()
EXECUTOR, VERIFIER = "You are the executor", "You are the verifier"


def calls(*made: tuple[str, Any]) -> Say:
    return Say(calls=made)


@dataclass(frozen=True)
class Chatted:
    done: Tooled
    heard: list[Heard]

    def of(self, name: str) -> list[Heard]:
        return [heard for heard in self.heard if name in heard.text]


class Stage:
    def __init__(self, path: Path, cli: Cli, pages: Pages) -> None:
        self.tools = Tools(path, cli, "bubblewrap")
        self.pages = pages

    def team(self, url: str) -> Path:
        """An executor that calls tools natively, and a verifier that writes blocks."""
        kinds = {
            "page": {"http": {"allow": [self.pages.place]}, "about": "Reads the manual."},
            "echo": {"mcp": {"command": ["python3", "{agents}/server.py"]}},
        }
        planner = [ask("page", url=self.pages.url("/home"))]
        team = self.tools.team(kinds, {"planner": planner}, {"server.py": SERVER})
        body = json.loads(team.read_text())
        body["models"] = {"main": {"endpoint": url, "allow": ["scripted"]}}
        for role, tools in (("executor", "auto"), ("verifier", "text")):
            body["roles"][role] = {"agent": {"chat": {"model": "scripted", "tools": tools}}}
        team.write_text(json.dumps(body))
        return team

    def play(self, script: dict[str, list[Say]]) -> Chatted:
        with ScriptedModel(script) as model:
            done = self.tools.run(self.team(model.url), "--allow-team-models")
        assert not model.problems
        return Chatted(done, model.heard)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from tests.conftest import cli

    path = tmp_path_factory.mktemp("chat")
    with served() as pages:
        yield Stage(path / "tools", cli.__wrapped__(path), pages)  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def found(stage: Stage) -> Chatted:
    home, gone = stage.pages.url("/home"), "http://localhost:1/"
    asked = json.dumps({"url": home})
    return stage.play({
        EXECUTOR: [
            calls(("page", {"url": home}), ("echo", {"text": "hello"}), ("page", {"url": gone})),
            calls(("message", {"text": "done"})),
        ],
        VERIFIER: [
            Say(f"I read.\n\n```tool page\n{asked}\n```"),
            Say("Again.\n\n```tool page\nthe manual\n```"),
            Say("```reject\nnot yet\n```"),
        ],
    })  # fmt: skip


def test_a_model_is_offered_the_tools_by_their_names(found: Chatted, stage: Stage) -> None:
    offered = {
        tool["function"]["name"]: tool["function"] for tool in found.of(EXECUTOR)[0].body["tools"]
    }
    assert "Reads the manual. Takes `url`" in offered["page"]["description"]
    assert stage.pages.place in offered["page"]["description"]
    assert offered["page"]["parameters"]["required"] == ["url"]
    assert offered["echo"]["description"].startswith("Says it again.")
    assert offered["echo"]["parameters"]["properties"] == {"text": {"type": "string"}}


def test_a_model_is_told_success_time_and_freshness(found: Chatted) -> None:
    page, echo, gone = found.of(EXECUTOR)[-1].results
    assert page.startswith("page is cached, got at ") and "for 00-planner, fresh until " in page
    assert "page /home" in page
    assert echo.startswith("echo is live, got at ") and "hello" in echo
    assert gone.startswith("page is refused: localhost:1 is not among the allowed destinations")
    use = found.done.tools("executor")
    assert (use["calls"], use["cached"], use["live"], use["refused"]) == (3, 1, 1, 1)


def test_a_model_that_speaks_in_blocks_calls_them_too(found: Chatted) -> None:
    first, second, third = found.of(VERIFIER)
    assert "```tool NAME" in first.text
    assert "page is cached, got at " in second.text
    assert "error: " in third.text
    assert found.done.tools("verifier")["cached"] == 1


def test_what_a_model_asked_of_tools_is_done_again(found: Chatted, stage: Stage) -> None:
    team = stage.team("http://127.0.0.1:1/v1")
    body = json.loads(team.read_text())
    for role in ("executor", "verifier"):
        body["roles"][role] = {"agent": {"replay": {}}}
    team.write_text(json.dumps(body | {"models": {}}))
    recorded = found.done.episode.directory.parents[1]
    again = stage.tools.run(team, "--replay", recorded)
    for role in ("executor", "verifier"):
        assert again.tools(role) == found.done.tools(role)
