"""The suite as a team and a task of rolewall's own, so that it runs through the product's door."""

from __future__ import annotations

import json
import shutil
from importlib.resources import as_file, files
from pathlib import Path

__all__ = ["make_tree"]

ATTACK = "python3 -B {agents}/attack.py"
LIMITS = {"phase_seconds": 600, "memory_mb": 1024, "pids": 128, "disk_mb": 256}
# Who prepares what for whom: the planner what the executor attacks, who in turn does so for
# the verifier. The twins on own objects are made in the same box as the attempts.
COMMANDS = {
    "planner": "{attack} prepare --role executor --zone /plan",
    "executor": (
        "{attack} prepare --role verifier --zone /workspace && "
        "{attack} attack --role executor --zone /plan && "
        "{attack} own --role executor --zone /plan"
    ),
    "verifier": "{attack} attack && {attack} own",
}


def make_tree(directory: Path) -> tuple[Path, Path]:
    """Write team and task into ``directory``; the paths of the team's file and the task."""
    team, task = directory / "team", directory / "task"
    team.mkdir()
    with as_file(files("rolewall.attacks")) as source:
        shutil.copy(source / "attack.py", team)
        shutil.copytree(
            source / "payload", team / "payload", ignore=shutil.ignore_patterns("__pycache__")
        )
    roles = {
        role: {"agent": {"command": ["/bin/sh", "-c", text.replace("{attack}", ATTACK)]}}
        for role, text in COMMANDS.items()
    }
    whole = {"team": "attack", "limits": LIMITS, "rounds": 1, "roles": roles}
    (team / "team.yaml").write_text(json.dumps(whole, indent=1))
    _task(task)
    return team / "team.yaml", task


def _task(task: Path) -> None:
    for name in ("workspace", "grader"):
        (task / name).mkdir(parents=True)
    grader = {"command": {"run": ["python3", "/grader/check.py"], "trust": "outside"}}
    (task / "task.yaml").write_text(json.dumps({"id": "attack", "grader": grader, "seconds": 600}))
    (task / "spec.md").write_text("The work stays as it is.\n")
    (task / "brief.md").write_text("Leave the work as it is.\n")
    (task / "workspace" / "work.txt").write_text("work\n")
    (task / "grader" / "check.py").write_text("")
