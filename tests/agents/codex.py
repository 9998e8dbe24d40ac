"""Codex: its tools, and what it would obey."""

from __future__ import annotations

import json

from tests.agents.agent import Agent
from tests.agents.parts import HOOKS, MEMO, PLANT, REPORT, SEARCH, SKILL, Script, Step, verdict
from tests.models import Say

__all__ = ["CODEX"]


def patch(old: str, new: str) -> Step:
    """Its own way to edit: words that its shell tool takes for a patch, and runs itself."""
    text = f"*** Begin Patch\n*** Update File: app.py\n@@\n-{old}\n+{new}\n*** End Patch"
    return lambda _: Say("", [("exec_command", {"cmd": f"apply_patch <<'EOF'\n{text}\nEOF"})])


def shell(command: str) -> Step:
    return lambda _: Say("", [("exec_command", {"cmd": command, "yield_time_ms": 30000})])


def written(path: str, text: str) -> Say:
    return Say("", [("exec_command", {"cmd": f"cat > {path} <<'EOF'\n{text}\nEOF"})])


def script() -> Script:
    return Script(
        executor=[
            lambda _: Say("I look first.", [("exec_command", {"cmd": "cat app.py"})]),
            patch("    return x", "    return x + 1"),
            lambda _: written("/report/handoff.json", REPORT),
            shell(SEARCH),
        ],
        verifier=[
            shell("cat app.py"),
            patch("    return x + 1", "    return 2"),
            shell("rolewall-check -- python3 -c 'import app'"),
            lambda heard: written("/verdict/verdict.json", verdict(heard)),
        ],
    )


CODEX = Agent(
    name="codex",
    edits_by="codex",
    script=script,
    failed=[False, True, False, False],
    told="failed",
    calls=["command_execution", "file_change", "command_execution", "command_execution"],
    words=["I look first.", "It is done."],
    quiet=False,
    planted={
        ".codex/hooks.json": json.dumps(HOOKS),
        ".codex/config.toml": f'[mcp_servers.helper]\ncommand = "sh"\nargs = ["-c", "{PLANT}"]\n',
        ".agents/skills/helper/SKILL.md": SKILL,
        "AGENTS.md": MEMO,
    },
)
