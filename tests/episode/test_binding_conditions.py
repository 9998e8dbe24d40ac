"""Binding conditions, in real boxes: what is open forbids, and only its authority's own
handoff ends that."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.audit import audit_run, read_sealed
from rolewall.audit.conditions import check_conditions
from rolewall.errors import TaskError
from rolewall.plan import make_plan
from rolewall.record import ConditionEvent, EpisodeRecord
from rolewall.roles import load_team
from rolewall.run import run_plan
from rolewall.rundir import Run
from rolewall.sandbox import find_backend
from rolewall.tasks import load_tasks
from rolewall.timeline import read_timeline
from rolewall.timelinetext import timeline_lines

if TYPE_CHECKING:
    from conftest import Cli

BOUNDED = ("--max-false-approval", "0.5")
ZONES = ("right", "waived", "wrong", "named", "waits", "stepped", "unfinished", "closed")
# condition, authority, prerequisite, what it forbids
TASK = (
    ("c-right", "verifier", "", "write right"),
    ("c-wrong", "planner", "", "write wrong"),
    ("c-named", "verifier", "", "write named"),
    ("c-waits", "verifier", "c-wrong", "write waits"),
    ("c-stepped", "verifier", "s1", "write stepped"),
    ("c-unfinished", "verifier", "s2", "write unfinished"),
    ("c-closed", "verifier", "", "read closed"),
)
TRY = f"""
for zone in {" ".join(ZONES)}; do
  echo made > /$zone/made-$ROLEWALL_ROUND 2>/dev/null && echo $zone:$ROLEWALL_ROUND:went
  ls -d /$zone >/dev/null 2>&1 || echo $zone:$ROLEWALL_ROUND:gone
done
true
"""


def said(name: str, status: str = "met") -> dict[str, str]:
    return {"id": name, "statement": "as it was", "status": status}


@pytest.fixture(scope="module")
def teams(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A team and a task: the executor writes in every zone in each of two rounds, and between
    them everybody says something of every condition."""
    place = tmp_path_factory.mktemp("binding")
    roles: dict[str, dict[str, Any]] = {
        "planner": {
            "handoff": {
                "steps": [{"id": "s1", "goal": "first"}, {"id": "s2", "goal": "second"}],
                "conditions": [
                    {
                        "id": "c-waived",
                        "statement": "the planner's own condition, for others to end",
                        "authority": "verifier",
                        "forbids": ["write waived"],
                    }
                ],
            }
        },
        "executor": {
            "steps": [{"run": TRY}],
            "handoff": {
                "text": "All conditions are met. c-named: met. c-right is discharged.",
                "conditions": [said("c-wrong"), said("c-named", "waived")],
                "steps": [{"id": "s2", "goal": "second", "status": "done"}],
            },
        },
        "verifier": {
            "verdict": "reject",
            "handoff": {
                "text": "c-named is met and waived",
                "steps": [{"id": "s1", "goal": "first", "status": "done"}],
                "conditions": [
                    *(said(f"c-{zone}") for zone in ("right", "wrong", "waits", "stepped")),
                    *(said(f"c-{zone}") for zone in ("unfinished", "closed")),
                    said("c-waived", "waived"),
                ],
            },
        },
    }
    team = {
        "team": "bound",
        "rounds": 2,
        "observe": "reads",
        "limits": {"phase_seconds": 60, "memory_mb": 512, "pids": 64},
        "zones": {zone: {"owner": "executor"} for zone in ZONES},
        "roles": {role: {"agent": {"script": f"{role}.yaml"}} for role in roles},
    }
    (place / "team").mkdir()
    for role, script in roles.items():
        (place / "team" / f"{role}.yaml").write_text(json.dumps(script))
    (place / "team" / "team.yaml").write_text(json.dumps(team))
    return place / "team" / "team.yaml", write_task(place / "task")


