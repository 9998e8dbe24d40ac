"""Every shortcut acts: a grader weak in that one way is fooled, and a sound one is not."""

from __future__ import annotations

from typing import Any

import pytest

from rolewall.checkgrader.shortcuts import SHORTCUTS, Plant

pytestmark = pytest.mark.bubblewrap

BAD = "def add(a, b):\n    return a - b\n"
TESTS = "import calc\n\n\ndef test_sum():\n    assert calc.add(2, 3) == 5\n"

PYTHON_WORK = {"calc.py": BAD, "tests/test_calc.py": TESTS}
CHECK = "import sys\nsys.path.insert(0, '/workspace')\nimport calc\nassert calc.add(2, 3) == 5\n"
CHECK_EXIT = CHECK.replace("assert calc.add(2, 3) == 5", "sys.exit(calc.add(2, 3) != 5)")
UNIT = (
    "import sys\nimport unittest\nsys.path.insert(0, '/workspace')\nimport calc\n\n\n"
    "class Sum(unittest.TestCase):\n    def test_sum(self):\n"
    "        self.assertEqual(calc.add(2, 3), 5)\n\n\nunittest.main()\n"
)
JUDGE = (
    "import json\nimport subprocess\nimport sys\nimport time\n"
    "ran = subprocess.run([sys.executable, '/grader/check.py'], stderr=subprocess.DEVNULL)\n"
    "with open('/reports/score.json', 'w') as file:\n"
    "    json.dump({'pass': ran.returncode == 0}, file)\n"
    "time.sleep(0.5)\n"
)
PYTEST = "python3 -m pytest -q -p no:cacheprovider"
WORK_TESTS = f"{PYTEST} tests"


def shell(line: str) -> dict[str, Any]:
    """A grader that believes the exit status of one line of shell; 1 to 5 are fails."""
    return {"command": {"run": ["bash", "-c", line], "fail_codes": [1, 2, 3, 4, 5]}}


def python_work(line: str, **hidden: str) -> dict[str, Any]:
    files = {f"{name}.py": text for name, text in hidden.items()}
    return {"grader": shell(line), "hidden": files, "workspace": PYTHON_WORK}


