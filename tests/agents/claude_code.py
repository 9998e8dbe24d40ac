"""Claude Code: its tools, and what it would obey."""

from __future__ import annotations

import json

from tests.agents.agent import Agent
from tests.agents.parts import HOOKS, KEY, MEMO, REPORT, SEARCH, SERVER, SKILL, Script, verdict
from tests.models import Say

__all__ = ["CLAUDE_CODE"]

APP = "/workspace/app.py"
EDIT = {"file_path": APP, "old_string": "return x", "new_string": "return x + 1"}
SPOIL = {"file_path": APP, "old_string": "return x + 1", "new_string": "return 2"}


def script() -> Script:
    return Script(
        executor=[
            lambda _: Say("I look first.", [("Read", {"file_path": APP})]),
            lambda _: Say("", [("Edit", EDIT)]),
            lambda _: Say(
                "", [("Write", {"file_path": "/report/handoff.json", "content": REPORT})]
            ),
            lambda _: Say("", [("Bash", {"command": SEARCH, "description": "search"})]),
        ],
        verifier=[
            lambda _: Say("", [("Read", {"file_path": APP})]),
            lambda _: Say("I repair it myself.", [("Edit", SPOIL)]),
            lambda _: Say("", [("Write", {"file_path": "/workspace/own.py", "content": "1\n"})]),
            lambda _: Say("", [("Bash", {"command": "rolewall-check -- python3 -c 'import app'"})]),
            lambda h: Say(
                "", [("Write", {"file_path": "/verdict/verdict.json", "content": verdict(h)})]
            ),
        ],
    )


CLAUDE_CODE = Agent(
    name="claude-code",
    edits_by="claude",
    script=script,
    failed=[False, True, True, False, False],
    told="read-only",
    calls=["Read", "Edit", "Write", "Bash"],
    words=["I look first.", "It is done."],
    header=("x-api-key", KEY),
    version="2.1.332",
    quiet=False,
    planted={
        ".claude/settings.json": json.dumps(HOOKS),
        ".claude/skills/helper/SKILL.md": SKILL,
        ".mcp.json": json.dumps({"mcpServers": {"helper": SERVER}}),
        "CLAUDE.md": MEMO,
    },
)
