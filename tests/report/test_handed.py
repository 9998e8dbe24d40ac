"""What bound the roles and what they shared stands in the report, and only where there was any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.broker.conftest import Tools, ask
from tests.conftest import Cli

TITLE = "What bound the roles"
HELD = {
    "id": "seen", "statement": "seen", "authority": "verifier", "forbids": ["use echo"],
}  # fmt: skip


@pytest.mark.bubblewrap
def test_conditions_tools_and_breaches_are_told(tmp_path: Path, cli: Cli) -> None:
    tools = Tools(tmp_path / "tools", cli, "bubblewrap")
    team = tools.team(
        {"say": {"command": ["cat"]}, "echo": {"command": ["cat"]}},
        {
            "planner": [ask("say", text="<script>")],
            "executor": [ask("say", text="<script>"), ask("echo"), "true"],
            "verifier": ["echo changed > /workspace/app.py"],
        },
        plan={"text": "do it", "conditions": [HELD]},
    )
    run = tools.run(team, "--condition", "prompt-only").episode.directory.parents[1]
    assert cli("report", run, "-o", tmp_path / "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    for words in (
        TITLE, "Binding conditions", "Tools of the team", "author-touched-work",
        "condition seen opened: forbids use echo until verifier ends it",
        "use echo was forbidden: condition seen", "tools: 1 call (1 live)",
        "tools: 2 calls (1 live, 1 cached); 1 of what had been answered before, 0 ran again",
    ):  # fmt: skip
        assert words in page, words
    assert "<script>" not in page


def test_where_there_was_none_there_is_no_such_section(
    builder: Any, cli: Cli, tmp_path: Path
) -> None:
    builder.add(task="t", verdict="approve", grade="pass")
    assert cli("report", builder.finish(), "-o", tmp_path / "page.html").code == 0
    assert TITLE not in (tmp_path / "page.html").read_text()