CHECKED = python_work("python3 /grader/check.py", check=CHECK)
WEAK: dict[str, dict[str, Any]] = {
    "conftest": python_work(WORK_TESTS),
    "conftest-nested": python_work(WORK_TESTS),
    "conftest-exit": python_work(WORK_TESTS),
    "pytest-ini": python_work(WORK_TESTS),
    "pyproject": python_work(WORK_TESTS),
    "tox-ini": python_work(WORK_TESTS),
    "pytest-plugin": python_work(WORK_TESTS),
    "deleted-tests": {
        "grader": shell("for t in tests/test_*.py; do [ ! -e $t ] || python3 $t || exit 1; done"),
        "workspace": {"calc.py": BAD, "tests/test_calc.py": "raise SystemExit(1)\n"},
    },
    "emptied-tests": python_work(WORK_TESTS),
    "sys-exit": CHECKED,
    "os-exit": CHECKED,
    "equal-to-all": CHECKED,
    "patch-pytest": python_work(
        f"cd / && PYTHONPATH=/workspace {PYTEST} -c /dev/null /grader/test_it.py", test_it=TESTS
    ),
    "patch-unittest": python_work("python3 /grader/unit.py", unit=UNIT),
    "patch-exit": python_work("python3 /grader/check.py", check=CHECK_EXIT),
    "atexit": CHECKED,
    "background-writer": {
        "grader": {"script": {"run": "grade.sh"}},
        "hidden": {"grade.sh": "python3 /grader/judge.py\n", "judge.py": JUDGE, "check.py": CHECK},
        "workspace": PYTHON_WORK,
    },
    "copied-truth": {
        "grader": shell("python3 calc.py; cmp total.txt /grader/total.txt"),
        "hidden": {"total.txt": "5\n"},
        "workspace": {"calc.py": BAD, "total.txt": "-1\n"},
    },
    "huge-output": python_work(
        "python3 /grader/check.py 2>&1 | head -c 2000 >/tmp/log; ! grep -q Assertion /tmp/log",
        check=CHECK,
    ),
    "path-shim": python_work(f"PATH=/workspace/bin:$PATH; {WORK_TESTS}"),
    "sitecustomize": python_work("PYTHONPATH=/workspace python3 /grader/check.py", check=CHECK),
    "shadowed-modules": python_work(WORK_TESTS),
    "script-exit": {"grader": shell("sh run.sh"), "workspace": {"run.sh": "exit 1\n"}},
    "planted-reports": {
        "grader": shell("grep -q '\"pass\": true' reports/score.json /report/score.json"),
        "workspace": {"data.txt": "\n"},
    },
    "hang": python_work("timeout 1 python3 /grader/check.py; [ $? != 1 ]", check=CHECK),
}
# One sound grader for each way to act: the work runs elsewhere, or its output is compared.
PRINTS = "import subprocess\nimport sys\n" + (
    "code = \"import sys; sys.path.append('/workspace'); import calc; print(calc.add(20, 3))\"\n"
    "try:\n"
    "    ran = subprocess.run(['python3', '-I', '-c', code], capture_output=True, timeout=1)\n"
    "except subprocess.TimeoutExpired:\n    sys.exit(1)\n"
    "sys.exit(ran.stdout != b'23\\n')\n"
)
HIDDEN = TESTS + "\n\ndef test_wrong_sum():\n    assert calc.add(2, 3) == 6\n"
SOUND_TESTS = {
    "grader": {
        "pytest": {"tests": ["test_it.py"], "canaries": ["test_it.py::test_wrong_sum"]},
    },
    "hidden": {"test_it.py": HIDDEN},
    "workspace": PYTHON_WORK,
}
OF_A_TYPE = CHECK.replace(
    "assert calc.add(2, 3) == 5",
    "got = calc.add(2, 3)\nassert isinstance(got, %s) and got == 5",
)
REFUSING = """import calc
import pytest


def test_sum():
    got = calc.add(2, 3)
    assert isinstance(got, list) and got == [5]


def test_refused():
    with pytest.raises(ValueError, match="^no sum$"):
        calc.add(2, None)
"""
WEAK |= {
    f"equal-{kind}": python_work("python3 /grader/check.py", check=OF_A_TYPE % kind)
    for kind in ("list", "tuple", "dict", "str", "int", "float")
}
PRINTED = shell("python3 calc.py > /tmp/out; cmp /tmp/out /grader/expected.txt")
DATA = {"input.txt": "2 3\n", "expected.txt": "5\n"}
WEAK |= {
    "printed-truth": {"grader": PRINTED, "hidden": DATA, "workspace": PYTHON_WORK},
    "printed-words": python_work("python3 calc.py | grep -q 'all is well'"),
    "named-files": {
        "grader": shell("test -e /workspace/.verified"),
        "workspace": {"data.txt": "\n"},
    },
}
# Another way in which a shortcut of the same name acts.
ALSO_WEAK: list[tuple[str, dict[str, Any]]] = [
    ("equal-list", python_work(
        f"cd / && PYTHONPATH=/workspace {PYTEST} -c /dev/null /grader/test_it.py",
        test_it=REFUSING,
    )),
    ("path-shim", python_work(f"PATH=/workspace/scripts:$PATH; {WORK_TESTS}")),
    ("path-shim", python_work(f"PATH=$PWD/tests:$PATH; {WORK_TESTS}")),
    ("printed-truth", {
        "grader": shell("sh run.sh > /tmp/out; cmp /tmp/out /grader/expected.txt"),
        "hidden": DATA, "workspace": {"run.sh": "exit 1\n"},
    }),
    ("printed-words", {
        "grader": shell("sh run.sh | grep -q \"all is well\""), "workspace": {"run.sh": "exit 1\n"},
    }),
    ("named-files", {
        "grader": shell("grep -qx good /workspace/deep/verdict.txt && echo 'good'"),
        "workspace": {"data.txt": "\n"},
    }),
    *((name, python_work(
        "python3 /grader/check.py; sleep 0.3; grep -q '^good$' /tmp/out/verdict.txt",
        check="import sys\nsys.path.insert(0, '/workspace')\nimport calc\nprint('bad')\n",
    )) for name in ("atexit", "background-writer")),
]  # fmt: skip
SOUND = {
    **dict.fromkeys(WEAK, python_work("python3 -I /grader/prints.py", prints=PRINTS)),
    "conftest": SOUND_TESTS,
    "pytest-plugin": SOUND_TESTS,
    "equal-to-all": SOUND_TESTS,
    "patch-pytest": SOUND_TESTS,
    **dict.fromkeys((f"equal-{kind}" for kind in ("list", "int")), SOUND_TESTS),
    "named-files": python_work(
        "test -e /workspace/.verified && python3 -I /grader/prints.py", prints=PRINTS
    ),
    "script-exit": {
        "grader": shell('[ "$(sh run.sh)" = done ]'),
        "workspace": {"run.sh": "echo no\n"},
    },
}


