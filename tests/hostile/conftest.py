from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.sandbox import Backend, find_backend, remove_tree

if TYPE_CHECKING:
    from conftest import Ran, User

MEBIBYTES = 1024


@dataclass(frozen=True)
class Left:
    """A finished run whose executor left something."""

    run: Path
    done: Ran
    user: User

    @property
    def episode(self) -> Path:
        (found,) = (self.run / "episodes").iterdir()
        return found

    @property
    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.episode / "episode.json").read_text())
        return found

    @property
    def grade(self) -> dict[str, Any]:
        found: dict[str, Any] = self.record["verdicts"][0]["grade_after"]
        return found

    def manifest(self, phase: str = "00-executor") -> dict[str, dict[str, Any]]:
        """Entries of the workspace after a phase, by path."""
        with open(self.episode / "manifests" / f"{phase}-workspace.jsonl", "rb") as lines:
            next(lines)
            return {entry["path"]: entry for entry in map(json.loads, lines)}

    @property
    def checked(self) -> bool:
        """Whether the verifier's command in the check box succeeded."""
        lines = (self.episode / "transcripts" / "01-verifier.jsonl").read_text().splitlines()
        return [json.loads(line)["returncode"] for line in lines] == [0]

    def check_afterwards(self) -> None:
        """The run verifies, can be shown, and its owner can remove it."""
        audit = self.user.cli("audit", self.run)
        assert audit.code == 0, audit.out + audit.err
        shown = self.user.cli("show", self.run, self.record["key"])
        assert shown.code == 0 and "Traceback" not in shown.err, shown.err
        removed = self.user.python("-c", REMOVE, self.run)
        assert removed.code == 0, removed.err


REMOVE = "import shutil, sys; shutil.rmtree(sys.argv[1])"

Leave = Callable[..., Left]


@pytest.fixture
def leave(user: User, backend: Backend) -> Iterator[Leave]:
    """Runs what an executor leaves, for every user on every backend."""
    yield from _leaving(user, backend)


@pytest.fixture(
    params=[
        pytest.param(("root", "docker"), marks=[pytest.mark.root, pytest.mark.docker]),
        pytest.param(("ordinary", "bubblewrap"), marks=[pytest.mark.root, pytest.mark.bubblewrap]),
    ],
    ids="-".join,
)
def leave_once(request: pytest.FixtureRequest) -> Iterator[Leave]:
    """The same for each user and each backend once."""
    name, backend = request.param
    yield from _leaving(request.getfixturevalue(name), find_backend(backend))


def _leaving(user: User, backend: Backend) -> Iterator[Leave]:
    """Gives a function that runs an executor's program, a verifier with a command for the
    check box, and a grader's program."""

    def run(
        executor: str, grader: str, *, verifier: str = "true", disk_mb: int = MEBIBYTES
    ) -> Left:
        task, team = user.home / "task", user.home / "team"
        for folder in (task / "workspace", task / "grader", team):
            folder.mkdir(parents=True)
        how = "grader: {command: {run: [python3, /grader/check.py], trust: outside}}"
        (task / "task.yaml").write_text(f"id: left\n{how}\nseconds: 120\n")
        for name, text in {
            "spec.md": "leave what you like\n",
            "brief.md": "leave what you like\n",
            "workspace/app.py": "x = 1\n",
            "grader/check.py": grader,
        }.items():
            (task / name).write_text(text)
        (team / "leave.py").write_text(executor)
        script = {"steps": [{"id": "c", "check": verifier}], "verdict": "approve"}
        (team / "verifier.yaml").write_text(json.dumps(script))
        roles = {
            "executor": {"agent": {"command": ["python3", "{agents}/leave.py"]}},
            "verifier": {"agent": {"script": "verifier.yaml"}},
        }
        limits = {"phase_seconds": 120, "memory_mb": 512, "pids": 64, "disk_mb": disk_mb}
        whole = {"team": "leavers", "limits": limits, "roles": roles}
        (team / "team.yaml").write_text(json.dumps(whole))
        user.give(task)
        user.give(team)
        out = user.home / "run"
        done = user.cli("run", team / "team.yaml", "--tasks", task, "--backend", backend.name,
                        "-o", out)  # fmt: skip
        assert done.code == 0 and "Traceback" not in done.err, done.err
        return Left(out, done, user)

    yield run
    remove_tree(user.home / "run")  # for a run that was not finished
