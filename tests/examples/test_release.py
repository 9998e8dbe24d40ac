"""The example that ships a fix: steps, a condition that binds, a tool, and a generator."""

from __future__ import annotations

from pathlib import Path

from rolewall.rundir import open_run
from rolewall.sandbox import Backend
from tests.conftest import Cli

EXAMPLES = Path(__file__).parents[2] / "examples"
ASKED = ("run", EXAMPLES / "teams" / "release.yaml", "--tasks", EXAMPLES / "tasks" / "page-window")


def test_nothing_is_shipped_before_it_is_approved(
    tmp_path: Path, cli: Cli, backend: Backend
) -> None:
    done = cli(*ASKED, "--allow-team-tools", "--backend", backend.name, "-o", tmp_path / "run")
    assert done.code == 0, done.err
    (record,) = open_run(tmp_path / "run").records
    assert (record.verdict, record.grade, record.breaches) == ("approve", "pass", ())
    turns = [(phase.role, phase.step) for phase in record.phases]
    fixing = [("executor", "fix"), ("verifier", "fix")]
    assert turns == [
        ("planner", ""), *fixing, *fixing, ("executor", "ship"), ("verifier", "ship"),
        ("generator", ""),
    ]  # fmt: skip
    assert [event.event for event in record.conditions] == ["opened", "discharged"]

    first, second, ship = (phase for phase in record.phases if phase.role == "executor")
    for phase in (first, second):
        assert phase.attempts.forbidden_blocked == 1 and phase.held == {"write deploy": ("approved",)}
    assert ship.attempts.forbidden_blocked == 0 and not ship.held
    shipped = {c.path for phase in record.phases for c in phase.changes if c.zone == "deploy"}
    assert shipped == {"paging.py"}
    made = {c.path for c in record.phases[-1].changes if c.zone == "output"}
    assert made == {"notes.md", "handoff.json"}

    tools = [phase.tools for phase in record.phases if phase.tools and phase.tools.calls]
    assert [(use.live, use.cached) for use in tools] == [(1, 0), (0, 1), (0, 1), (0, 1)]


def test_its_tool_is_the_callers_to_grant(tmp_path: Path, cli: Cli) -> None:
    done = cli(*ASKED, "--backend", "bubblewrap", "-o", tmp_path / "run")
    assert done.code == 2 and "--allow-team-tools" in done.err and "issue" in done.err
