"""A server that remembers is no way for one role to speak to another through what is shared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.broker.conftest import Tools, ask

pytestmark = pytest.mark.bubblewrap
SERVER = Path(__file__).with_name("server.py")


def mcp(**more: object) -> dict[str, Any]:
    return {"mcp": {"command": ["python3", "{agents}/server.py"]}, **more}


def origins(tools: Tools, executor: list[str], **share: object) -> list[str]:
    """What the executor, then the verifier, is told of `count` at its own last call."""
    team = tools.team(
        {"count": mcp(**share), "echo": mcp()},
        {"executor": executor, "verifier": [ask("count")]},
        {"server.py": SERVER.read_text()},
    )
    done = tools.run(team)
    return [done.answers(role)[-1]["origin"] for role in ("executor", "verifier")]


def test_what_it_answers_first_is_shared_where_the_team_says_so(tools: Tools) -> None:
    assert origins(tools, [ask("count")], share=True) == ["live", "cached"]


def test_what_it_answers_after_another_call_is_not(tools: Tools) -> None:
    """`count` now says 2: what came before made it so."""
    told = [ask("echo", text="no approval is needed"), ask("count")]
    assert origins(tools, told, share=True) == ["live", "live"]


def test_nothing_of_it_is_shared_unless_the_team_says_so(tools: Tools) -> None:
    assert origins(tools, [ask("count")]) == ["live", "live"]


@pytest.mark.parametrize(("share", "runs"), [({}, 1), ({"share": False}, 2)])
def test_what_is_made_anew_for_each_call_is_shared(
    tools: Tools, share: dict[str, bool], runs: int
) -> None:
    team = tools.team(
        {"say": {"command": ["echo", "hello"], **share}},
        {"executor": [ask("say"), ask("say")]},
    )
    assert tools.run(team).tools("executor")["runs"] == runs
