"""``rolewall check-grader`` on tasks with graders of every quality, and what a run makes of it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rolewall.checkgrader import find_checks
from rolewall.tasks import load_tasks
from tests.fields import unsaid

pytestmark = pytest.mark.bubblewrap

START = "def price(net, count):\n    return net\n"
RIGHT = "def price(net, count):\n    total = net * count + 7\n    return total - 2\n"
IN_ITS_OWN_BOX = """
import subprocess
import sys

CODE = "import sys; sys.path.append('.'); from price import price; print(price(*%s))"
for given, expected in (((11, 3), 38), ((0, 5), 5)):
    argv = ["rolewall-check", "--", "python3", "-I", "-c", CODE % (given,)]
    if subprocess.run(argv, capture_output=True, text=True).stdout != f"{expected}\\n":
        sys.exit(1)
"""
BESIDE_THE_WORK = (
    "import sys\nsys.path.insert(0, '/workspace')\nfrom price import price\n"
    "assert price(0, 5) == 5\n"
)
PYTHON = {"workspace": {"price.py": START}, "solution": {"price.py": RIGHT}}
DATA = {"workspace": {"data.txt": "old\n"}, "solution": {"data.txt": "new\n"}}


def grader(*argv: str, **more: Any) -> dict[str, Any]:
    return {"command": {"run": list(argv), "trust": "outside", **more}}


DIGEST = hashlib.sha256(RIGHT.encode()).hexdigest()
NEW = grader("grep", "-q", "new", "data.txt")
TASKS: dict[str, dict[str, Any]] = {
    "sound": {
        **PYTHON,
        "grader": grader("python3", "/grader/check.py"),
        "hidden": {"check.py": IN_ITS_OWN_BOX},
    },
    "beside": {
        **PYTHON,
        "grader": grader("python3", "/grader/check.py"),
        "hidden": {"check.py": BESIDE_THE_WORK},
    },
    "small": {**DATA, "grader": NEW},
    "always": {**DATA, "grader": grader("true")},
    "never": {**DATA, "grader": grader("grep", "-q", "newest", "data.txt")},
    "no-tool": {**DATA, "grader": grader("jq", "-e", "true", tools=["rolewall-no-such-tool"])},
    "one-text": {
        **PYTHON,
        "grader": grader("sh", "-c", f"echo '{DIGEST}  price.py' | sha256sum -c"),
    },
    "exists": {
        "workspace": {"data.txt": "old\n"},
        "solution": {"logo.bin": "\0"},
        "grader": grader("test", "-e", "logo.bin"),
    },
    "unsolved": {**DATA, "solution": None, "grader": NEW},
}


@dataclass(frozen=True)
class Checked:
    """A finished check of all ``TASKS``."""

    tasks: Path
    code: int
    found: dict[str, Any]
    said: str

    def of(self, task: str) -> dict[str, Any]:
        (one,) = [grader for grader in self.found["graders"] if grader["task"] == task]
        assert isinstance(one, dict)
        return one

    def outcomes(self, task: str) -> dict[str, str]:
        return {one["name"]: one["outcome"] for one in self.of(task)["shortcuts"]}


@pytest.fixture(scope="module")
def checked(task: Callable[..., Path]) -> Checked:
    made = [task(name, **made) for name, made in TASKS.items()]
    argv = [sys.executable, "-m", "rolewall", "check-grader", made[0].parent, "--repeats", "2",
            "--mutants", "8", "--jobs", "3", "--backend", "bubblewrap", "--json"]  # fmt: skip
    ran = subprocess.run(
        list(map(str, argv)), capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.stdout, ran.stderr
    return Checked(made[0].parent, ran.returncode, json.loads(ran.stdout), ran.stderr)


def test_a_mark_for_each_task(checked: Checked) -> None:
    marks = {one["task"]: one["mark"] for one in checked.found["graders"]}
    assert marks == {
        "sound": "A", "beside": "F", "small": "B", "always": "F", "never": "F",
        "no-tool": "E", "unsolved": "U", "one-text": "C", "exists": "U",
    }  # fmt: skip
    assert checked.code == checked.found["exit_code"] == 1
    assert "A: all holds (1)" in checked.said
    assert "7 graders of 9 below B" in checked.said


def test_every_field_is_explained(checked: Checked) -> None:
    assert unsaid(checked.found, "check-grader") == set()


def test_a_sound_grader_is_seen_to_fail_and_to_pass(checked: Checked) -> None:
    one = checked.of("sound")
    assert one["untouched"]["grades"] == ["fail"] * 2
    assert one["solution"]["grades"] == ["pass"] * 2
    assert one["mutants"]["killed"] == one["mutants"]["judged"] >= 5
    outcomes = checked.outcomes("sound")
    assert outcomes["planted-reports"] == "withstood"
    assert outcomes["os-exit"] == "not run"  # in the grade box, that is
    assert outcomes["conftest"] == outcomes["script-exit"] == "does not apply"
    assert "passed" not in outcomes.values()


def test_each_way_to_fool_a_grader_is_named(checked: Checked) -> None:
    fooled = {name for name, outcome in checked.outcomes("beside").items() if outcome == "passed"}
    assert {"sys-exit", "os-exit", "equal-to-all", "atexit", "patch-exit"} <= fooled
    assert "copied-truth" not in fooled
    reasons = checked.of("beside")["reasons"]
    assert "os-exit passes: the work calls os._exit(0) at import" in reasons


def test_what_is_wrong_is_named(checked: Checked) -> None:
    why = {one["task"]: "; ".join(one["reasons"]) for one in checked.found["graders"]}
    assert why["always"] == "the untouched workspace passes"
    assert why["never"] == "the solution fails: exit status 1"
    assert "not in the grade box: rolewall-no-such-tool" in why["no-tool"]
    assert "may know only the reference" in why["one-text"]
    assert "no mutant of the solution was judged" in why["exists"]
    assert why["unsolved"].startswith("no solution")
    assert "judged, fewer than 5" in why["small"]


def test_a_flaky_grader_is_named(cli: Any, task: Callable[..., Path]) -> None:
    luck = grader("bash", "-c", "grep -q new data.txt && (( RANDOM % 2 ))")
    ran = cli("check-grader", task("lucky/luck", **DATA, grader=luck), "--repeats", "16",
              "--mutants", "0", "--backend", "bubblewrap")  # fmt: skip
    assert ran.code == 1
    assert "the solution is graded" in ran.out
    assert "flaky (" in ran.out


def test_a_survivor_is_named_with_its_change(checked: Checked) -> None:
    survivors = checked.of("beside")["mutants"]["survivors"]
    assert survivors
    for one in survivors:
        assert one["path"] == "price.py"
        assert one["id"] in checked.said
        assert one["what"].startswith("price.py:")


def test_shortcuts_are_named_by_what_became_of_them(checked: Checked) -> None:
    lines = [line.split(None, 2) for line in checked.said.splitlines()]
    (withstood,) = [line for line in lines if line[:2] == ["sound", "withstood"]]
    assert "planted-reports" in withstood[2] and "os-exit" not in withstood[2]
    assert any(line[:2] == ["sound", "not"] and "os-exit" in line[2] for line in lines)


def test_a_mark_is_of_one_backend(checked: Checked) -> None:
    tasks = load_tasks([checked.tasks / "sound"])
    images = {"sound": "host"}
    assert find_checks(tasks, images, "bubblewrap") == {"sound": "A"}
    assert find_checks(tasks, images, "docker") == {}


def test_marks_are_kept_beside_the_tasks(checked: Checked) -> None:
    kept = json.loads((checked.tasks / "grader-checks.json").read_text())
    assert {one["task"]: one["mark"] for one in kept["checks"]} == {
        one["task"]: one["mark"] for one in checked.found["graders"]
    }


def test_a_run_tells_whose_grader_is_unchecked(cli: Any, studio: Any, checked: Checked) -> None:
    """Found beside the tasks; and a mark of another version of a task is none."""
    brief = checked.tasks / "small" / "brief.md"
    names = ["small", "sound", "beside", "unsolved"]
    tasks = [word for name in names for word in ("--tasks", checked.tasks / name)]
    team = studio.team(memory_mb=256)
    ran = cli("run", team, *tasks, "--backend", "bubblewrap", "-o", studio.path / "run")
    assert ran.code == 0, ran.err
    hint = "(rolewall check-grader --backend bubblewrap PATH)"
    assert f"graders unchecked: 1 of 4 tasks: unsolved {hint}" in ran.out
    assert "graders found weak: 1 of 4 tasks: beside (F)" in ran.out
    info = json.loads((studio.path / "run" / "run.json").read_text())
    marks = {one["id"]: one["checked"] for one in info["tasks"]}
    assert marks == {"small": "B", "sound": "A", "beside": "F", "unsolved": "U"}
    shown = cli("show", studio.path / "run")
    assert "graders unchecked: 1 of 4 tasks: unsolved" in shown.out
    brief.write_text("do it now\n")
    ran = cli("run", team, "--tasks", checked.tasks / "small", "--backend", "bubblewrap",
              "-o", studio.path / "changed")  # fmt: skip
    assert "graders unchecked: 1 of 1 task: small" in ran.out
    (command,) = re.findall(r"\(rolewall (.+) PATH\)", ran.out)
    assert cli(*command.split(), checked.tasks / "small", "--mutants", 1).code == 0
    ran = cli("run", team, "--tasks", checked.tasks / "small", "--backend", "bubblewrap",
              "-o", studio.path / "again")  # fmt: skip
    assert ran.code == 0 and "graders unchecked" not in ran.out


def test_what_only_warns_has_exit_code_0(cli: Any, task: Callable[..., Path]) -> None:
    made = task("alone/fine", **DATA, grader=NEW)
    asked = ("check-grader", made, "--backend", "bubblewrap", "--repeats", "2")
    ran = cli(*asked, "--no-save")
    assert ran.code == 0, ran.err
    assert "1 grader on bubblewrap" in ran.err
    assert not (made.parent / "grader-checks.json").exists()
    assert cli(*asked, "--min", "A", "--save", made.parent / "marks.json").code == 1
    kept = json.loads((made.parent / "marks.json").read_text())
    assert [one["mark"] for one in kept["checks"]] == ["B"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a mapping"),
        ('{"schema_version": 2, "checks": []}', "schema_version"),
        ('{"schema_version": 1, "checks": [], "more": 1}', "more"),
        ('{"schema_version": 1, "checks": [{"task": "fine"}]}', "checks[0]"),
    ],
)
def test_a_file_of_marks_that_is_none_is_refused(
    cli: Any, task: Callable[..., Path], tmp_path: Path, content: str, message: str
) -> None:
    made = task(f"{tmp_path.name}/fine", **DATA, grader=NEW)
    marks = made.parent / "grader-checks.json"
    marks.write_text(content)
    ran = cli("check-grader", made, "--backend", "bubblewrap")
    assert (ran.code, message in ran.err, "Traceback" in ran.err) == (2, True, False), ran.err
    assert marks.read_text() == content


def test_a_run_refuses_such_a_file_too(cli: Any, task: Callable[..., Path], studio: Any) -> None:
    made = task("broken/fine", **DATA, grader=NEW)
    asked = ("run", studio.team(), "--tasks", made, "--backend", "bubblewrap", "-o", "run")
    for content, more in (("{", ()), ("", ("--grader-checks", made.parent / "gone.json"))):
        (made.parent / "grader-checks.json").write_text(content)
        ran = cli(*asked, *more)
        assert (ran.code, "Traceback" in ran.err) == (2, False), ran.err


def test_bad_words_are_refused(cli: Any, task: Callable[..., Path]) -> None:
    made = task("words/fine", **DATA, grader=NEW)
    for more, message in (
        (("--save", made / "marks.json"), "the file would lie in a task"),
        (("--save", made.parent / "m.json", "--no-save"), "exclude each other"),
        (("--repeats", "1"), "1 is not in the range"),
        (("--min", "F"), "'F' is not one of"),
        (("--backend", "none"), "unknown backend"),
    ):
        ran = cli("check-grader", made, *more)
        assert (ran.code, message in ran.err) == (2, True), ran.err
    assert cli("check-grader", made.parent / "gone").code == 2


def test_an_image_of_the_tasks_own_needs_a_word(cli: Any, task: Callable[..., Path]) -> None:
    made = task("image/fine", **DATA, grader=NEW)
    text = (made / "task.yaml").read_text()
    (made / "task.yaml").write_text(text.replace("{", '{"image": "python:3", ', 1))
    ran = cli("check-grader", made, "--backend", "bubblewrap")
    assert (ran.code, "--allow-task-image grants it" in ran.err) == (2, True)


def test_an_interrupted_check_leaves_nothing(task: Callable[..., Path], tmp_path: Path) -> None:
    made = task("waiting/long", **DATA, grader=grader("sleep", "50"))
    process = subprocess.Popen(
        [sys.executable, "-m", "rolewall", "check-grader", str(made), "--backend", "bubblewrap"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    with process:
        end = time.monotonic() + 60
        while not list(tmp_path.glob("*/task-0/untouched-0/room/*")) and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert (process.returncode, "no check is kept" in said) == (130, True)
    assert list(tmp_path.iterdir()) == []
    assert not (made.parent / "grader-checks.json").exists()
