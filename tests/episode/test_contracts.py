"""Contracts of roles: what one produces is its own, and who breaks that is found and named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rolewall.audit import audit_run
from rolewall.plan import make_plan
from rolewall.roles import load_team
from rolewall.run import run_plan
from rolewall.rundir import Run
from rolewall.sandbox import find_backend
from rolewall.tasks import load_tasks
from rolewall.timeline import read_timeline
from rolewall.timelinetext import timeline_lines
from tests.episode.stepping import played, write_task, write_team

pytestmark = pytest.mark.bubblewrap

MEDDLE = "echo one > /workspace/app.py; echo more > /plan/more; echo late > /report/late"


@pytest.fixture(scope="module")
def meddled(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A verifier that changes work and plan, and approves; nothing keeps it from that."""

    def meddling(team: dict[str, Any]) -> None:
        del team["verify"]
        team["scripts"]["verifier"] = {"steps": [{"run": MEDDLE}], "verdict": "approve"}

    place = tmp_path_factory.mktemp("meddled")
    task = write_task(place / "tasks" / "add-one")
    return played(write_team(place / "team", meddling), task, place / "out", "prompt-only")


def test_without_a_wall_breaches_are_found_and_named(meddled: Run) -> None:
    (record,) = meddled.records
    assert record.error is None
    found = {(b.kind, b.phase, b.role, b.zone) for b in record.breaches}
    assert found == {
        ("merged-identity", 2, "verifier", "workspace"),
        ("merged-identity", 2, "verifier", "plan"),
        ("merged-identity", 2, "verifier", "report"),
        ("merged-identity", 3, "generator", "workspace"),
        ("plan-changed", 2, "verifier", "plan"),
        ("author-touched-work", 2, "verifier", "workspace"),
        ("uncovered-result", 3, "generator", "workspace"),
    }
    lines = timeline_lines(read_timeline(meddled.episode_dir(record), record))
    broken = "contract broken: author-touched-work by verifier in phase 2"
    assert any(line.startswith(broken) for line in lines)


FLOOD = "mkdir /brief/a && cd /brief/a && seq 3000 | xargs touch; echo one > /workspace/app.py"


@pytest.mark.parametrize(("line", "broken"), [
    (FLOOD, {"merged-identity", "author-touched-work"}),
    (FLOOD.partition(";")[0], set()),
])  # fmt: skip
def test_no_number_of_other_changes_hides_a_breach(
    tmp_path: Path, line: str, broken: set[str]
) -> None:
    """A record lists 2,000 changes of a phase, by zone and path."""

    def flooding(team: dict[str, Any]) -> None:
        del team["verify"], team["roles"]["generator"]
        team["scripts"]["verifier"] = {"steps": [{"run": line}], "verdict": "approve"}

    task = write_task(tmp_path / "tasks" / "add-one")
    run = played(write_team(tmp_path / "team", flooding), task, tmp_path / "out", "prompt-only")
    (record,) = run.records
    listed = {change.zone for change in record.phases[-1].changes if change.cross_role}
    assert record.phases[-1].changes_omitted > 900 and listed == {"brief"}
    assert {breach.kind for breach in record.breaches} == broken


DO = "for n in one two three; do echo $n; done > /workspace/app.py"


@pytest.mark.parametrize(("by", "broken"), [
    ("planner", [("merged-identity", 0, "planner", "workspace")]),
    ("planner again", [("merged-identity", 3, "planner", "workspace")]),
    ("executor", []),
])  # fmt: skip
def test_who_makes_another_roles_artifact_breaks_its_contract(
    tmp_path: Path, by: str, broken: list[tuple[str, int, str, str]]
) -> None:
    """Whether or not it makes its own, in that turn or in another."""

    def doing(team: dict[str, Any]) -> None:
        del team["verify"], team["roles"]["generator"], team["scripts"]["generator"]
        again = by == "planner again"
        last = f"[ $ROLEWALL_ROUND = 1 ] || {DO}"
        team["replan"] = again
        team["scripts"] = {
            "planner": {"steps": [{"run": last if again else DO}]} if by != "executor" else {},
            "executor": {"steps": [{"run": DO}]} if by == "executor" else {},
            "verifier": {
                "steps": [{"id": "done", "run": "test -s /workspace/app.py"}],
                "verdict": {"when": "done", "then": "approve", "else": "reject"},
            },
        }
        if again:
            team["scripts"]["planner"]["handoff"] = {"text": "one, two, three"}

    task = write_task(tmp_path / "tasks" / "add-one")
    run = played(write_team(tmp_path / "team", doing), task, tmp_path / "out", "prompt-only")
    (record,) = run.records
    assert record.verdict == "approve"
    assert [(b.kind, b.phase, b.role, b.zone) for b in record.breaches] == broken


def test_the_same_behind_the_wall_breaks_nothing(meddled: Run, tmp_path: Path) -> None:
    team = load_team(meddled.path.parent / "team" / "team.yaml")
    tasks = load_tasks([meddled.path.parent / "tasks"])
    plan = make_plan(team, tasks, ["enforced"], find_backend("bubblewrap"))
    (record,) = run_plan(plan, tmp_path / "out").records
    assert record.breaches == () and record.error is None
    assert [phase.role for phase in record.phases][-1] == "generator"


def test_a_handoff_that_another_wrote_discharges_nothing(tmp_path: Path) -> None:
    """Without a wall an executor writes the planner's handoff, and the planner leaves it."""
    word = {"id": "c", "statement": "s", "status": "met"}
    forgery = json.dumps({"schema_version": 1, "conditions": [word]})

    def forging(team: dict[str, Any]) -> None:
        del team["verify"]
        team["replan"] = True
        del team["roles"]["generator"], team["scripts"]["generator"]
        opened = {"id": "c", "statement": "s", "authority": "planner", "forbids": ["write plan2"]}
        team["zones"] = {"plan2": {"owner": "planner"}}
        file = {"schema_version": 1, "conditions": [opened]}
        first = f"[ $ROLEWALL_ROUND = 2 ] || echo '{json.dumps(file)}' > /plan/handoff.json"
        team["scripts"] |= {
            "planner": {"steps": [{"run": first}]},
            "executor": {"steps": [{"run": f"echo '{forgery}' > /plan/handoff.json"}]},
            "verifier": {"verdict": "reject"},
        }

    task = write_task(tmp_path / "tasks" / "add-one")
    run = played(write_team(tmp_path / "team", forging), task, tmp_path / "out", "prompt-only")
    (record,) = run.records
    assert [(e.role, e.event) for e in record.conditions] == [("planner", "opened")]
    held = {phase.index: phase.held for phase in record.phases}
    assert held[3] == held[4] == {"write plan2": ("c",)} and held[5] == {}
    assert {(b.kind, b.role) for b in record.breaches} >= {("plan-changed", "executor")}
    left = json.loads((run.episode_dir(record) / "handoffs/03-planner.json").read_text())
    assert "no word of its role" in left["problems"][0]
    assert audit_run(run.path).findings == ()
