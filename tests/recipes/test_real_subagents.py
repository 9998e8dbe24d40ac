"""The definitions of the read-only subagents in the programs that they are written for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.models import Heard, Say, ScriptedModel, responses

RECIPE = Path(__file__).parents[2] / "recipes" / "read-only-subagents"
AGENTS = Path(
    os.environ.get("ROLEWALL_TEST_AGENTS") or Path.home() / ".cache" / "rolewall-test-agents"
)
SUBAGENT = "You review the work at"
LOOK = {"command": "cat app.py; echo 'x = 2' > app.py"}
PATCH = "*** Begin Patch\n*** Update File: app.py\n@@\n-x = 1\n+x = 2\n*** End Patch\n"
pytestmark = [pytest.mark.agents, pytest.mark.bubblewrap]


def lay(source: Path, work: Path) -> None:
    """The definitions as a user copies them, with the place of the recipe put in."""
    shutil.copytree(source, work, dirs_exist_ok=True)
    for path in (work / ".mcp.json", work / ".codex" / "config.toml"):
        if path.exists():
            path.write_text(path.read_text().replace("/opt/read-only-subagents", str(RECIPE)))


def run(work: Path, env: dict[str, str], *words: str) -> str:
    env["PATH"] = f"{AGENTS / 'bin'}:{env['PATH']}"
    done = subprocess.run(words, cwd=work, env=env, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def held(heard: list[Heard], work: Path, kept: Path) -> None:
    """The write was told to be blocked, is in the ledger, and nothing was written."""
    (told,) = [h.results[0] for h in heard if SUBAGENT in h.text and len(h.results) == 1]
    assert "Read-only file system" in told and "openat /workspace/app.py" in told
    (ledger,) = kept.iterdir()
    assert '"outcome":"blocked"' in ledger.read_text()
    assert (work / "app.py").read_text() == "x = 1\n"


def test_claude_code_gives_its_subagent_the_tool_and_no_other(
    work: Path, env: dict[str, str], tmp_path: Path
) -> None:
    lay(RECIPE / "claude-code", work)
    # What accepting the question for trust in the directory writes.
    trusted = {"projects": {str(work): {"hasTrustDialogAccepted": True}}}
    (tmp_path / ".claude.json").write_text(json.dumps(trusted))
    offered: list[list[str]] = []
    write = {"file_path": str(work / "app.py"), "content": "x = 2\n"}
    turns = [
        Say("I look.", calls=[("mcp__read_only__run", LOOK)]),
        Say("I write.", calls=[("Write", write)]),
        Say("I run.", calls=[("Bash", {"command": "echo 'x = 2' > app.py"})]),
    ]

    def answer(heard: Heard) -> Say:
        names = [tool["name"] for tool in heard.body.get("tools", ())]
        if "Agent" in names:
            asked = {"subagent_type": "reviewer", "description": "look", "prompt": "Look at it."}
            spawn = Say("Go.", calls=[("Agent", asked | {"run_in_background": False})])
            return Say("Done.") if heard.results else spawn
        offered.append(names)
        return (turns[len(heard.results) :] or [Say("Nothing to report.")])[0]

    with ScriptedModel(answer) as model:
        quiet = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER")
        env |= {"ANTHROPIC_BASE_URL": model.url.removesuffix("/v1"), "ANTHROPIC_API_KEY": "none"}
        env |= dict.fromkeys((*quiet, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"), "1")
        run(work, env, "claude", "-p", "Have the reviewer look.", "--model", "claude-sonnet-4-5")
    assert offered == [["mcp__read_only__run"]] * 4
    held(model.heard, work, tmp_path / ".local" / "state" / "read-only")


def in_namespace(space: str, name: str, arguments: object) -> Callable[[Heard], Say]:
    """A call of a tool that Codex offers within a namespace."""

    def say(heard: Heard) -> Say:
        made = responses.events(Say(calls=[(name, arguments)]), heard.body, len(heard.text))
        lines = [f"event: {kind}\ndata: {json.dumps(event)}\n\n" for kind, event in made]
        there = '"type": "function_call"'
        body = "".join(lines).replace(there, f'{there}, "namespace": "{space}"')
        return Say(raw=body.encode(), headers={"content-type": "text/event-stream"})

    return say


def test_codex_gives_its_subagent_the_tool_and_no_shell(
    work: Path, env: dict[str, str], tmp_path: Path
) -> None:
    lay(RECIPE / "codex", work)
    offered: list[set[str]] = []
    look = in_namespace("mcp__read_only", "run", LOOK)
    own = Say(calls=[("exec_command", {"cmd": "echo 'x = 2' > app.py"}), ("apply_patch", PATCH)])
    agents = "multi_agent_v1"

    def answer(heard: Heard) -> Say:
        if SUBAGENT in heard.text:
            tools = heard.body["tools"]
            offered.append({f"{tool.get('name') or tool['type']}" for tool in tools})
            done = len(heard.results)
            return look(heard) if done == 0 else own if done == 1 else Say("Nothing to report.")
        if not heard.results:
            asked = {"agent_type": "reviewer", "message": "Look at it."}
            return in_namespace(agents, "spawn_agent", asked)(heard)
        if len(heard.results) == 1:
            wanted = {"targets": [json.loads(heard.results[0])["agent_id"]], "timeout_ms": 60_000}
            return in_namespace(agents, "wait_agent", wanted)(heard)
        return Say("Done.")

    with ScriptedModel(answer) as model:
        home = tmp_path / ".codex"
        home.mkdir()
        (home / "config.toml").write_text(
            f'model = "scripted"\nmodel_provider = "local"\n[model_providers.local]\n'
            f'name = "local"\nbase_url = "{model.url}"\nwire_api = "responses"\n'
            f'[projects."{work}"]\ntrust_level = "trusted"\n'
        )
        run(work, env, "codex", "exec", "Have the reviewer agent look at the work.")
    assert len(offered) == 3
    for tools in offered:
        assert "mcp__read_only" in tools
        assert not tools & {"exec_command", "write_stdin", "shell", "local_shell", "apply_patch"}
    last = next(h for h in reversed(model.heard) if SUBAGENT in h.text)
    assert "unsupported call: exec_command" in last.text
    assert "unsupported custom tool call: apply_patch" in last.text
    held(model.heard, work, tmp_path / ".local" / "state" / "read-only")
