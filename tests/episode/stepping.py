"""A team that goes step by step, and its task: each writes lines into one file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rolewall.plan import make_plan
from rolewall.roles import load_team
from rolewall.run import run_plan
from rolewall.rundir import Run
from rolewall.sandbox import find_backend
from rolewall.tasks import load_tasks

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
