"""Which work is shown at all: only what the grader is seen to fail, and always."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.calibrate.sifting import Sifter
from rolewall.sandbox import find_backend
from rolewall.tasks import load_tasks

if TYPE_CHECKING:
    from conftest import Studio

    from tests.calibrate.conftest import Calibrate, Solved

pytestmark = pytest.mark.bubblewrap
ONE = ("--mutants", "1", "--reports", "plain")
REJECT = {"verdict": "reject"}
# Fails the untouched workspace, and mutants as chance has it.
FLAKY = """import random, sys
text = open("/workspace/sign.py").read()
if "if x < 0" not in text:
    sys.exit(1)
sys.exit(text != %r and random.random() < 0.5)
"""
SLOW = """import sys, time
text = open("/workspace/sign.py").read()
if "<=" in text:
    time.sleep(30)
sys.exit(text != %r)
"""
FIXED = "def sign(x):\n    if x < 0:\n        return -1\n    return 1 if x > 0 else 0\n"


def test_what_the_grader_passes_is_counted_and_not_shown(
    calibrate: Calibrate, studio: Studio, solved: Solved, tmp_path: Path
) -> None:
    weak = "import sys; sys.exit('if x < 0' not in open('/workspace/sign.py').read())\n"
    task = solved(check=weak)
    more = ("--mutants", "4", "--reports", "plain")
    made = calibrate(studio.team(verifier=REJECT), task, out=tmp_path / "run", more=more)
    assert made.code == 0, made.err
    (found,) = made.json["tasks"]
    assert (found["mutants"], found["untouched"]) == (4, True)
    assert found["survived"] >= 1
    assert f"{found['survived']} mutant" in made.err and "that its grader passes" in made.err
    for record in made.episodes():
        assert record["grade"] == ("pass" if record["candidate"]["kind"] == "solution" else "fail")


def test_a_task_that_can_show_nothing_is_left_out_by_name(
    calibrate: Calibrate, studio: Studio, solved: Solved, tmp_path: Path
) -> None:
    tasks = [
        solved("good"),
        solved("bare", solution=None),
        solved("wrong", solution="def sign(x):\n    return 0\n"),
        solved("blind", check="import sys; sys.exit(0)\n"),
    ]
    made = calibrate(studio.team(verifier=REJECT), *tasks, out=tmp_path / "run", more=ONE)
    assert made.code == 0, made.err
    assert {record["task"] for record in made.episodes()} == {"good"}
    for words in (
        "task bare is left out: it has no solution",
        "task wrong is left out: its grader does not pass the solution",
        "task blind is left out: its grader fails neither the untouched workspace nor a mutant",
    ):
        assert words in made.err
    again = calibrate(studio.team(verifier=REJECT), *tasks[1:], out=tmp_path / "none", more=ONE)
    assert again.code == 4
    assert "no task has a candidate to show" in again.err and not (tmp_path / "none").exists()


@pytest.mark.parametrize(("check", "word"), [(FLAKY, "flaky"), (SLOW, "slow")])
def test_what_is_graded_unsteadily_or_for_long_is_discarded(
    solved: Solved, monkeypatch: pytest.MonkeyPatch, check: str, word: str
) -> None:
    monkeypatch.setattr("rolewall.calibrate.sifting.LEAST_SECONDS", 2.0)
    lines: list[str] = []
    # Two, since a flaky grader may by chance be steady on every mutant of one.
    tasks = load_tasks([solved(name, check=check % FIXED) for name in ("one", "two")])
    images = dict.fromkeys(("one", "two"), "host")
    sifter = Sifter(find_backend("bubblewrap"), images, 512, 100, 0, lines.append)
    found = [sifted.info for sifted in sifter.sift(tasks, 2)]
    assert sum(getattr(info, word) for info in found) >= 1, lines
    assert all(info.untouched and info.mutants for info in found)


@pytest.mark.parametrize("text", ["", "loud", "plain,plain", "plain,"])
def test_reports_are_known_words(
    calibrate: Calibrate, studio: Studio, solved: Solved, tmp_path: Path, text: str
) -> None:
    more = ("--reports", text)
    made = calibrate(studio.team(), solved(), out=tmp_path / "run", more=more)
    assert made.code == 2 and "not styles of report" in made.err


def test_what_a_team_asks_for_is_refused_before_anything_is_graded(
    calibrate: Calibrate, studio: Studio, solved: Solved, tmp_path: Path
) -> None:
    team = studio.team(verifier={"command": ["true"], "network": {"allow": ["a.example:443"]}})
    made = calibrate(team, solved(), out=tmp_path / "run", more=ONE)
    assert made.code == 2 and "--allow-team-network" in made.err and "grading" not in made.err


def test_a_verifier_that_says_nothing_is_missing(
    calibrate: Calibrate, studio: Studio, solved: Solved, tmp_path: Path
) -> None:
    team = studio.team(verifier={"command": ["true"]})
    made = calibrate(team, solved(), out=tmp_path / "run", more=ONE)
    assert made.code == 0, made.err
    row = made.report("plain")
    assert row["missing"] == 2
    assert row["measures"]["excluded"]["informedness"]["value"] is None
    assert row["measures"]["failure"]["informedness"]["value"] == -1


def test_interrupted_while_it_grades_nothing_is_left(
    command: Callable[..., list[str]], studio: Studio, solved: Solved, tmp_path: Path
) -> None:
    slow = solved(check="import time; time.sleep(60)\n")
    words = command(studio.team(), slow, out=tmp_path / "run", more=ONE)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as made:
        assert made.stderr is not None
        assert "grading" in made.stderr.readline()
        time.sleep(1)
        made.send_signal(signal.SIGINT)
        _, said = made.communicate(timeout=60)
    assert made.returncode == 130, said
    assert not (tmp_path / "run").exists()
    mine = subprocess.run(
        ["pgrep", "-P", str(made.pid)], capture_output=True, text=True, timeout=20, check=False
    )
    assert not mine.stdout
