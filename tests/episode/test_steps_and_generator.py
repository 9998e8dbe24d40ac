"""A verdict after each step of the plan, what is made of approved work, and contracts."""

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
from rolewall.run import run_plan
from rolewall.rundir import Run
from rolewall.sandbox import find_backend
from rolewall.tasks import load_tasks, role_environment
from rolewall.timeline import read_timeline
from rolewall.timelinetext import timeline_lines

if TYPE_CHECKING:
    from conftest import Cli

pytestmark = pytest.mark.bubblewrap

# Step `two` is written first and waits for `one`; `gone` is over already.
PLAN = [
    {"id": "two", "goal": "the second line", "depends_on": ["one"], "done_when": "it is there"},
    {"id": "one", "goal": "the first line"},
    {"id": "gone", "goal": "nothing", "status": "done"},
]
# The first try of `two` goes wrong.
WORK = """
word=$ROLEWALL_STEP
[ "$ROLEWALL_STEP $ROLEWALL_ROUND" = "two 1" ] && word=wrong
echo $word >> /workspace/app.py; cat /rolewall/prompt.md
"""
JUDGE = """
cat /rolewall/prompt.md; [ "$(tail -n 1 /workspace/app.py)" = "$ROLEWALL_STEP" ]
"""
CHECK = 'import sys; sys.exit("one\\nwrong\\ntwo\\n" not in open("/workspace/app.py").read())\n'
MAKE = """
cat /rolewall/prompt.md
for zone in spec plan report feedback verdict; do [ -e /$zone ] && echo seen:$zone; done
touch /workspace/more 2>/dev/null && echo changed
git -C /workspace log --oneline | sed 's/^/log:/'
cp /workspace/app.py /output/made.txt
"""


def judge(**more: object) -> dict[str, Any]:
    verdict = {"when": "look", "then": "approve", "else": "reject"}
    return {"steps": [{"id": "look", "run": JUDGE}], "verdict": verdict, **more}


def write_team(path: Path, change: Callable[[dict[str, Any]], object] | None = None) -> Path:
    roles: dict[str, dict[str, Any]] = {
        "planner": {"handoff": {"steps": PLAN}},
        "executor": {"steps": [{"run": WORK}], "handoff": {"text": "did it"}},
        "verifier": judge(),
        "generator": {
            "steps": [{"run": MAKE}],
            "handoff": {"artifacts": [{"zone": "output", "path": "made.txt"}]},
        },
    }
    team: dict[str, Any] = {
        "team": "stepping",
        "rounds": 2,
        "verify": "each-step",
        "limits": {"phase_seconds": 60, "memory_mb": 512, "pids": 64},
        "roles": {role: {"agent": {"script": f"{role}.yaml"}} for role in roles},
        "scripts": roles,
    }
    if change:
        change(team)
    path.mkdir()
    for role, script in team.pop("scripts").items():
        (path / f"{role}.yaml").write_text(json.dumps(script))
    (path / "team.yaml").write_text(json.dumps(team))
    return path / "team.yaml"


def write_task(place: Path) -> Path:
    for below in ("workspace", "grader"):
        (place / below).mkdir(parents=True)
    grader = "grader: {command: {run: [python3, /grader/check.py], trust: outside}}"
    (place / "task.yaml").write_text(f"id: add-one\n{grader}\nseconds: 60\n")
    (place / "spec.md").write_text("one line after the other\n")
    (place / "brief.md").write_text("write lines\n")
    (place / "grader" / "check.py").write_text(CHECK)
    (place / "workspace" / "app.py").write_text("")
    return place


def played(team: Path, task: Path, out: Path, condition: str = "enforced") -> Run:
    plan = make_plan(load_team(team), load_tasks([task]), [condition], find_backend("bubblewrap"))
    return run_plan(plan, out)


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
