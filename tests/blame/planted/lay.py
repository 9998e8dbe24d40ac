"""Writes planted episodes as a user would: task directories, and a team for each setting."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Lot", "Planted", "lay_tasks", "lay_team"]

PLAYED = Path(__file__).with_name("played")
PROGRAMS = {
    "planner": ["plan.py"],
    "executor": ["work.py", "op.py"],
    "verifier": ["verify.py", "accept.py"],
}
"""What each role finds in a directory of its own."""


@dataclass(frozen=True)
class Lot:
    """What episodes have to share to be of one run.

    Attributes:
        arm: of handoffs.
        planner: whether the team has one.
        executor, verifier: ``program`` or ``script``; a ``stamp`` is a script that approves.
        page: who may use the tool ``page``: ``all``, ``planner``, or nobody.
        ttl: of what it gives, in seconds.
    """

    arm: str = "full"
    rounds: int = 1
    planner: bool = True
    executor: str = "program"
    verifier: str = "program"
    page: str = ""
    ttl: int = 600


@dataclass(frozen=True)
class Planted:
    """One episode.

    Attributes:
        stage: where its fault lies; empty for a twin, which has none and passes.
        files, done: the start state, and what right work changes of it.
        plan, work, check: what the planner, executor and verifier have in their own files.
        truth: what the grader holds the work to; None is ``done``.
        program: the grader's, where it is none that compares files.
        bins: programs that the executor finds, by name.
        pages: values of the page, one after the other, by item.
    """

    name: str
    kind: str
    domain: str
    stage: str
    lot: Lot
    files: dict[str, str]
    done: dict[str, str]
    spec: str
    brief: str
    plan: dict[str, Any] = field(default_factory=dict)
    work: dict[str, Any] = field(default_factory=dict)
    check: dict[str, Any] = field(default_factory=dict)
    truth: dict[str, str] | None = None
    program: str = ""
    bins: dict[str, str] = field(default_factory=dict)
    pages: dict[str, list[str]] = field(default_factory=dict)
    reference: dict[str, Any] | None = None
    critical: list[dict[str, Any]] = field(default_factory=list)


def lay_tasks(episodes: Iterable[Planted], into: Path) -> Path:
    """The task directories of ``episodes``, below ``into``."""
    for one in episodes:
        root = into / one.name
        run = ["python3", "/grader/check.py", "/grader/truth.json"]
        task = {
            "id": one.name,
            "seconds": 60,
            "grader": {"command": {"run": run, "tools": ["python3"], "trust": "outside"}},
            **({"critical": one.critical} if one.critical else {}),
        }
        _write(root / "task.yaml", json.dumps(task, indent=1))
        _write(root / "spec.md", one.spec)
        _write(root / "brief.md", one.brief)
        for name, text in one.files.items():
            _write(root / "workspace" / name, text)
        for name, text in {**one.files, **one.done}.items():
            _write(root / "solution" / name, text)
        truth = {"expected": one.done if one.truth is None else one.truth}
        _write(root / "grader" / "truth.json", json.dumps(truth))
        _write(root / "grader" / "check.py", one.program or (PLAYED / "accept.py").read_text())
        if one.reference:
            _write(root / "reference" / "plan.json", json.dumps(one.reference))
    return into


def lay_team(lot: Lot, episodes: Iterable[Planted], into: Path, place: str) -> Path:
    """The team of ``lot``, with what its roles need for ``episodes``.

    Args:
        place: ``host:port`` of the pages.
    """
    for role, programs in PROGRAMS.items():
        for program in programs:
            (into / role).mkdir(parents=True, exist_ok=True)
            shutil.copy(PLAYED / program, into / role / program)
    for one in episodes:
        plan = json.dumps(one.plan).replace("http://pages", f"http://{place}")
        _write(into / "planner" / f"{one.name}.json", plan)
        work = {**one.work, "pages": f"http://{place}"}
        _write(into / "executor" / f"{one.name}.json", json.dumps(work))
        check = {"expected": one.done, **one.check}
        _write(into / "verifier" / f"{one.name}.json", json.dumps(check))
        for name, text in one.bins.items():
            path = into / "executor" / one.name / "bin" / name
            _write(path, text)
            path.chmod(0o755)
    _write(into / "execute.yaml", json.dumps(_EXECUTE))
    _write(into / "verify.yaml", json.dumps(_verify(stamp=lot.verifier == "stamp")))
    _write(into / "team.yaml", json.dumps(_team(lot, place), indent=1))
    return into / "team.yaml"


_EXECUTE = {
    "steps": [
        {"run": "cat /brief/brief.md"},
        {"run": "handoff || true"},
        {"id": "work", "run": "python3 /rolewall/agents/executor/work.py /rolewall/agents"},
        {"run": "git status --short"},
    ]
}


def _verify(*, stamp: bool) -> dict[str, Any]:
    accept = "python3 /rolewall/agents/verifier/accept.py"
    check = f'{accept} "/rolewall/agents/verifier/$ROLEWALL_TASK.json"'
    return {
        "steps": [{"run": "cat /spec/spec.md"}, {"id": "accept", "check": check}],
        "verdict": "approve" if stamp else {"when": "accept", "then": "approve", "else": "reject"},
        "summary": "Looks fine." if stamp else "The check decided.",
        "handoff": {"text": "Something is not as required. Go through the plan once more."},
    }


def _team(lot: Lot, place: str) -> dict[str, Any]:
    def command(*words: str) -> dict[str, Any]:
        return {"agent": {"command": ["python3", *words]}}

    roles = {
        "planner": command("{agents}/planner/plan.py", "{agents}"),
        "executor": command("{agents}/executor/work.py", "{agents}"),
        "verifier": command("{agents}/verifier/verify.py", "{agents}", "{prompt}"),
    }
    if lot.executor == "script":
        roles["executor"] = {"agent": {"script": "execute.yaml"}}
    if lot.verifier != "program":
        roles["verifier"] = {"agent": {"script": "verify.yaml"}}
    if not lot.planner:
        del roles["planner"]
    team: dict[str, Any] = {
        "team": "crew",
        "rounds": lot.rounds,
        "limits": {"phase_seconds": 60, "memory_mb": 512, "pids": 64, "disk_mb": 64},
        "roles": roles,
    }
    if lot.page:
        who = {} if lot.page == "all" else {"roles": [lot.page]}
        team["tools"] = {"page": {"http": {"allow": [place]}, "ttl": lot.ttl, **who}}
    return team


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
