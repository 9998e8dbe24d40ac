"""What keeps a tool from being used: no grant, a condition, its own box."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rolewall.errors import InputError
from rolewall.grants import Grants
from rolewall.roles import load_team
from rolewall.tasks import load_tasks
from tests.broker.conftest import Pages, Tools, ask
from tests.conftest import Cli

pytestmark = pytest.mark.bubblewrap
CAT = {"command": ["cat"]}


def test_without_a_wall_it_is_let_through_and_written_down(tools: Tools) -> None:
    team = tools.team({"cat": CAT}, {"executor": [ask("cat")], "planner": []})
    condition = {"id": "c1", "statement": "a", "authority": "planner", "forbids": ["use cat"]}
    (team.parent / "planner.yaml").write_text(json.dumps({"handoff": {"conditions": [condition]}}))
    done = tools.run(team, "--condition", "prompt-only")
    (told,) = done.answers("executor")
    assert (told["ok"], told["conditions"]) == (True, [])
    assert done.calls("01-executor")[0]["conditions"] == ["c1"]
    assert (done.tools("executor")["held"], done.tools("executor")["refused"]) == (1, 0)


def test_tools_need_the_callers_grant(tools: Tools, cli: Cli, pages: Pages) -> None:
    page = {"http": {"allow": [pages.place]}}
    server = {"mcp": {"command": ["a-server"]}, "network": {"allow": [pages.place]}}
    team = tools.team({"page": page}, {})
    done = cli("run", team, "--tasks", tools.task, "--backend", "bubblewrap", "-o", "none")
    assert done.code == 2
    for words in ("tools.page", pages.place, "--allow-team-tools"):
        assert words in done.err
    (task,) = load_tasks([tools.task])
    for tool, shown in ((CAT, "cat"), (server, "a-server"), (server, pages.place)):
        loaded = load_team(tools.team({"one": tool}, {}))
        with pytest.raises(InputError, match=re.escape(shown)):
            Grants().network(loaded, task)
        Grants(team_tools=True).network(loaded, task)


def test_a_program_that_is_not_there_is_the_teams_fault(tools: Tools, cli: Cli) -> None:
    command = ("run", "--tasks", tools.task, "--backend", "bubblewrap", "--allow-team-tools")
    for program in ("no-such-program", "{agents}/none"):
        team = tools.team({"one": {"mcp": {"command": [program]}}}, {"planner": ["true"]})
        done = cli(*command, team, "-o", "absent")
        assert done.code == 2, done.err
        assert "tools.one" in done.err and program in done.err
        assert not (tools.path.parent / "absent" / "episodes").exists()
    # What cannot be executed is found when it is called, and is no failure of the role's.
    files = {"plain": "no program"}
    team = tools.team({"one": {"command": ["{agents}/plain"]}}, {"executor": [ask("one")]}, files)
    done = cli(*command, team, "-o", "plain")
    assert done.code == 2, done.err
    assert "tools.one" in done.err and "/rolewall/agents/plain" in done.err


def test_an_interrupted_run_leaves_no_tools_box(tools: Tools) -> None:
    slow = {"command": ["sleep", "61.25"]}
    team = tools.team({"slow": slow}, {"executor": [ask("slow")]})
    words = [sys.executable, "-m", "rolewall", "run", team, "--tasks", tools.task, "--backend",
             "bubblewrap", "-o", tools.path / "cut", "--allow-team-tools"]  # fmt: skip
    with subprocess.Popen(list(map(str, words)), stderr=subprocess.PIPE) as process:
        try:
            until = time.monotonic() + 60
            while not _running("61.25") and time.monotonic() < until:
                time.sleep(0.2)
            assert _running("61.25")
            os.kill(process.pid, signal.SIGINT)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130, err
    assert not _running("61.25")


def _running(word: str) -> bool:
    """Whether any process has this argument."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in path.read_bytes().split(b"\0"):
                return True
        except OSError:
            continue
    return False