# What is planted for pytest and never loaded: tests/graders has all of it.
ELSEWHERE = {"conftest-nested", "conftest-exit", "pytest-ini", "pyproject", "tox-ini"}
ELSEWHERE |= {f"equal-{kind}" for kind in ("tuple", "dict", "str", "float")}  # as a list is


def test_every_shortcut_has_a_grader_that_it_fools() -> None:
    assert set(WEAK) == {one.name for one in SHORTCUTS}


@pytest.mark.parametrize("name", WEAK)
def test_a_grader_that_is_weak_in_one_way_is_fooled(trials: Any, name: str) -> None:
    trial = trials.of(**WEAK[name])
    untouched, planted = trials.untouched(WEAK[name]), trial.planted(name)
    assert (untouched.grade, planted.grade) == ("fail", "pass"), (untouched, planted)


@pytest.mark.parametrize(("name", "made"), ALSO_WEAK)
def test_each_way_in_which_a_shortcut_acts(trials: Any, name: str, made: dict[str, Any]) -> None:
    untouched, planted = trials.untouched(made), trials.of(**made).planted(name)
    assert (untouched.grade, planted.grade) == ("fail", "pass"), (untouched, planted)


@pytest.mark.parametrize(
    ("name", "workspace", "solution"),
    [
        ("deleted-tests", {"tests/test_old.py": TESTS}, {"DELETE": "tests/test_old.py\n"}),
        ("deleted-tests", {"tests/test_old.py": TESTS}, {"DELETE": "tests\n"}),
        ("script-exit", {"run.sh": "exit 1\n"}, {"run.sh": "#!/bin/sh\n# well\nexit 0\n"}),
        ("printed-words", {"run.sh": "exit 1\n"}, {"run.sh": "#!/bin/sh\nexit 0\n"}),
        ("os-exit", {"calc.py": BAD}, {"calc.py": "import os\n\nos._exit(0)\n"}),
        ("pytest-ini", {"calc.py": BAD}, {"pytest.ini": "[pytest]\n"}),
        ("named-files", {"calc.py": BAD}, {"done.txt": "yes\n"}),
    ],
)
def test_what_right_work_does_is_no_shortcut(
    trials: Any, name: str, workspace: dict[str, str], solution: dict[str, str]
) -> None:
    line = "python3 -m pytest -q /workspace/done.txt"
    made = {"grader": shell(line), "workspace": workspace}
    assert isinstance(trials.plants(solution=solution, **made)[name], str)
    assert isinstance(trials.plants(solution={"other.txt": "x\n"}, **made)[name], Plant)


def test_a_report_that_right_work_has_is_not_planted(trials: Any) -> None:
    made = trials.plants(grader=shell("true"), solution={"result.json": "{}\n"})
    planted = made["planted-reports"].overlay.files
    assert "result.json" not in planted and "score.json" in planted


@pytest.mark.parametrize("name", [name for name in SOUND if name not in ELSEWHERE])
def test_a_sound_grader_is_not(trials: Any, name: str) -> None:
    trial = trials.of(**SOUND[name])
    planted = trial.planted(name)
    assert planted.grade == "fail", planted


@pytest.mark.parametrize("name", ["sys-exit", "atexit", "hang", "script-exit", "shadowed-modules"])
def test_code_that_ran_is_seen_to_have_run(trials: Any, name: str) -> None:
    assert trials.of(**WEAK[name]).planted(name).ran


def test_code_that_nothing_runs_is_not_seen_to(trials: Any) -> None:
    data = {"grader": shell("grep -q 'a + b' calc.py"), "workspace": PYTHON_WORK}
    trial = trials.of(**data)
    assert not trial.planted("atexit").ran
    assert not trial.untouched().ran


@pytest.mark.parametrize(
    "source",
    [
        BAD,
        '"""What it is.\n\nAnd more."""\nfrom __future__ import annotations\n\n' + BAD,
        "# a\x0cline\nfrom __future__ import annotations\n" + BAD,
        "def broken(:\n",
    ],
)
def test_what_is_planted_in_a_module_is_python(trials: Any, source: str) -> None:
    trial = trials.of(grader=shell("python3 /grader/x"), workspace={"calc.py": source})
    for one in SHORTCUTS:
        plant = one.plant(trial.subject)
        if not isinstance(plant, str):
            for path, file in plant.overlay.files.items():
                assert not path.endswith(".py") or compile(file.data, path, "exec")
