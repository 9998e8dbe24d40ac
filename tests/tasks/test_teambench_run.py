"""A directory of TeamBench's tasks through the command line: seeds, records, resuming."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.sandbox import remove_tree

if TYPE_CHECKING:
    from conftest import Bench, Cli, Ran

pytestmark = pytest.mark.bubblewrap

SOLVE = "read a b < numbers.txt && echo $((a + b)) > answer.txt"
PEEK = (
    "grep -rsl 'truth-of-see[d]' /workspace /brief /spec /plan /report /grader /reports /bench /tmp"
    " > /tmp/found; wc -c < /tmp/found"
)
TEAM = {
    "team": "sums",
    "rounds": 1,
    "limits": {"phase_seconds": 60, "memory_mb": 512, "pids": 64},
    "roles": {
        "planner": {"agent": {"script": "plan.yaml"}},
        "executor": {"agent": {"script": "work.yaml"}},
        "verifier": {"agent": {"script": "look.yaml"}},
    },
}
SCRIPTS: dict[str, Any] = {
    "plan.yaml": {"steps": [{"run": f'test "$({PEEK})" = 0', "stop_on_failure": True}]},
    "work.yaml": {"steps": [{"run": SOLVE}, {"id": "peek", "run": f'test "$({PEEK})" = 0'}]},
    "look.yaml": {
        "steps": [{"id": "peek", "run": f'test "$({PEEK})" = 0'}],
        "verdict": {"when": "peek", "then": "approve", "else": "reject"},
    },
}


@dataclass(frozen=True)
class Played:
    ran: Ran
    out: Path
    arguments: tuple[object, ...]
    env: dict[str, str]

    @property
    def info(self) -> dict[str, Any]:
        return json.loads((self.out / "run.json").read_text())

    @property
    def records(self) -> list[dict[str, Any]]:
        found = sorted((self.out / "episodes").iterdir())
        return [json.loads((path / "episode.json").read_text()) for path in found]


def team_in(directory: Path) -> Path:
    directory.mkdir()
    for name, script in SCRIPTS.items():
        (directory / name).write_text(json.dumps(script))
    (directory / "team.yaml").write_text(json.dumps(TEAM))
    return directory / "team.yaml"


@pytest.fixture
def played(bench: Bench, tmp_path: Path, own_cache: Path, cli: Cli) -> Iterator[Played]:
    """Two trials of a static and a generated task, beside which lies one without a grader."""
    bench.static(bench.task("STATIC1_sum"))
    bench.generated("SEEDED1_sum", said="parameterized: true\nseeds: [0, 1, 5, 6]\n")
    bench.task("LACKING1_grader", grade=None)
    out, env = tmp_path / "run", {"ROLEWALL_CACHE": str(own_cache)}
    arguments = ("run", team_in(tmp_path / "team"), "--tasks", bench.root / "tasks",
                 "--trials", 2, "--seed", 5, "--jobs", 2, "--backend", "bubblewrap",
                 "-o", out)  # fmt: skip
    yield Played(cli(*arguments, env=env), out, arguments, env)
    remove_tree(out)


def test_a_directory_of_tasks_from_load_to_audit(played: Played, cli: Cli) -> None:
    assert played.ran.code == 0, played.ran.err
    assert "generating 2 starts in boxes on bubblewrap" in played.ran.err
    assert "left out, without a grader: 1 task: LACKING1_grader" in played.ran.err
    assert "left out, without a grader: LACKING1_grader" in played.ran.out
    found = {(r["task"], r["trial"]): r for r in played.records}
    assert sorted(found) == [
        ("SEEDED1_sum", 0), ("SEEDED1_sum", 1), ("STATIC1_sum", 0), ("STATIC1_sum", 1),
    ]  # fmt: skip
    # The truth of each seed is in no role's reach, and the work passes against it.
    assert {(r["grade"], r["verdict"]) for r in found.values()} == {("pass", "approve")}
    assert [found["SEEDED1_sum", trial]["seed"] for trial in (0, 1)] == [5, 6]

    seeded = [found["SEEDED1_sum", trial]["digests"]["task"] for trial in (0, 1)]
    assert len(set(seeded)) == 2
    static = {found["STATIC1_sum", trial]["digests"]["task"] for trial in (0, 1)}
    refs = {ref["id"]: ref for ref in played.info["tasks"]}
    assert refs["SEEDED1_sum"]["instances"] == seeded
    assert {refs["STATIC1_sum"]["digest"]} == static
    assert played.info["left_out"] == ["LACKING1_grader"]

    assert cli("audit", played.out).code == 0
    again = cli(*played.arguments, env=played.env)
    assert again.code == 0
    assert "4 of 4 were already there" in again.err
    assert "generating" not in again.err


def test_a_kept_start_that_was_altered_is_no_part_of_the_run(played: Played, cli: Cli) -> None:
    kept = Path(played.env["ROLEWALL_CACHE"]) / "tasks"
    for start in kept.iterdir():
        (start / "workspace" / "numbers.txt").write_text("0 0\n")
    ran = cli(*played.arguments, env=played.env)
    assert ran.code == 2
    assert "the directory holds a run with other tasks" in ran.err


def test_interrupted_while_it_generates_nothing_is_left(
    bench: Bench, tmp_path: Path, own_cache: Path
) -> None:
    bench.generated(
        "SEEDED1_sum", "    def generate(self, seed):\n        import time; time.sleep(60)\n"
    )
    there = sorted(path.name for path in own_cache.iterdir())
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words = [sys.executable, "-m", "rolewall", "run", team_in(tmp_path / "team"), "--tasks",
             bench.root / "tasks", "--backend", "bubblewrap", "-o", tmp_path / "run"]  # fmt: skip
    env = {**os.environ, "TMPDIR": str(temporary), "ROLEWALL_CACHE": str(own_cache)}
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=env) as made:
        assert made.stderr is not None
        assert "generating" in made.stderr.readline()
        until = time.monotonic() + 60
        while not any(temporary.iterdir()):
            assert time.monotonic() < until
            time.sleep(0.05)
        made.send_signal(signal.SIGINT)
        _, said = made.communicate(timeout=60)
    assert made.returncode == 130, said
    assert list(temporary.iterdir()) == []
    assert sorted(path.name for path in own_cache.iterdir() if path.name != "tasks") == there
    assert not list((own_cache / "tasks").iterdir())


def test_a_generator_that_fails_is_named_and_nothing_runs(
    bench: Bench, tmp_path: Path, own_cache: Path, cli: Cli
) -> None:
    bench.generated("SEEDED1_sum", "    def generate(self, seed):\n        raise OSError('no')\n")
    ran = cli("run", team_in(tmp_path / "team"), "--tasks", bench.root / "tasks",
              "--backend", "bubblewrap", "-o", tmp_path / "run",
              env={"ROLEWALL_CACHE": str(own_cache)})  # fmt: skip
    assert ran.code == 2
    assert "generators/gen_seeded1_sum.py" in ran.err
    assert "exit code 1: OSError: no" in ran.err
    assert not os.path.lexists(tmp_path / "run")


def test_starts_are_not_kept_where_roles_would_see_them(
    bench: Bench, tmp_path: Path, cli: Cli
) -> None:
    bench.generated("SEEDED1_sum")
    team = team_in(tmp_path / "team")
    ran = cli("run", team, "--tasks", bench.root / "tasks", "--backend", "bubblewrap",
              "-o", tmp_path / "run",
              env={"ROLEWALL_CACHE": str(team.parent / "cache")})  # fmt: skip
    assert ran.code == 2
    assert "would be shown to every role" in ran.err


def test_a_check_of_its_grader_is_of_one_start(
    bench: Bench, tmp_path: Path, own_cache: Path, cli: Cli
) -> None:
    bench.generated("SEEDED1_sum")
    bench.task("LACKING1_grader", grade=None)
    ran = cli("check-grader", bench.root / "tasks", "--repeats", 2, "--mutants", 0, "--jobs", 2,
              "--seed", 5, "--backend", "bubblewrap",
              env={"ROLEWALL_CACHE": str(own_cache)})  # fmt: skip
    assert "left out, without a grader: LACKING1_grader" in ran.err
    assert ran.code == 4, ran.err  # without a solution it cannot be judged whole
    (check,) = json.loads((bench.root / "tasks" / "grader-checks.json").read_text())["checks"]
    assert check["task"] == "SEEDED1_sum"
    marks = {}
    for seed in (5, 6):
        out = tmp_path / f"run-{seed}"
        done = cli("run", team_in(tmp_path / f"team-{seed}"), "--tasks", bench.root / "tasks",
                   "--seed", seed, "--backend", "bubblewrap", "-o", out,
                   env={"ROLEWALL_CACHE": str(own_cache)})  # fmt: skip
        assert done.code == 0, done.err
        (ref,) = json.loads((out / "run.json").read_text())["tasks"]
        marks[seed] = ref["checked"]
    assert marks == {5: check["mark"], 6: None}
