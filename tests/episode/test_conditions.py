"""Every condition, in real boxes: who sees and writes what, and what becomes of it."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.audit import audit_run
from rolewall.audit.history import check_history
from rolewall.plan import Plan, make_plan
from rolewall.policies import CONDITIONS, HAS_VERIFIER, compile_mounts, condition
from rolewall.record import EpisodeRecord, PhaseRecord
from rolewall.roles import load_team
from rolewall.rows import row_of
from rolewall.run import run_plan
from rolewall.rundir import Run, open_run
from rolewall.sandbox import find_backend
from rolewall.tasks import load_tasks

if TYPE_CHECKING:
    from conftest import Cli, Studio

ZONES = ("spec", "brief", "workspace", "plan", "report", "feedback", "verdict", "history",
         "grader")  # fmt: skip
LOOK = f"""
for zone in {" ".join(ZONES)}; do
  if [ ! -e /$zone ]; then echo zone:$zone:hidden
  elif touch /$zone/.mark 2>/dev/null; then echo zone:$zone:write; rm -f /$zone/.mark
  else echo zone:$zone:read; fi
done
cat /spec/spec.md 2>/dev/null | sed 's/^/said:/'
cat /rolewall/prompt.md
for file in /history/*; do [ -f $file ] && sed "s,^,$file:," $file; done
ls -l /history 2>/dev/null | sed 's/^/listed:/'
true
"""
# A role that would have others read another past. The harness's next file has a planted name.
FORGE = """
echo forged > /history/00-planner.stdout
for name in 01-executor 03-executor; do
  mkdir -p /history/$name.stdout/deep; ln -s /workspace/app.py /history/$name.stderr
done
true
"""
WORK = "sed -i 's/return x$/return x + 1/' /workspace/app.py; chmod 000 /workspace/closed.txt"
SECRET = "the-verifier-says-no"
# It fails where it gets no attestation, as most of TeamBench's graders do.
CHECK = """
import json, sys
from pathlib import Path
said = json.loads(Path("/submission/attestation.json").read_text())
Path("/workspace/closed.txt").read_text()
sys.exit(said["verdict"] != "pass" or "x + 1" not in Path("/workspace/app.py").read_text())
"""


@dataclass(frozen=True)
class Played:
    plan: Plan
    run: Run

    def record(self, name: str) -> EpisodeRecord:
        (found,) = [r for r in self.run.records if r.condition == name]
        return found

    def printed(self, name: str, phase: PhaseRecord) -> str:
        place = self.run.episode_dir(self.record(name)) / "transcripts"
        return (place / f"{phase.name}.stdout").read_text()


def write_team(place: Path, **roles: object) -> Path:
    place.mkdir()
    for role, script in roles.items():
        (place / f"{role}.yaml").write_text(json.dumps(script))
    team = {
        "team": "lookers",
        "rounds": 2,
        "limits": {"phase_seconds": 60, "memory_mb": 512, "pids": 64},
        "roles": {role: {"agent": {"script": f"{role}.yaml"}} for role in roles},
    }
    (place / "team.yaml").write_text(json.dumps(team))
    return place / "team.yaml"


def write_task(place: Path) -> Path:
    for below in ("workspace", "grader"):
        (place / below).mkdir(parents=True)
    grader = "grader: {command: {run: [python3, /grader/check.py], trust: outside}}"
    (place / "task.yaml").write_text(f"id: add-one\n{grader}\nseconds: 60\n")
    (place / "spec.md").write_text("add(x) returns x + 1\n")
    (place / "brief.md").write_text("make add(x) right\n")
    (place / "grader" / "check.py").write_text(CHECK)
    (place / "workspace" / "app.py").write_text("def add(x):\n    return x\n")
    (place / "workspace" / "closed.txt").write_text("as it was\n")
    return place


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
        pytest.param("docker", marks=pytest.mark.docker),
    ],
)
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """One run with an episode of each condition."""
    place = tmp_path_factory.mktemp("conditions")
    look = {"run": LOOK}
    team = write_team(
        place / "team",
        planner={"steps": [look]},
        executor={"steps": [look, {"run": WORK}, {"run": FORGE}], "handoff": {"text": "did it"}},
        verifier={"steps": [look, {"run": f"echo {SECRET}"}], "verdict": "reject"},
    )
    tasks = load_tasks([write_task(place / "tasks" / "add-one")])
    backend = find_backend(request.param)
    plan = make_plan(load_team(team), tasks, tuple(CONDITIONS), backend)
    return Played(plan, run_plan(plan, place / "run", jobs=2))


@pytest.mark.parametrize("name", CONDITIONS)
def test_each_role_meets_what_the_condition_gives_it(played: Played, name: str) -> None:
    policy, record = condition(name)(), played.record(name)
    assert record.error is None
    assert [p.role for p in record.phases[: len(policy.roles)]] == list(policy.roles)
    for phase in record.phases:
        compiled = compile_mounts(policy, phase.role)
        wanted = dict.fromkeys(ZONES, "hidden")
        wanted |= {m.zone: "write" if m.writable else "read" for m in compiled.mounts}
        lines = played.printed(name, phase).splitlines()
        found = [line.split(":")[1:] for line in lines if line.startswith("zone:")]
        assert dict(found) == wanted
        knows = "said:add(x) returns x + 1" in lines
        assert knows == (wanted["spec"] != "hidden")


@pytest.mark.parametrize("name", CONDITIONS)
def test_the_work_is_graded_with_and_without_a_verifier(played: Played, name: str) -> None:
    record, has = played.record(name), HAS_VERIFIER[name]
    assert (record.status, record.grade, record.trust) == ("complete", "pass", "outside")
    assert record.verified is has and record.isolated
    assert [p.role for p in record.phases].count("executor") == (2 if has else 1)
    if has:
        assert record.verdict == "reject" and len(record.verdicts) == 2 and record.final is None
    else:
        assert (record.verdict, record.verdicts) == ("missing", ())
        assert record.final is not None and record.final.grade == "pass"
    row = row_of(record)
    assert (row.verified, row.verdict, row.grade) == (has, record.verdict, "pass")


def test_the_audit_holds_and_nothing_is_run_again(played: Played) -> None:
    report = audit_run(played.run.path)
    assert report.exit_code == 0, [f.line() for f in report.findings]
    before = played.run.seal
    accepted: list[int] = []
    again = run_plan(played.plan, played.run.path, accepted=accepted.append)
    assert accepted == [len(CONDITIONS)]
    assert again.seal == before and again.records == played.run.records


def past(played: Played, name: str, phase: PhaseRecord) -> dict[str, str]:
    """The files of ``/history`` as one phase read them."""
    found: dict[str, list[str]] = {}
    for line in played.printed(name, phase).splitlines():
        if line.startswith("/history/"):
            file, _, text = line.removeprefix("/history/").partition(":")
            found.setdefault(file, []).append(text)
    return {file: "\n".join(lines) for file, lines in found.items()}


def test_history_is_what_earlier_roles_ran_and_printed(played: Played) -> None:
    name = "enforced-shared-history"
    phases = played.record(name).phases
    assert past(played, name, phases[0]) == {}
    for at, phase in enumerate(phases[1:], 1):
        shown = past(played, name, phase)
        assert {file.partition(".")[0] for file in shown} == {p.name for p in phases[:at]}
        # The nonces of the verifier's own prompt are all that was taken out.
        same = [p for p in phases[:at] if p.role != "verifier" and p.index < 3]
        for earlier in same:
            text = shown[f"{earlier.name}.stdout"]
            assert text == played.printed(name, earlier).rstrip("\n")
            first = json.loads(shown[f"{earlier.name}.jsonl"].splitlines()[0])
            assert first["arguments"] == {"command": LOOK}
    assert SECRET in past(played, name, phases[3])["02-verifier.stdout"]


@pytest.mark.parametrize("name", ["enforced-shared-history", "prompt-only-open"])
def test_no_nonce_is_in_a_history(played: Played, name: str) -> None:
    record = played.record(name)
    nonces = [row.nonce for row in record.verdicts]
    first = next(p for p in record.phases if p.role == "verifier")
    assert nonces[0] in played.printed(name, first)  # it was said
    for phase in record.phases[first.index + 1 :]:
        shown = past(played, name, phase)
        assert "[nonce removed]" in shown[f"{first.name}.stdout"]
        assert "[nonce removed]" in shown[f"{first.name}.jsonl"]
        assert not any(nonce in text for nonce in nonces for text in shown.values())


def test_the_audit_makes_each_history_again(played: Played, tmp_path: Path) -> None:
    record = played.record("enforced-shared-history")
    place = tmp_path / "episode"
    shutil.copytree(played.run.episode_dir(record), place)
    sound = frozenset(path.name for path in (place / "manifests").iterdir())
    assert list(check_history(place, record, sound)) == []
    with (place / "transcripts" / "01-executor.stdout").open("a") as transcript:
        transcript.write("what nobody was shown\n")
    found = [name for name, _ in check_history(place, record, sound)]
    assert found == [f"{phase.name}-history.jsonl" for phase in record.phases[2:]]


def test_a_role_cannot_write_another_past(played: Played) -> None:
    name = "enforced-shared-history"
    record = played.record(name)
    assert not [c for p in record.phases for c in p.changes if c.zone == "history"]
    lines = (played.run.episode_dir(record) / "audit.jsonl").read_text().splitlines()
    tried = [json.loads(line) for line in lines]
    mine = [t for t in tried if t["type"] == "attempt" and t["zone"] == "history"]
    assert {t["outcome"] for t in mine} == {"blocked"}
    mine = [t for t in mine if t["kind"] == "edit" and t["owner"] == "harness"]
    wanted = {"/history/00-planner.stdout", "/history/01-executor.stdout"}
    assert wanted <= {path for t in mine if t["role"] == "executor" for path in t["paths"]}
    for phase in record.phases[2:]:
        assert "forged" not in past(played, name, phase)["00-planner.stdout"]


def test_without_a_wall_another_past_lands_and_is_seen(played: Played) -> None:
    name = "prompt-only-open"
    record = played.record(name)
    executor, verifier = record.phases[1:3]
    landed = {c.path: c for c in executor.changes if c.zone == "history"}
    assert landed["00-planner.stdout"].cross_role and landed["00-planner.stdout"].attributed
    shown = past(played, name, verifier)
    assert shown["00-planner.stdout"] == "forged"
    # What was planted where the harness writes next is gone, not followed and not kept.
    assert shown["01-executor.stdout"] == played.printed(name, executor).rstrip("\n")
    listed = [x for x in played.printed(name, verifier).splitlines() if x.startswith("listed:")]
    kinds = {x.split()[8]: x[len("listed:")] for x in listed if len(x.split()) > 8}
    assert kinds["01-executor.stdout"] == kinds["01-executor.stderr"] == "-"
    assert (kinds["03-executor.stdout"], kinds["03-executor.stderr"]) == ("d", "l")
    fourth = past(played, name, record.phases[4])
    assert fourth["03-executor.stdout"] == played.printed(name, record.phases[3]).rstrip("\n")


def test_the_help_of_run_names_every_condition(cli: Cli) -> None:
    whole = re.sub(r"-\n\s+", "-", cli("run", "--help").out)  # lines are broken there, too
    assert set(CONDITIONS) <= set(re.split(r"[\s,.]+", whole))


@pytest.mark.bubblewrap
def test_a_team_without_a_planner_has_no_no_plan(cli: Cli, studio: Studio, tmp_path: Path) -> None:
    team, task = studio.team(), studio.task()
    asked = ("run", team, "--tasks", task, "--backend", "bubblewrap", "-o", tmp_path / "run")
    refused = cli(*asked, "--condition", "no-plan")
    assert refused.code == 2 and "takes away the planner, and the team has none" in refused.err
    assert not (tmp_path / "run").exists()
    assert cli(*asked, "--condition", "no-verify").code == 0
    (record,) = open_run(tmp_path / "run").records
    assert [p.role for p in record.phases] == ["executor"] and record.grade == "fail"


@pytest.mark.bubblewrap
def test_a_blocked_executor_alone_is_graded(cli: Cli, studio: Studio, tmp_path: Path) -> None:
    team = studio.team(rounds=3, executor={"handoff": {"status": "blocked", "text": "no"}})
    done = cli("run", team, "--tasks", studio.task(), "--condition", "solo",
               "--backend", "bubblewrap", "-o", tmp_path / "run")  # fmt: skip
    assert done.code == 0
    (record,) = open_run(tmp_path / "run").records
    assert [(p.role, p.outcome) for p in record.phases] == [("executor", "blocked")]
    assert record.final is not None and record.grade == record.final.grade == "fail"
