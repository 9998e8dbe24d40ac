"""What the record alone says of a failed episode, and that it says no more than it can."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from rolewall.blame import STAGES
from tests.blame.conftest import CASES, Ran
from tests.broker.conftest import Tools, ask
from tests.conftest import Cli

pytestmark = pytest.mark.bubblewrap

STAGE = {
    "well": "none",
    "wrong-plan": "planning",
    "no-network": "capability",
}
OPEN = {  # what the record cannot tell apart
    "lost-authority": {"handoff", "execution"},
    "untold-plan": {"execution", "planning"},
    "unknown-plan": {"execution", "planning"},
    "wrong-execution": {"execution", "planning"},
    "rubber-stamp": {"execution", "planning", "grader"},
    "broken-grader": {"execution", "planning", "grader"},
    "grumpy": {"verification", "grader"},
    "needless": {"capability", "execution"},  # nothing says that it was missed
    "bogus-need": {"capability", "execution"},
}


@pytest.mark.parametrize(("name", "stage"), list(STAGE.items()))
def test_the_record_names_the_stage(cases: Ran, name: str, stage: str) -> None:
    found = cases.known[name]
    assert found["stage"] == stage
    assert stage == "none" or 0.4 < found["confidence"] < 1
    assert found["cost"] == {"replays": 0, "seconds": 0, "tokens": None}


@pytest.mark.parametrize(("name", "stages"), list(OPEN.items()))
def test_what_two_stages_explain_is_undecided(cases: Ran, name: str, stages: set[str]) -> None:
    found = cases.known[name]
    assert found["stage"] == "undecided"
    assert set(found["candidates"]) == stages
    assert found["confidence"] == 0


def test_who_cannot_be_told_is_told_of_replays(cases: Ran, cli: Cli) -> None:
    assert "--replays --team TEAM" in cli("blame", cases.run, "unknown-plan").out
    assert "--replays --team TEAM" in cli("blame", cases.run).out
    assert "--replays" not in cli("blame", cases.run, "wrong-plan").out


def test_evidence_names_file_field_and_digest(cases: Ran) -> None:
    found = cases.known["lost-authority"]
    first = found["evidence"][0]
    assert first["field"] == "conditions.agreed.authority"
    file = cases.run / "episodes" / found["key"] / first["file"]
    assert hashlib.sha256(file.read_bytes()).hexdigest() == first["sha256"]


def test_the_table_over_a_run_counts_every_failure_once(cases: Ran) -> None:
    found = cases.all
    assert found["episodes"] == len(CASES)
    assert found["failures"] == len(CASES) - 1
    assert sum(row["count"] for row in found["stages"]) == found["failures"]
    for row in found["stages"]:
        assert row["low"] < row["rate"] < row["high"] and row["of"] == found["failures"]
        assert row["stage"] in (*STAGES, "undecided")


def test_a_handoff_that_was_altered_is_refused(cases: Ran, cli: Cli) -> None:
    key = cases.known["well"]["key"]
    path = cases.run / "episodes" / key / "handoffs" / "00-planner.json"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"write alpha", b"write omega"))
    try:
        done = cli("blame", cases.run, "well")
    finally:
        path.write_bytes(data)
    assert done.code != 0
    assert "not what was sealed" in done.err


def test_replays_want_the_team_and_the_tasks_as_they_were(cases: Ran, cli: Cli) -> None:
    assert "--team TEAM and --tasks" in cli("blame", cases.run, "--replays").err
    team = cases.team.parent.parent / "other"
    team.mkdir()
    for path in cases.team.parent.rglob("*"):
        if path.is_file():
            target = team / path.relative_to(cases.team.parent)
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(path.read_bytes())
    (team / "more").write_text("one file more")
    done = cli("blame", cases.run, "grumpy", "--replays", "--team", team / "team.yaml",
               "--tasks", cases.tasks)  # fmt: skip
    assert done.code == 2
    assert "not the team of the episode" in done.err


def test_a_result_that_went_out_of_date_speaks_for_the_handoff(tmp_path: Path, cli: Cli) -> None:
    tools = Tools(tmp_path / "tools", cli, "bubblewrap")
    team = tools.team(
        {"clock": {"command": ["date", "+%s%N"], "ttl": 0.2}},
        {"planner": [ask("clock"), "sleep 0.5"], "executor": ["true"], "verifier": ["true"]},
    )
    run = tools.run(team).episode.directory.parents[1]
    (found,) = cli("blame", run, "--json").json["blame"]
    assert found["candidates"] == ["handoff", "execution"]
    assert "out of date" in found["evidence"][0]["why"]


def clues(
    tools: Tools,
    cli: Cli,
    offered: dict[str, Any],
    needs: list[str],
    goal: str = "add one",
    **scripts: list[str],
) -> dict[str, float]:
    """By stage the weight of what speaks for it in the record of a failed episode, whose plan has
    one step with ``needs``."""
    step = {"id": "s1", "goal": goal, "done_when": "x + 1 is there", "needs": needs}
    there = {"planner": [], "executor": ["true"], "verifier": ["false"], **scripts}
    team = tools.team(offered, there, plan={"steps": [step]})
    run = tools.run(team).episode.directory.parents[1]
    (found,) = cli("blame", run, "--json").json["blame"]
    assert found["failure"] == "work"
    return {clue["stage"]: clue["weight"] for clue in reversed(found["evidence"])}


ECHO = {"echo": {"command": ["cat"]}}
LACKING = {
    "a program that is there": (["python3"], ["echo 'sh: 1: python3: not found' >&2"], False),
    "one that is there, and 127": (["python3"], ["python3 -c 'raise SystemExit(127)'"], False),
    "one that is not": (["no-such-program"], ["no-such-program --help"], True),
    "one that nobody called": (["no-such-program"], ["true"], False),
    "a tool that refused the arguments": (
        ["use echo"],
        [ask("echo"), "rolewall-tool echo x"],
        False,
    ),
    "a tool that there is not": (["use page"], ["rolewall-tool page '{}'"], True),
}


@pytest.mark.parametrize(("needs", "ran", "lacks"), LACKING.values(), ids=LACKING)
def test_what_a_role_says_it_lacks_is_not_believed(
    tools: Tools, cli: Cli, needs: list[str], ran: list[str], lacks: bool
) -> None:
    found = clues(tools, cli, ECHO, needs, executor=ran)
    assert found.get("capability") == (0.85 if lacks else None)


URL = "git ls-remote http://docs.example/words || true"
DOUBTFUL = {
    "the network, untried": (["network"], "add one", ["true"], 0.5),
    "the network, tried": (["network"], "add one", [URL], 0.85),
    "the network, spoken of": (["network"], "add one", ["echo see http://docs.example"], 0.5),
    "a host, tried": (["reach docs.example:80"], "add one", [URL], 0.85),
    "a host, and another tried": (["reach pages.example:80"], "add one", [URL], 0.5),
    "a zone, untried": (["write spec"], "add one", ["true"], 0.5),
    "a zone, tried": (["write spec"], "add one", ["touch /spec/x || true"], 0.85),
    "a tool of a team without, untried": (["use page"], "add one", ["true"], 0.5),
    "a tool of a team without, spoken of": (["use page"], "add one", ["true page"], 0.5),
    "a tool of a team without, tried": (["use page"], "add one", ["rolewall-tool page"], 0.85),
    "a path in a zone of its own": (["write /workspace/out"], "add one", ["true"], None),
    "a zone that there is not": (["read the brief"], "add one", ["true"], None),
    "a program that the goal names": ([], "use capsconv", ["sh -c 'capsconv < x' || true"], 0.5),
    "one that it does not name": ([], "add one", ["sh -c 'capsconv < x' || true"], None),
    "one that it names, and that is there": ([], "use sort", ["sort --no-such"], None),
    "a word of the shell's own": ([], "test what you set", ["test -e x", "set -e"], None),
}


@pytest.mark.parametrize(("needs", "goal", "ran", "weight"), DOUBTFUL.values(), ids=DOUBTFUL)
def test_a_need_that_nobody_tried_to_meet_is_the_plans_word_alone(
    tools: Tools, cli: Cli, needs: list[str], goal: str, ran: list[str], weight: float | None
) -> None:
    """So a plan cannot lay its failure, or the executor's, to what nobody missed."""
    found = clues(tools, cli, {}, needs, goal, executor=ran)
    assert found.get("capability") == weight


CLOCK = {"clock": {"command": ["date", "+%s%N"], "share": False, "ttl": 3600}}


@pytest.mark.parametrize("role", ["verifier", "executor"])
def test_a_later_answer_accuses_nobody_of_having_handed_on_an_earlier_one(
    tools: Tools, cli: Cli, role: str
) -> None:
    """Of the verifier it came when the work was done; the executor got it anew itself."""
    scripts = {"planner": [ask("clock")], role: [ask("clock")]}
    assert "handoff" not in clues(tools, cli, CLOCK, [], **scripts)
