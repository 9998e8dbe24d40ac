"""What is counted of a run's handoffs, plans and claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rolewall.measures import paralysis
from rolewall.record import Change, PhaseRecord
from tests.conftest import Cli, Studio

pytestmark = pytest.mark.bubblewrap

CONDITION = {
    "id": "backup",
    "statement": "a backup was made",
    "authority": "verifier",
    "fallback": "do nothing",
    "forbids": ["write workspace"],
    "consequence": "data is lost",
}
PLAN = {
    "text": "Make it so. Backup: do nothing without.",
    "steps": [
        {"id": "s1", "goal": "return x + 1", "done_when": "a test", "needs": ["python3"]},
        {"id": "s2", "goal": "tell the world", "needs": ["network"], "depends_on": ["s1"]},
    ],
    "conditions": [{"id": "backup", "statement": "a backup was made", "authority": "planner"}],
}
CRITICAL = [
    {"id": "plus", "words": ["X  + 1"], "against": ["x - 1"]},
    {"id": "pure", "words": ["no side effects"]},
]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    import subprocess
    import sys

    path = tmp_path_factory.mktemp("measured")
    (path / "studio").mkdir()
    studio = Studio(path / "studio")
    task = studio.task()
    more = {"conditions": [CONDITION], "critical": CRITICAL}
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in more.items())
    (task / "task.yaml").write_text((task / "task.yaml").read_text() + lines)
    write = "python3 -c pass && sed -i 's/return x/return x + 1/' app.py"
    team = studio.team(
        planner={"steps": [{"run": "cat /spec/spec.md"}], "handoff": PLAN},
        executor={"steps": [{"run": write}, {"run": "python3 -c pass"}, {"run": "python3 -c pass"}],
                  "handoff": {"artifacts": [{"zone": "report", "path": "notes"}]}},
        verifier={"steps": [{"id": "t", "check": "grep -q 'x + 1' app.py"}, {"check": "ls"}],
                  "verdict": {"when": "t", "then": "approve", "else": "reject"}},
    )  # fmt: skip
    command = [sys.executable, "-m", "rolewall"]
    run = [*command, "run", team, "--tasks", task, "--backend", "bubblewrap", "-o", path / "run",
           "--handoff", "compressed"]  # fmt: skip
    subprocess.run(list(map(str, run)), check=True, capture_output=True, timeout=300)
    told = [*command, "measures", str(path / "run"), "--json"]
    done = subprocess.run(told, check=True, capture_output=True, text=True, timeout=60)
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def counted(found: dict[str, Any], measure: str, group: str) -> tuple[int, int]:
    (row,) = [r for r in found["measures"] if (r["measure"], r["group"]) == (measure, group)]
    assert row["low"] <= row["rate"] <= row["high"]
    return row["count"], row["of"]


def test_what_an_author_loses_is_told_from_what_the_arm_loses(measured: dict[str, Any]) -> None:
    # Of six fields the plan has status, statement and another authority, and prose the fallback.
    assert counted(measured, "fields retained", "planner written") == (4, 6)
    assert counted(measured, "fields preserved", "planner written") == (3, 6)
    assert counted(measured, "conditions deactivated", "planner written") == (0, 1)
    assert counted(measured, "conditions deactivated", "planner shown") == (1, 1)
    (hop,) = [h for h in measured["episodes"][0]["hops"] if h["kind"] == "written"]
    assert {"item": "condition", "id": "backup", "field": "authority", "present": True} in hop[
        "lost"
    ]


def test_the_artifact_and_the_endpoint_are_scored_apart(measured: dict[str, Any]) -> None:
    assert counted(measured, "artifact: a condition deactivated", "episodes") == (1, 1)
    assert counted(measured, "endpoint: forbidden action tried", "episodes") == (1, 1)
    assert counted(measured, "endpoint: forbidden action carried out", "episodes") == (0, 1)


def test_critical_items_are_followed_into_plan_handoff_and_calls(measured: dict[str, Any]) -> None:
    told = measured["episodes"][0]["critical"]
    assert told["plan"] == ["condition:backup", "plus"]
    assert told["handoff"] == ["condition:backup", "plus"]
    assert counted(measured, "critical items told", "calls") == (1, 2)


def test_plans_calls_and_claims_are_counted(measured: dict[str, Any]) -> None:
    assert counted(measured, "executable steps", "plan") == (1, 2)
    assert counted(measured, "needs met", "plan") == (1, 2)
    assert counted(measured, "redundant calls", "box") == (1, 6)
    assert counted(measured, "planning: calls", "all calls") == (1, 6)
    assert counted(measured, "claimed, not executed", "artifacts") == (1, 1)
    assert counted(measured, "claimed, not executed", "commands") == (0, 2)
    assert counted(measured, "repair: fail to pass", "verifier") == (0, 1)
    assert counted(measured, "planning paralysis", "episodes") == (0, 1)


def phase(index: int, role: str, outcome: str = "done", *, changes: bool = False) -> PhaseRecord:
    made = (Change(zone="workspace", path="a", change="created"),) if changes else ()
    return PhaseRecord(index=index, role=role, round=1, started=0, ended=1, outcome=outcome,  # type: ignore[arg-type]
                       returncode=0, changes=made)  # fmt: skip


def test_planning_that_stands_in_its_own_way_raises_the_alarm() -> None:
    idle = [phase(0, "planner"), phase(1, "executor"), phase(2, "planner")]
    found = paralysis(idle, {0: 1, 2: 1})
    assert found is not None and (found.kind, found.revisions, found.phase) == ("revisions", 1, 2)
    assert found.json()["planning"] == "paralysis"
    worked = [phase(0, "planner"), phase(1, "executor", changes=True), phase(2, "planner")]
    assert paralysis(worked, {}) is None
    spent = [phase(0, "planner", "budget"), phase(1, "executor")]
    found = paralysis(spent, {0: 9})
    assert found is not None and found.kind == "starved"


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"id": "a"}, "words"),
        ({"id": "a", "words": []}, "words"),
        ({"id": "a", "words": ["x"], "weight": 1}, "weight"),
        ({"id": "-", "words": ["x"]}, "id"),
    ],
)
def test_an_item_that_is_none_is_refused_by_name(
    studio: Studio, cli: Cli, tmp_path: Path, item: dict[str, Any], words: str
) -> None:
    task = studio.task()
    text = (task / "task.yaml").read_text()
    (task / "task.yaml").write_text(f"{text}critical: {json.dumps([item])}\n")
    done = cli("run", studio.team(), "--tasks", task, "-o", tmp_path / "run")
    assert done.code == 2
    assert f"critical[0].{words}" in done.err
