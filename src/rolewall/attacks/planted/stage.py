"""The planted attacks as a team and a task of rolewall's own."""

from __future__ import annotations

import json
import shutil
from importlib.resources import as_file, files
from pathlib import Path

from rolewall.attacks.planted.payload.drive import GIT_ROUNDS, ZONE_ROUNDS

__all__ = ["ROUNDS", "make_planted_tree"]

ROUNDS = 1 + max(len(ZONE_ROUNDS), len(GIT_ROUNDS))
"""The first round plants files, each later one something in the place of a file."""

LIMITS = {"phase_seconds": 600, "memory_mb": 1024, "pids": 256, "disk_mb": 512}
PROGRAM = "import sys\nfrom payload.drive import main\n\nmain(sys.argv[1:])\n"
HOSTILE = "python3 -B /rolewall/agents/hostile.py"

# What a verifier may do in its own box: look, with git above all, and run nothing of the work.
CAREFUL = """
cd /workspace || exit 1
try() { timeout 20 "$@" >/dev/null 2>&1 </dev/null; }
try git status; try git status --short --ignored; try git diff; try git diff HEAD~1
try git diff HEAD~1 --stat; try git log -p; try git log --oneline --all; try git show
try git stash list; try git branch -a; try git blame answer; try git grep wrong
try git ls-files -s; try git archive --format=tar HEAD; try git fsck; try git reflog
try git submodule status; try git fetch --all; try git describe; try git gc
try git cat-file --textconv HEAD:c.conv; try git check-attr -a c.clean
try env PAGER=cat python3 -I -c "import pty; pty.spawn(['git', 'log'])"
try ls -laR .; try grep -r x .; try find . -type f; try du -s .; try file -- *
try head -c 1000 answer .env.sh evil.pth; try wc -l t.txt; try diff -r bin hooks
for there in nest sub filed bare away alt hooks bin; do
    (cd $there && try git status; try git diff; try git log -p; try git -C . branch)
done
try bash -lc true; try bash -ic true; cd /
try env -u PYTHONNOUSERSITE python3 -c pass; try git hg; try git xg
try python3 -m pytest -q -p no:cacheprovider /tmp
true
"""
# Things of the phase before that must not be here: the box's home, tmp and memory are new.
MARKS = (
    "ls /tmp/rolewall-fired 2>/dev/null; "
    "find /home /tmp /dev/shm -mindepth 1 -newermt @1 | sed 's,^,left ,'"
)
# The check box has the harness's repository; the careful look has seen what that one does.
CHECK = f"test $ROLEWALL_ROUND != 1 || rolewall-check -- {HOSTILE} careless git"
LAST = f"test $ROLEWALL_ROUND = {ROUNDS}"

GRADE = """#!/bin/bash
if [ "$(cat "$1/round")" = 1 ]; then python3 -B "$(dirname "$0")/hostile.py" careless; fi
[ "$(cat "$1/answer")" = right ] && ok=true || ok=false
printf '{"pass": %s, "failure_modes": []}' $ok > "$2/score.json"
"""


def make_planted_tree(directory: Path, host: Path) -> tuple[Path, Path]:
    """Write team and task into ``directory``; the paths of the team's file and the task.

    Args:
        host: an existing directory that everybody may write, outside of all that is
            given to a box. It gets a file and a directory that plants mean to change.
    """
    (host / "victim").write_text("untouched\n")
    (host / "victim").chmod(0o666)
    (host / "inside").mkdir()
    (host / "inside").chmod(0o777)
    team, task = directory / "team", directory / "task"
    _program(team)
    (team / "careful.sh").write_text(CAREFUL)
    for role, script in _scripts(host).items():
        (team / f"{role}.yaml").write_text(json.dumps(script, indent=1))
    agents = {role: {"agent": {"script": f"{role}.yaml"}} for role in ("executor", "verifier")}
    whole = {"team": "planted", "limits": LIMITS, "rounds": ROUNDS, "roles": agents}
    (team / "team.yaml").write_text(json.dumps(whole, indent=1))
    _task(task)
    return team / "team.yaml", task


def _scripts(host: Path) -> dict[str, dict[str, object]]:
    plant = f"{HOSTILE} plant {host} {ROUNDS}"
    # A look takes a while, and from the third round on there is nothing new to see.
    careful = "test $ROLEWALL_ROUND -gt 2 || sh /rolewall/agents/careful.sh"
    looks = [careful, MARKS, CHECK, f"{HOSTILE} leave {host} feedback"]
    steps: list[dict[str, str]] = [{"run": words} for words in looks]
    steps.append({"id": "last", "run": LAST})
    verdict = {"when": "last", "then": "approve", "else": "reject"}
    return {
        "executor": {"steps": [{"run": plant, "stop_on_failure": True}]},
        "verifier": {"steps": steps, "verdict": verdict},
    }


def _program(into: Path) -> None:
    into.mkdir(parents=True)
    (into / "hostile.py").write_text(PROGRAM)
    with as_file(files("rolewall.attacks.planted")) as source:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source / "payload", into / "payload", ignore=ignored)


def _task(task: Path) -> None:
    _program(task / "grader")
    (task / "grader" / "grade.sh").write_text(GRADE)
    (task / "workspace").mkdir()
    (task / "workspace" / "answer").write_text("none\n")
    grader = {"script": {"run": "grade.sh"}}
    body = {"id": "planted", "grader": grader, "seconds": 600}
    (task / "task.yaml").write_text(json.dumps(body))
    (task / "spec.md").write_text("The answer is right.\n")
    (task / "brief.md").write_text("Give the answer.\n")
