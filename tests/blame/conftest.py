"""A team whose roles do what the task's name says they do, so that a run has a failure of each
kind: the executor does what its plan says, the verifier compares the work with the
specification."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from tests.broker.conftest import Tools
from tests.conftest import Cli

ACT = """
import json, os, subprocess, sys
plan = json.load(open("/plan/handoff.json"))
task = os.environ["ROLEWALL_TASK"]
if task in {clumsy}:
    word = "rubbish"
elif task in {looking}:
    asked = ["git", "ls-remote", "http://docs.example/words"]
    got = subprocess.run(asked, stdout=subprocess.PIPE, text=True).stdout
    word = got or "no answer"
elif task in {asking}:
    told = [one.get("authority") for one in plan.get("conditions", ())]
    word = "asked " + (told[0] if told and told[0] else "nobody")
else:
    goals = [step["goal"] for step in plan.get("steps", ())]
    word = goals[0].removeprefix("write ") if goals else plan.get("text", "").strip()
open("/workspace/out", "w").write(word)
"""
JUDGE = """
import os, sys
task = os.environ["ROLEWALL_TASK"]
if task in {stamping}:
    sys.exit(0)
if task in {grumpy}:
    sys.exit(1)
sys.exit(open("/workspace/out").read() not in open("/spec/spec.md").read())
"""
CHECK = "import sys; sys.exit(open('/workspace/out').read() != {want!r})\n"


@dataclass(frozen=True)
class Case:
    """One task, and how its roles fail it."""

    name: str
    goal: str = "write alpha"
    want: str = "alpha"
    plan: dict[str, Any] = field(default_factory=dict)
    task: dict[str, Any] = field(default_factory=dict)
    clumsy: bool = False
    asking: bool = False
    looking: bool = False
    stamping: bool = False
    grumpy: bool = False
    reference: str = ""  # the goal of a reference plan


def step(goal: str, **more: object) -> dict[str, Any]:
    return {"id": "s1", "goal": goal, "done_when": "it is there", **more}


@dataclass(frozen=True)
class Ran:
    """A run of cases."""

    run: Path
    team: Path
    tasks: Path

    def rolewall(self, *words: object) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "rolewall", *map(str, words), "--json"],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    @cached_property
    def all(self) -> dict[str, Any]:
        """What the records of all say."""
        found = self.rolewall("blame", self.run)
        assert isinstance(found, dict)
        return found

    @property
    def known(self) -> dict[str, dict[str, Any]]:
        """The same by the names of cases."""
        return {one["episode"].partition(":")[0]: one for one in self.all["blame"]}

    def blame(self, name: str, *, replays: bool = False) -> dict[str, Any]:
        more = ("--replays", "--team", self.team, "--tasks", self.tasks) if replays else ()
        (found,) = self.rolewall("blame", self.run, name, *more)["blame"]
        assert isinstance(found, dict)
        return found


def play(path: Path, cases: list[Case], *options: str) -> Ran:
    """Play ``cases`` as one run."""
    tasks, team = path / "tasks", path / "team"
    for case in cases:
        _task(tasks / case.name, case)
    _team(team, cases)
    words = ["run", team / "team.yaml", "--tasks", tasks, "--backend", "bubblewrap",
             "--jobs", "2", "-o", path / "run", *options]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "rolewall", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Ran(path / "run", team / "team.yaml", tasks)


def _task(root: Path, case: Case) -> None:
    for below in ("workspace", "grader", "solution"):
        (root / below).mkdir(parents=True)
    grader = {"command": {"run": ["python3", "/grader/check.py"], "trust": "outside"}}
    file = {"id": case.name, "grader": grader, "seconds": 60, **case.task}
    (root / "task.yaml").write_text(json.dumps(file))
    (root / "spec.md").write_text("The file `out` holds the word alpha; or who was asked.\n"
                                  "asked verifier\n")  # fmt: skip
    (root / "brief.md").write_text("write the file\n")
    (root / "workspace" / "out").write_text("nothing yet")
    (root / "grader" / "check.py").write_text(CHECK.format(want=case.want))
    right = "asked verifier" if case.asking else "alpha"
    (root / "solution" / "out").write_text(right)
    if case.reference:
        (root / "reference").mkdir()
        plan = {"schema_version": 1, "steps": [step(case.reference)]}
        (root / "reference" / "plan.json").write_text(json.dumps(plan))


def _team(root: Path, cases: list[Case]) -> None:
    for role in ("planner", "executor", "verifier"):
        (root / role).mkdir(parents=True)
    for case in cases:
        plan = {"schema_version": 1, "steps": [step(case.goal)], **case.plan}
        (root / "planner" / f"{case.name}.json").write_text(json.dumps(plan))
    named = {
        name: [case.name for case in cases if getattr(case, name)]
        for name in ("clumsy", "asking", "looking", "stamping", "grumpy")
    }
    (root / "executor" / "act.py").write_text(_filled(ACT, named))
    (root / "verifier" / "judge.py").write_text(_filled(JUDGE, named))
    agents = "/rolewall/agents"
    plan = f"cp {agents}/planner/$ROLEWALL_TASK.json /plan/handoff.json"
    scripts = {
        "planner": {"steps": [{"run": plan}]},
        "executor": {"steps": [{"run": f"python3 {agents}/executor/act.py"}],
                     "handoff": {"text": "It is done."}},
        "verifier": {"steps": [{"id": "right", "run": f"python3 {agents}/verifier/judge.py out"}],
                     "verdict": {"when": "right", "then": "approve", "else": "reject"}},
    }  # fmt: skip
    for role, script in scripts.items():
        (root / f"{role}.yaml").write_text(json.dumps(script))
    team = {
        "team": "cases",
        "limits": {"phase_seconds": 60, "memory_mb": 512, "pids": 64},
        "roles": {role: {"agent": {"script": f"{role}.yaml"}} for role in scripts},
    }
    (root / "team.yaml").write_text(json.dumps(team))


def _filled(text: str, named: dict[str, list[str]]) -> str:
    for name, tasks in named.items():
        text = text.replace("{" + name + "}", repr(tasks))
    return text


CRITICAL = {"critical": [{"id": "word", "words": ["alpha"], "against": ["beta"]}]}
ASKING = {
    "conditions": [
        {
            "id": "agreed",
            "statement": "somebody has agreed",
            "authority": "verifier",
            "fallback": "leave it",
        }
    ]
}
CASES = [
    Case("well", task=CRITICAL),
    Case("lost-authority", asking=True, want="asked verifier", task=ASKING,
         plan={"conditions": [{"id": "agreed", "statement": "somebody has agreed",
                               "fallback": "leave it"}]}),
    Case("wrong-plan", goal="write beta", task=CRITICAL),
    Case("untold-plan", goal="write gamma", reference="write alpha"),
    Case("unknown-plan", goal="write gamma"),
    Case("wrong-execution", clumsy=True, task=CRITICAL),
    Case("rubber-stamp", clumsy=True, stamping=True, task=CRITICAL),
    Case("broken-grader", want="omega", task=CRITICAL),
    Case("no-network", looking=True, plan={"steps": [step("look it up", needs=["network"])]}),
    Case("needless", clumsy=True, plan={"steps": [step("write alpha", needs=["network"])]}),
    Case("bogus-need", plan={"steps": [step("write gamma", needs=["network"])]},
         reference="write alpha"),
    Case("grumpy", grumpy=True, task=CRITICAL),
]  # fmt: skip


@pytest.fixture(scope="session")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """One run with a failure of each kind."""
    return play(tmp_path_factory.mktemp("cases"), CASES)


@pytest.fixture
def tools(tmp_path: Path, cli: Cli) -> Tools:
    return Tools(tmp_path / "tools", cli, "bubblewrap")
