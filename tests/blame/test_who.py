"""Who did it, and what has nothing to do with it: nobody is accused of what another role did, or
of what the failure does not come from."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.broker.conftest import Tools, ask
from tests.conftest import Cli

pytestmark = pytest.mark.bubblewrap

STEP = {"id": "s1", "goal": "add one", "done_when": "x + 1 is there"}
RIGHT = "sed -i 's/return x$/return x + 1/' app.py"
WRONG = "sed -i 's/return x$/return x + 2/' app.py"
LOOK = "grep -q 'x + 1' app.py"
PAGE = {"page": {"command": ["sh", "-c", "cat > /dev/null; echo hello"], "ttl": 0.2}}
CLOCK = {"page": {"command": ["date", "+%s%N"], "ttl": 0.2}}


def condition(tools: Tools, action: str) -> None:
    """The task forbids ``action`` until the verifier has said so."""
    given = {"id": "agreed", "statement": "Somebody has agreed.", "authority": "verifier",
             "forbids": [action]}  # fmt: skip
    with (tools.task / "task.yaml").open("a") as file:
        file.write(f"conditions: [{json.dumps(given)}]\n")


def reference(tools: Tools, work: str = "def add(x):\n    return x + 1\n") -> None:
    """The task brings its solution, and a plan."""
    for below, name, text in (
        ("solution", "app.py", work),
        ("reference", "plan.json", json.dumps({"schema_version": 1, "steps": [STEP]})),
    ):
        (tools.task / below).mkdir()
        (tools.task / below / name).write_text(text)


def judged(cli: Cli, tools: Tools, team: Path, *words: object, replays: bool = False) -> Any:
    run = tools.run(team, *words).episode.directory.parents[1]
    return blamed(cli, tools, team, run) if replays else blamed(cli, tools, None, run)


def blamed(cli: Cli, tools: Tools, team: Path | None, run: Path, *words: object) -> Any:
    more = ("--replays", "--team", team, "--tasks", tools.task, "--allow-team-tools")
    done = cli("blame", run, "--json", *(more if team else ()), *words)
    assert done.code == 0, done.err
    (found,) = done.json["blame"]
    return found


def scripts(**lines: list[str]) -> dict[str, list[str]]:
    return {"planner": [], "executor": [RIGHT], "verifier": [], **lines}


@pytest.mark.parametrize(("role", "stage"), [
    ("planner", "planning"), ("executor", "handoff"), ("verifier", "verification"),
])  # fmt: skip
def test_who_carried_out_what_is_forbidden_is_named(
    tools: Tools, cli: Cli, role: str, stage: str
) -> None:
    """Of the executor it is asked whether it was told."""
    condition(tools, "write notes")
    acting = {role: ["touch /notes/x", *([RIGHT] if role == "executor" else [])]}
    team = tools.team({}, scripts(**acting), plan={"steps": [STEP]},
                      zones={"notes": {"owner": "planner"}})  # fmt: skip
    found = judged(cli, tools, team, "--condition", "prompt-only")
    assert (found["failure"], found["stage"]) == ("forbidden", stage)
    if role != "executor":
        run = next(tools.path.glob("run-*"))
        again = blamed(cli, tools, team, run)
        assert (again["stage"], again["replays"]) == (stage, [])
        assert role in again["not_played"][0]


@pytest.mark.parametrize(("where", "carried_out"), [("prompt-only", 1), ("enforced", 0)])
def test_a_forbidden_use_of_a_tool_is_counted_as_any_other(
    tools: Tools, cli: Cli, where: str, carried_out: int
) -> None:
    condition(tools, "use page")
    team = tools.team(PAGE, scripts(executor=[f"{ask('page')} || true", RIGHT]),
                      plan={"steps": [STEP]})  # fmt: skip
    run = tools.run(team, "--condition", where).episode.directory.parents[1]
    measured = cli("measures", run, "--json").json
    rows = {row["measure"]: row["count"] for row in measured["measures"]}
    assert rows["endpoint: forbidden action tried"] == 1
    assert rows["endpoint: forbidden action carried out"] == carried_out
    assert measured["episodes"][0]["forbidden"] == {"tried": 1, "carried_out": carried_out}
    (found,) = cli("blame", run, "--json").json["blame"]
    assert found["failure"] == ("forbidden" if carried_out else "verdict")  # they give none


def test_a_tool_that_is_not_forbidden_counts_as_nothing(tools: Tools, cli: Cli) -> None:
    condition(tools, "write workspace2")
    team = tools.team(PAGE, scripts(executor=[ask("page"), RIGHT]), plan={"steps": [STEP]},
                      zones={"workspace2": {"owner": "executor"}})  # fmt: skip
    run = tools.run(team, "--condition", "prompt-only").episode.directory.parents[1]
    (episode,) = cli("measures", run, "--json").json["episodes"]
    assert episode["forbidden"] == {"tried": 0, "carried_out": 0}


def test_a_planner_that_touched_the_work_is_not_passed_over(tools: Tools, cli: Cli) -> None:
    """Without a wall it breaks what the executor copies, and leaves a plan that is right."""
    (tools.task / "workspace" / "need").write_text("def add(x):\n    return x + 1\n")
    reference(tools)
    team = tools.team({}, scripts(planner=["echo broken > need"], executor=["cp need app.py"]),
                      plan={"steps": [STEP]})  # fmt: skip
    found = judged(cli, tools, team, "--condition", "prompt-only", replays=True)
    assert found["stage"] == "undecided"
    assert set(found["candidates"]) == {"planning", "execution"}


def test_a_verifier_that_broke_right_work_is_named_with_replays_too(tools: Tools, cli: Cli) -> None:
    """It would break the reference solution as well."""
    reference(tools)
    team = tools.team({}, scripts(verifier=["echo broken > app.py"]), plan={"steps": [STEP]})
    found = judged(cli, tools, team, "--condition", "prompt-only", replays=True)
    assert (found["stage"], found["confidence"] > 0.6) == ("verification", True)


@pytest.mark.parametrize(("tool", "stage"), [(PAGE, "execution"), (CLOCK, "undecided")],
                         ids=["the same answer", "another answer"])  # fmt: skip
def test_a_result_out_of_date_is_at_fault_only_if_it_would_be_another(
    tools: Tools, cli: Cli, tool: dict[str, Any], stage: str
) -> None:
    reference(tools)
    old = scripts(planner=[ask("page"), "sleep 0.5"], executor=[WRONG], verifier=[LOOK])
    team = tools.team(tool, old, plan={"steps": [STEP]})
    found = judged(cli, tools, team, replays=True)
    assert found["stage"] == stage, found["decided"]


def test_what_a_tool_says_after_the_executors_turn_makes_no_clue_heavier(
    tools: Tools, cli: Cli
) -> None:
    old = scripts(planner=[ask("page"), "sleep 0.5"], executor=[WRONG], verifier=[ask("page")])
    found = judged(cli, tools, tools.team(CLOCK, old, plan={"steps": [STEP]}))
    assert set(found["candidates"]) == {"handoff", "execution"}


def test_what_passes_when_it_is_played_again_failed_by_chance(tools: Tools, cli: Cli) -> None:
    """An expired result that says what it said before does not make it the handoff's."""
    at = int(time.time()) + 8
    late = f"[ $(date +%s) -lt {at} ] && {WRONG} || {RIGHT}"
    old = scripts(planner=[ask("page"), "sleep 0.5"], executor=[late])
    team = tools.team(PAGE, old, plan={"steps": [STEP]})
    run = tools.run(team).episode.directory.parents[1]
    time.sleep(max(0.0, at + 1 - time.time()))
    found = blamed(cli, tools, team, run, "--repeat", "2")
    assert found["stage"] == "undecided" and "chance" in found["decided"]
    (again,) = found["replays"]
    assert (again["change"], again["played"], again["passes"]) == ("same", 2, 2)