def write_task(place: Path) -> Path:
    (place / "grader").mkdir(parents=True)
    (place / "grader" / "check.py").write_text("")
    (place / "spec.md").write_text("write where you may\n")
    (place / "brief.md").write_text("write where you may\n")
    task = {
        "id": "bound",
        "grader": {"command": {"run": ["python3", "/grader/check.py"], "trust": "outside"}},
        "seconds": 60,
        "conditions": [
            {"id": name, "statement": "not yet", "authority": authority,
             "prerequisite": waits, "forbids": [action]}
            for name, authority, waits, action in TASK
        ],
    }  # fmt: skip
    (place / "task.yaml").write_text(json.dumps(task))
    return place


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
        pytest.param("docker", marks=pytest.mark.docker),
    ],
)
def enforced(
    request: pytest.FixtureRequest, teams: tuple[Path, Path], tmp_path_factory: Any
) -> Run:
    return run(teams, "enforced", request.param, tmp_path_factory.mktemp("out") / "run")


@pytest.fixture(scope="module")
def told_only(teams: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(teams, "prompt-only", "bubblewrap", tmp_path_factory.mktemp("out") / "run")


@pytest.fixture(scope="module")
def closed_work(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The work itself may not be read in the first round, and `output` not be written at all."""
    place = tmp_path_factory.mktemp("closed")
    roles: dict[str, dict[str, Any]] = {
        "executor": {"steps": [{"run": "pwd; echo done >> /workspace/made 2>/dev/null; true"}]},
        "verifier": {
            "steps": [
                {"run": "ls -d /workspace 2>/dev/null; true"},
                {"id": "look", "check": "cat /workspace/made"},
            ],
            "verdict": {"when": "look", "then": "approve", "else": "reject"},
            "handoff": {"conditions": [said("c-work")]},
        },
        "generator": {"steps": [{"run": "cp /workspace/made /output/ 2>/dev/null; true"}]},
    }
    team = {
        "team": "closed",
        "rounds": 2,
        "limits": {"phase_seconds": 60, "memory_mb": 512, "pids": 64},
        "roles": {role: {"agent": {"script": f"{role}.yaml"}} for role in roles},
    }
    (place / "team").mkdir()
    for role, script in roles.items():
        (place / "team" / f"{role}.yaml").write_text(json.dumps(script))
    (place / "team" / "team.yaml").write_text(json.dumps(team))
    task = write_task(place / "task")
    file = json.loads((task / "task.yaml").read_text())
    file["conditions"] = [
        {"id": "c-work", "statement": "s", "authority": "verifier", "forbids": ["read workspace"]},
        {"id": "c-out", "statement": "s", "authority": "planner", "forbids": ["write output"]},
    ]
    (task / "task.yaml").write_text(json.dumps(file))
    return run((place / "team" / "team.yaml", task), "enforced", "bubblewrap", place / "out")


def run(teams: tuple[Path, Path], condition: str, backend: str, out: Path) -> Run:
    team, task = teams
    plan = make_plan(load_team(team), load_tasks([task]), [condition], find_backend(backend))
    return run_plan(plan, out)


def went(run: Run) -> dict[str, list[str]]:
    (record,) = run.records
    found: dict[str, list[str]] = {}
    for phase in record.phases:
        printed = run.episode_dir(record) / "transcripts" / f"{phase.name}.stdout"
        for line in printed.read_text().splitlines():
            zone, round_, what = line.split(":")
            found.setdefault(zone, []).append(f"{what} {round_}")
    return found


def forbidden(run: Run) -> list[dict[str, Any]]:
    (record,) = run.records
    lines = (run.episode_dir(record) / "audit.jsonl").read_text().splitlines()
    return [line for line in map(json.loads, lines) if line.get("kind") == "forbidden"]


def test_what_is_open_is_blocked_and_what_its_authority_discharged_goes_through(
    enforced: Run,
) -> None:
    assert went(enforced) == {
        "right": ["went 2"],
        "waived": ["went 2"],
        "stepped": ["went 2"],
        "closed": ["gone 1", "went 2"],
    }


def test_each_attempt_is_logged_with_the_condition(enforced: Run) -> None:
    tried = {
        (line["phase"], line["zone"], line["why"])
        for line in forbidden(enforced)
        if line["effect"] != "read" and line["role"] == "executor"
    }
    first, second = {z for p, z, _ in tried if p == 1}, {z for p, z, _ in tried if p == 3}
    assert first == set(ZONES)
    assert second == {"wrong", "named", "waits", "unfinished"}
    for _, zone, why in tried:
        word = "zone is hidden" if zone == "closed" else "mount is read-only"
        assert why == f"{word}; forbidden by condition c-{zone}"
    assert {line["outcome"] for line in forbidden(enforced)} == {"blocked"}


def test_a_look_at_what_may_not_be_read_is_forbidden(enforced: Run) -> None:
    looks = [line for line in forbidden(enforced) if line["effect"] == "read"]
    assert {line["zone"] for line in looks} <= {"closed"}


def test_the_record_has_each_event_and_why(enforced: Run) -> None:
    (record,) = enforced.records
    told = {(e.phase, e.role, e.condition): (e.event, e.status, e.why) for e in record.conditions}
    assert told[None, "harness", "c-right"] == ("opened", "open", "")
    assert told[0, "planner", "c-waived"] == ("opened", "open", "")
    assert told[2, "verifier", "c-right"] == ("discharged", "met", "")
    assert told[2, "verifier", "c-waived"] == ("discharged", "waived", "")
    assert told[2, "verifier", "c-stepped"] == ("discharged", "met", "")
    refused = {(role, name): why for (_, role, name), (event, _, why) in told.items()
               if event == "refused"}  # fmt: skip
    assert refused == {
        ("executor", "c-wrong"): "executor cannot discharge it, only planner can",
        ("verifier", "c-wrong"): "verifier cannot discharge it, only planner can",
        ("executor", "c-named"): "executor cannot discharge it, only verifier can",
        ("verifier", "c-waits"): "its prerequisite is not over: condition c-wrong is open",
        ("verifier", "c-unfinished"):
            "its prerequisite is not over: step s2 is not done by the word of verifier",
    }  # fmt: skip
    seals = {phase.index: phase.handoff for phase in record.phases}
    assert all(event.seal == seals.get(event.phase, "") for event in record.conditions)


def test_the_next_role_reads_why_its_word_did_not_count(enforced: Run) -> None:
    (record,) = enforced.records
    left = json.loads((enforced.episode_dir(record) / "handoffs/02-verifier.json").read_text())
    assert (
        "condition c-wrong, refused: verifier cannot discharge it, only planner can"
        in left["problems"]
    )


def test_a_phase_says_what_was_held_and_counts_what_was_tried(enforced: Run) -> None:
    (record,) = enforced.records
    first, second = (phase for phase in record.phases if phase.role == "executor")
    assert first.held["write right"] == ("c-right",) and "write right" not in second.held
    assert second.held["write wrong"] == ("c-wrong",)
    for phase in (first, second):
        counts = phase.attempts
        assert counts.forbidden == counts.forbidden_blocked > 0 == counts.forbidden_allowed
        assert counts.distinct_forbidden > 0 == counts.edit_attempted
    assert second.attempts.forbidden < first.attempts.forbidden


def test_whoever_reads_the_specification_finds_what_the_task_forbids(enforced: Run) -> None:
    (record,) = enforced.records
    start = (enforced.episode_dir(record) / "manifests/start-spec.jsonl").read_text()
    assert '"conditions.json"' in start


def test_an_episode_is_shown_with_what_became_of_conditions(enforced: Run) -> None:
    (record,) = enforced.records
    lines = timeline_lines(read_timeline(enforced.episode_dir(record), record))
    assert "condition c-right opened: forbids write right until verifier ends it" in lines
    assert "  condition c-right discharged: met" in lines
    why = "executor cannot discharge it, only planner can"
    assert f"  condition c-wrong refused: said to be met ({why})" in lines
    blocked = "(mount is read-only; forbidden by condition c-right)  FORBIDDEN"
    assert any(line.endswith(blocked) for line in lines)


def test_an_audit_holds(enforced: Run) -> None:
    assert audit_run(enforced.path).findings == ()


Tamper = Callable[[EpisodeRecord], dict[str, object]]


def only(record: EpisodeRecord, event: str) -> tuple[ConditionEvent, ...]:
    return tuple(found for found in record.conditions if found.event == event)


def forged(record: EpisodeRecord) -> tuple[ConditionEvent, ...]:
    """As it would be had the executor's word counted."""
    return tuple(
        found.model_copy(update={"event": "discharged", "why": ""})
        if found.event == "refused" and found.role == "executor"
        else found
        for found in record.conditions
    )


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    "tamper,words",
    [
        (lambda r: {}, []),
        (lambda r: {"conditions": only(r, "opened")}, ["the events of conditions"]),
        (lambda r: {"conditions": forged(r)}, ["the events of conditions"]),
        (
            lambda r: {"phases": (*r.phases[:-1], r.phases[-1].model_copy(update={"held": {}}))},
            ["what was held in phase 4"],
        ),
    ],
)
def test_an_audit_makes_the_events_again(told_only: Run, tamper: Tamper, words: list[str]) -> None:
    (record,) = told_only.records
    place = told_only.episode_dir(record) / "handoffs"
    handoffs = {p.index: read_sealed(place / f"{p.name}.json").handoff for p in record.phases}
    found = list(check_conditions(record.model_copy(update=tamper(record)), handoffs))
    assert [line[: len(word)] for line, word in zip(found, words, strict=True)] == words


@pytest.mark.bubblewrap
def test_without_a_wall_it_is_recorded_and_goes_through(told_only: Run) -> None:
    assert all(found[0] == "went 1" for found in went(told_only).values())
    tried = [line for line in forbidden(told_only) if line["role"] == "executor"]
    assert {line["zone"] for line in tried if line["phase"] == 1} == set(ZONES)
    assert {line["outcome"] for line in tried} == {"allowed"}
    assert all(f"forbidden by condition c-{line['zone']}" in line["why"] for line in tried)
    (record,) = told_only.records
    counts = record.attempts["executor"]
    assert counts.forbidden == counts.forbidden_allowed > 0
    assert {e.condition for e in record.conditions if e.event == "discharged"} == {
        "c-right",
        "c-waived",
        "c-stepped",
        "c-closed",
    }


@pytest.mark.bubblewrap
def test_work_that_may_not_be_read_is_in_no_box_and_in_no_copy(closed_work: Run) -> None:
    (record,) = closed_work.records
    assert record.error is None
    assert [(phase.role, phase.round) for phase in record.phases] == [
        ("executor", 1), ("verifier", 1), ("executor", 2), ("verifier", 2), ("generator", 2),
    ]  # fmt: skip
    place = closed_work.episode_dir(record) / "transcripts"
    printed = {p.index: (place / f"{p.name}.stdout").read_text() for p in record.phases}
    assert printed[0] == "/\n" and printed[1] == ""
    assert printed[2] == "/workspace\n" and printed[3] == "/workspace\ndone\n"
    assert [row.verdict for row in record.verdicts] == ["reject", "approve"]


@pytest.mark.bubblewrap
def test_a_verdict_given_without_the_work_says_so_and_a_gate_can_refuse_it(
    closed_work: Run, cli: Cli
) -> None:
    (record,) = closed_work.records
    assert [row.held for row in record.verdicts] == [("c-work",), ()]
    assert [row.isolated for row in record.verdicts] == [False, True] and not record.isolated
    lines = timeline_lines(read_timeline(closed_work.episode_dir(record), record))
    assert "    given without the work: held by condition c-work" in lines
    assert "held by condition c-work" in cli("show", closed_work.path).out
    refused = cli("gate", closed_work.path, *BOUNDED, "--require-isolated")
    text = refused.out + refused.err
    assert refused.code == 4 and "or was given without sight of it" in text
    asked = cli("gate", closed_work.path, *BOUNDED)
    assert "without sight of it" in asked.out + asked.err
    assert audit_run(closed_work.path).findings == ()
    seen = record.verdicts[0].model_copy(update={"held": (), "isolated": True})
    forged = record.model_copy(update={"verdicts": (seen, record.verdicts[1])})
    place = closed_work.episode_dir(record) / "handoffs"
    handoffs = {p.index: read_sealed(place / f"{p.name}.json").handoff for p in record.phases}
    (found,) = check_conditions(forged, handoffs)
    assert found.startswith("what kept the work from the verdict of phase 1")


@pytest.fixture(scope="module")
def blinding(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The executor's work fails, its report does not, and it forbids to look."""
    place = tmp_path_factory.mktemp("blinding")
    hush = {"id": "hush", "statement": "hush", "forbids": ["read workspace", "write workspace"]}
    roles: dict[str, dict[str, Any]] = {
        "executor": {
            "steps": [{"run": "echo rubbish >> /workspace/out || ls -d /workspace; true"}],
            "handoff": {"text": "all fine", "conditions": [hush]},
        },
        "verifier": {
            "steps": [{"id": "look", "run": "! grep -q rubbish /workspace/out"}],
            "verdict": {"when": "look", "then": "approve", "else": "reject"},
        },
    }
    team = {
        "team": "blinding",
        "rounds": 2,
        "limits": {"phase_seconds": 60, "memory_mb": 512, "pids": 64},
        "roles": {role: {"agent": {"script": f"{role}.yaml"}} for role in roles},
    }
    (place / "team").mkdir()
    for role, script in roles.items():
        (place / "team" / f"{role}.yaml").write_text(json.dumps(script))
    (place / "team" / "team.yaml").write_text(json.dumps(team))
    task = write_task(place / "task")
    file = json.loads((task / "task.yaml").read_text())
    del file["conditions"]
    (task / "task.yaml").write_text(json.dumps(file))
    return run((place / "team" / "team.yaml", task), "enforced", "bubblewrap", place / "out")


@pytest.mark.bubblewrap
def test_who_is_judged_cannot_blind_its_judge(blinding: Run, cli: Cli) -> None:
    (record,) = blinding.records
    assert record.error is None
    assert [(row.verdict, row.held, row.isolated) for row in record.verdicts] == [
        ("reject", (), True), ("reject", (), True),
    ]  # fmt: skip
    hush = {"read workspace": ("hush",), "write workspace": ("hush",)}
    assert [phase.held for phase in record.phases] == [{}, {}, hush, {}]
    (opened,) = record.conditions
    assert opened.why == "it has no authority: nobody can discharge it, and it binds executor alone"
    asked = cli("gate", blinding.path, *BOUNDED, "--require-isolated")
    assert "was not isolated" not in asked.out + asked.err
    assert audit_run(blinding.path).findings == ()


@pytest.mark.bubblewrap
def test_a_generator_whose_output_is_held_makes_none(closed_work: Run) -> None:
    (record,) = closed_work.records
    made = record.phases[-1]
    assert made.attempts.forbidden == made.attempts.forbidden_blocked > 0
    assert not made.changes
    (found,) = {line["why"] for line in forbidden(closed_work) if line["role"] == "generator"}
    assert found == "mount is read-only; forbidden by condition c-out"


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    "change,words",
    [
        (lambda c: c.update(forbids="write right"), "valid list"),
        (lambda c: c.update(forbids=["deploy"]), "no action"),
        (lambda c: c.update(forbids=["write  right"]), "no action"),
        (lambda c: c.update(forbids=["write report"]), "cannot hold the zone report"),
        (lambda c: c.update(forbids=["read grader"]), "cannot hold the zone grader"),
        (lambda c: c.update(forbids=["write nowhere"]), "no such zone"),
        (lambda c: c.update(forbids=["use deploy"]), "no such tool"),
        (lambda c: c.update(authority="boss"), "no role for its authority"),
        (lambda c: c.pop("authority"), "no role for its authority"),
        (lambda c: c.update(status="met"), "is open"),
        (lambda c: c.update(id="c-wrong"), "twice"),
    ],
)
def test_a_task_that_forbids_what_cannot_be_held_is_refused(
    teams: tuple[Path, Path], tmp_path: Path, change: Change, words: str
) -> None:
    place = tmp_path / "task"
    shutil.copytree(teams[1], place)
    task = json.loads((place / "task.yaml").read_text())
    change(task["conditions"][0])
    (place / "task.yaml").write_text(json.dumps(task))
    with pytest.raises(TaskError, match=words):
        make_plan(load_team(teams[0]), load_tasks([place]), ["enforced"], find_backend("auto"))
