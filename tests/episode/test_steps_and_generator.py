"""A verdict after each step of the plan, and what is made of approved work."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.audit import audit_run
from rolewall.episode.rounds import MOST_TRIES, Shape, by_steps
from rolewall.errors import InputError, TeamError
from rolewall.plan import make_plan
from rolewall.record import EpisodeRecord, Verdict
from rolewall.roles import Step, StepFacts, load_team
from rolewall.rundir import Run
from rolewall.sandbox import find_backend
from rolewall.tasks import load_tasks, role_environment
from tests.episode.stepping import played, write_task, write_team

if TYPE_CHECKING:
    from conftest import Cli

pytestmark = pytest.mark.bubblewrap


def turns(record: EpisodeRecord) -> list[str]:
    return [f"{p.role} {p.round} {p.step}".strip() for p in record.phases]


@pytest.fixture(scope="module")
def stepped(tmp_path_factory: pytest.TempPathFactory) -> Run:
    place = tmp_path_factory.mktemp("steps")
    task = write_task(place / "tasks" / "add-one")
    return played(write_team(place / "team"), task, place / "out")


def printed(run: Run, phase: str) -> str:
    (record,) = run.records
    return (run.episode_dir(record) / "transcripts" / f"{phase}.stdout").read_text()


def test_each_step_has_a_verdict_and_a_reject_goes_back(stepped: Run) -> None:
    (record,) = stepped.records
    assert record.error is None
    assert turns(record) == [
        "planner 1",
        "executor 1 one",
        "verifier 1 one",
        "executor 1 two",
        "verifier 1 two",
        "executor 2 two",
        "verifier 2 two",
        "generator 2",
    ]
    assert [(row.step, row.verdict, row.whole) for row in record.verdicts] == [
        ("one", "approve", False),
        ("two", "reject", True),
        ("two", "approve", True),
    ]
    assert (record.verdict, record.grade) == ("approve", "pass")


def test_a_step_of_several_is_not_graded_as_the_whole(stepped: Run) -> None:
    (record,) = stepped.records
    first, second, third = (row.grade_after for row in record.verdicts)
    assert first is None and second and third
    assert (second.grade, third.grade) == ("fail", "pass")


def test_executor_and_verifier_are_told_the_step(stepped: Run) -> None:
    work, look = printed(stepped, "03-executor"), printed(stepped, "04-verifier")
    for text in (work, look):
        assert "## Step 2 of 2" in text and '"goal": "the second line"' in text
        assert '"done_when": "it is there"' in text
    assert "judge the whole work" in look
    assert "Judge this step" in printed(stepped, "02-verifier")
    assert "## Step" not in printed(stepped, "00-planner") + printed(stepped, "07-generator")


def test_the_generator_sees_what_the_verdict_covers_and_makes_the_output(stepped: Run) -> None:
    text = printed(stepped, "07-generator")
    assert "# You are the generator" in text
    assert not {line for line in text.splitlines() if line.startswith(("seen:", "changed"))}
    assert text.count("\nlog:") == 2  # the harness's repository, as the verifier met it
    (record,) = stepped.records
    made = next(phase for phase in record.phases if phase.role == "generator")
    assert made.attempts.edit_blocked == 1
    assert {change.path for change in made.changes} == {"made.txt", "handoff.json"}
    left = json.loads((stepped.episode_dir(record) / "handoffs/07-generator.json").read_text())
    assert left["artifacts"][0]["sha256"] and not left["problems"]


def test_the_record_has_contracts_and_no_breach(stepped: Run) -> None:
    (record,) = stepped.records
    assert record.breaches == ()
    contracts = record.contracts
    assert contracts["executor"].produces == ("workspace: files", "report: handoff")
    assert contracts["generator"].consumes == ("brief: text", "workspace: files")
    assert contracts["verifier"].done == (
        "handoff.json of verifier is in /feedback",
        "verdict.json of verifier is in /verdict",
    )
    assert "write output" in contracts["generator"].may


def test_show_and_audit_know_steps_and_contracts(stepped: Run, cli: Cli) -> None:
    assert audit_run(stepped.path).findings == ()
    shown = cli("show", stepped.path, "add-one").out
    assert "phase 5 executor, round 2, step two" in shown
    assert "executor: gets brief, plan, feedback, output; produces workspace, report" in shown


class Told:
    """Turns that go as they are told: what each executor's and verifier's turn comes to."""

    over = False

    def __init__(self, plans: list[list[str]], tries: str) -> None:
        self._plans = iter(plans)
        self._tries = iter(tries)
        self.had: list[str] = []

    def plan(self, round_: int) -> list[Step]:
        self.had.append(f"plan {round_}")
        return [Step(id=name, goal="g") for name in next(self._plans)]

    def execute(self, round_: int, step: StepFacts | None = None) -> bool:
        self.had.append(f"{step.id if step else 'all'} {round_}")
        self._word = next(self._tries)
        return self._word == "b"

    def verify(self, round_: int, step: StepFacts | None = None) -> Verdict:
        self.had[-1] += "!" if step and step.last else "."
        return {"a": "approve", "m": "missing"}.get(self._word, "reject")  # type: ignore[return-value]

    def hand_in(self) -> None:
        raise AssertionError("somebody verifies")


# Each letter is a try: approved, rejected, blocked, or a missing verdict.
@pytest.mark.parametrize(
    "plans,tries,replan,approved,had",
    [
        ([["x", "y"]], "aa", False, True, "plan 1, x 1., y 1!"),
        ([["x", "y"]], "rara", False, True, "plan 1, x 1., x 2., y 1!, y 2!"),
        ([["x", "y"]], "rr", False, False, "plan 1, x 1., x 2."),
        ([["x", "y"]], "am", False, False, "plan 1, x 1., y 1!"),
        ([["x"]], "ba", False, True, "plan 1, x 1, x 2!"),
        ([["x"]], "bb", False, False, "plan 1, x 1, x 2!"),
        ([["x", "y"], ["z", "y"]], "raa", True, True, "plan 1, x 1., plan 2, z 2., y 1!"),
        ([["x", "y"], ["x"]], "ara", True, False, "plan 1, x 1., y 1!, plan 2"),
        ([["x"], ["u", "v"]], "ra", True, False, "plan 1, x 1!, plan 2, u 2."),
        ([[]], "ra", False, True, "plan 1, all 1., all 2."),
    ],
)
def test_steps_go_on_only_as_they_are_approved(
    plans: list[list[str]], tries: str, replan: bool, approved: bool, had: str
) -> None:
    turns = Told(plans, tries)
    assert by_steps(turns, Shape(2, True, replan, True)) is approved
    assert ", ".join(turns.had) == had


@pytest.mark.parametrize("steps,approved", [(MOST_TRIES, True), (MOST_TRIES + 1, False)])
def test_a_plan_however_long_makes_no_episode_longer_than_a_bound(
    steps: int, approved: bool
) -> None:
    turns = Told([[f"s{n}" for n in range(steps)]], "a" * steps)
    assert by_steps(turns, Shape(3, True, False, True)) is approved
    assert len(turns.had) == 1 + MOST_TRIES


def test_work_cannot_be_where_the_team_has_a_zone(tmp_path: Path) -> None:
    task = load_tasks([write_task(tmp_path / "tasks" / "add-one")])[0]
    there = replace(task, workdir="/deploy")
    zoned = write_team(tmp_path / "a", lambda t: t.update(zones={"deploy": {"owner": "executor"}}))
    plain = write_team(tmp_path / "b")
    backend = find_backend("bubblewrap")
    assert make_plan(load_team(plain), [there], ["enforced"], backend).episodes
    with pytest.raises(InputError, match="the work cannot be at /deploy"):
        make_plan(load_team(zoned), [there], ["enforced"], backend)


def test_programs_of_a_zone_of_the_teams_are_on_no_search_path(tmp_path: Path) -> None:
    task = load_tasks([write_task(tmp_path / "tasks" / "add-one")])[0]
    image = replace(task, env=(("PATH", "/deploy/bin:/output/bin:/usr/bin"),))
    assert role_environment(image, works=False, zones=["deploy"]) == {"PATH": "/usr/bin"}


LOOK = "cat /workspace/app.py; cat /deploy/claim /notes/spec.md 2>/dev/null; ls -d /deploy /notes"


@pytest.mark.parametrize("held", [False, True])
def test_the_generator_sees_of_the_teams_zones_what_the_verdict_covers(
    tmp_path: Path, held: bool
) -> None:
    """The planner tells it what is asked; the executor claims what the verifier may have seen,
    or what it may not look at until it approves."""

    def telling(team: dict[str, Any]) -> None:
        del team["verify"]
        team["rounds"] = 1
        team["zones"] = {"deploy": {"owner": "executor"}, "notes": {"owner": "planner"}}
        met = [{"id": "c", "statement": "s", "status": "met"}] if held else []
        claim = "echo claimed > /deploy/claim; echo done > /workspace/app.py"
        team["scripts"] = {
            "planner": {"steps": [{"run": "cp /spec/spec.md /notes/"}]},
            "executor": {"steps": [{"run": f"cat /notes/spec.md\n{claim}"}]},
            "verifier": {
                "steps": [{"run": "cat /notes/spec.md /deploy/claim"}],
                "verdict": "approve",
                "handoff": {"conditions": met},
            },
            "generator": {"steps": [{"run": LOOK}]},
        }

    task = write_task(tmp_path / "tasks" / "add-one")
    if held:
        closed = "{id: c, statement: s, authority: verifier, forbids: [read deploy]}"
        with (task / "task.yaml").open("a") as file:
            file.write(f"conditions: [{closed}]\n")
    run = played(write_team(tmp_path / "team", telling), task, tmp_path / "out")
    (record,) = run.records
    assert record.error is None and record.breaches == ()
    assert not record.phases[-1].held
    asked = "one line after the other\n"
    saw = asked if held else f"{asked}claimed\n"
    assert (printed(run, "01-executor"), printed(run, "02-verifier")) == (asked, saw)
    assert printed(run, "03-generator") == ("done\n" if held else "done\nclaimed\n/deploy\n")
    assert "notes: files" not in record.contracts["generator"].consumes
    assert audit_run(run.path).findings == ()


@pytest.mark.parametrize(
    "change,words",
    [
        (lambda t: t["roles"].pop("planner"), "each-step needs a planner"),
        (lambda t: t.update(verify="sometimes"), "verify"),
        (lambda t: t.update(zones={"plan": {"owner": "planner"}}), "rolewall's own"),
        (lambda t: t.update(zones={"output": {"owner": "executor"}}), "rolewall's own"),
        (lambda t: t.update(zones={"usr": {"owner": "executor"}}), "a box needs for itself"),
        (lambda t: t.update(zones={"Big": {"owner": "executor"}}), "not a zone name"),
        (lambda t: t.update(zones={"deploy": {"owner": "boss"}}), "no role of"),
        (lambda t: t.update(zones={"deploy": {"owner": "harness"}}), "no role of"),
        (lambda t: t.update(zones={"deploy": {"owner": "executor", "x": 1}}), "unknown key"),
        (lambda t: t["roles"].update(boss={"agent": {"script": "planner.yaml"}}), "unknown role"),
    ],
)
def test_a_team_that_cannot_be_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    with pytest.raises(TeamError, match=words):
        load_team(write_team(tmp_path / "team", change))