@pytest.mark.parametrize("planned", [False, True])
def test_being_stopped_at_something_else_is_not_why_the_work_is_wrong(
    tools: Tools, cli: Cli, planned: bool
) -> None:
    """The executor does what a wrong plan says, and is stopped, and ends badly, beside it."""
    condition(tools, "write deploy")
    reference(tools)
    if not planned:
        (tools.task / "reference" / "plan.json").unlink()
    goes = "handoff plan steps | grep -q 'add one' && N=1 || N=2"
    work = f'{goes}; sed -i "s/return x$/return x + $N/" app.py; cp app.py /deploy/; exit 3'
    told = {"id": "agreed", "statement": "Somebody has agreed.", "authority": "verifier",
            "forbids": ["write deploy"]}  # fmt: skip
    plan = {"steps": [STEP | {"goal": "add two"}], "conditions": [told]}
    team = tools.team({}, scripts(executor=[work], verifier=[LOOK]), plan=plan,
                      zones={"deploy": {"owner": "executor"}})  # fmt: skip
    run = tools.run(team).episode.directory.parents[1]
    assert blamed(cli, tools, None, run)["stage"] == "undecided"
    found = blamed(cli, tools, team, run)
    assert found["stage"] == ("planning" if planned else "undecided"), found["decided"]
    if not planned:
        assert set(found["candidates"]) == {"planning", "execution"}
        shown = cli("blame", run, "add-one", "--replays", "--team", team, "--tasks", tools.task)
        assert "a reference/plan.json in the task" in shown.out


@pytest.mark.parametrize("there", [True, False])
def test_what_a_planner_only_says_it_left_excuses_nobody(
    tools: Tools, cli: Cli, there: bool
) -> None:
    plan = {"steps": [STEP], "artifacts": [{"zone": "plan", "path": "notes"}]}
    leaving = ["echo add one > /plan/notes"] if there else []
    team = tools.team({}, scripts(planner=leaving, executor=[WRONG], verifier=[LOOK]), plan=plan)
    found = judged(cli, tools, team)
    assert found["stage"] == "undecided"
    assert ("handoff" in found["candidates"]) == (not there)
