"""The pytest grader against work that would decide its own grade."""

from __future__ import annotations

import py_compile
import re
from pathlib import Path
from typing import Any

import pytest

from tests.processes import commands

pytestmark = pytest.mark.bubblewrap

GOOD = "def add(a, b):\n    return a + b\n"
BAD = "def add(a, b):\n    return a - b\n"
TWO = "\n\ndef test_two():\n    assert calc.add(2, 3) == 5\n"

PASS_ALL_CONFTEST = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""
PATCH_REPORTS = """
import _pytest.reports
true = _pytest.reports.TestReport.from_item_and_call.__func__
def lie(cls, item, call):
    report = true(cls, item, call)
    report.outcome, report.longrepr = "passed", None
    return report
_pytest.reports.TestReport.from_item_and_call = classmethod(lie)
"""
SKIP_CALLS = """
import _pytest.python
_pytest.python.Function.runtest = lambda self: None
"""
EQUAL_TO_ALL = """
class Agreeable(int):
    def __eq__(self, other):
        return True
    __hash__ = int.__hash__

def add(a, b):
    return Agreeable(0)
"""
FORGE = """
import json, os
for number in range(9):
    for event in ({"event": "end", "status": 0, "note": ""},):
        text = json.dumps({"n": number, **event}).encode()
        for descriptor in range(1, 20):
            try:
                os.write(descriptor, b"\\n@" + b"0" * 64 + b" " + text + b"\\n")
            except OSError:
                pass
"""
SHADOW = "import sys\nsys.stderr.write('shadowed')\nraise SystemExit(0)\n"


def test_right_work_passes(bench: Any) -> None:
    found = bench.grade({"calc.py": GOOD})
    assert (found.grade, found.why, found.trust) == ("pass", "", "in-process")
    assert found.score == 1.0
    assert found.details["passed"] == 2
    assert found.details["canaries"] >= 2


def test_wrong_work_fails_and_says_what(bench: Any) -> None:
    found = bench.grade({"calc.py": BAD})
    assert found.grade == "fail"
    assert found.why == "1 of 2 expected tests were seen passing"
    assert list(found.details["failed"]) == ["test_calc.py::test_two"]
    assert found.score == 0.5
    assert bench.starts == 0


PLANTED: list[dict[str, str]] = [
    {"conftest.py": PASS_ALL_CONFTEST},
    {"pytest.ini": "[pytest]\naddopts = --collect-only\n"},
    {"pytest.ini": "[pytest]\naddopts = -p planted\n", "planted.py": PASS_ALL_CONFTEST},
    {"setup.cfg": "[tool:pytest]\naddopts = --co\n"},
    {"tox.ini": "[pytest]\naddopts = --co\n"},
    {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--co'\n"},
    {"sitecustomize.py": SHADOW, "usercustomize.py": SHADOW},
    {"pytest.py": SHADOW, "py.py": SHADOW, "_pytest/__init__.py": SHADOW},
    {"json.py": SHADOW, "random.py": SHADOW, "hmac.py": SHADOW},
    {"python3": "#!/bin/sh\nexit 0\n", "bin/pytest": "#!/bin/sh\nexit 0\n"},
    {"test_calc.py": "def test_two(): pass\n\ndef test_zero(): pass\n"},
    {"grader/test_calc.py": "def test_two(): pass\n"},
]


def executable(place: Path) -> None:
    for path in place.rglob("*"):
        path.chmod(0o755)


@pytest.mark.pain(8)
@pytest.mark.parametrize("planted", PLANTED, ids=lambda files: next(iter(files)))
def test_planted_files_pass_no_wrong_work(bench: Any, planted: dict[str, str]) -> None:
    assert bench.grade({"calc.py": BAD, **planted}, executable).grade == "fail"


def test_planted_files_fail_no_right_work(bench: Any) -> None:
    everything = {name: text for planted in PLANTED for name, text in planted.items()}
    assert bench.grade({"calc.py": GOOD, **everything}, executable).grade == "pass"


@pytest.mark.pain(8)
@pytest.mark.parametrize(
    ("attack", "why"),
    [
        ("import sys\nsys.exit(0)\n", "broke the grader: pytest ended with status 3"),
        ("raise KeyboardInterrupt\n", "the work ended the test run|tests were seen"),
        ("import os\nos._exit(0)\n", "broke the grader: the test run ended early"),
        ("import os\nos.kill(os.getpid(), 9)\n", "broke the grader: .*SIGKILL"),
        ("import atexit, os\natexit.register(os._exit, 0)\n" + BAD, "1 of 2"),
        (PATCH_REPORTS + BAD, "a canary passed: the work tampers with the test run, or "),
        (SKIP_CALLS + BAD, "a canary passed: the work tampers with the test run, or "),
        (FORGE + BAD, "1 of 2"),
        (FORGE + "os._exit(0)\n", "broke the grader: the test run ended early"),
        ("import builtins\nbuiltins.AssertionError = KeyError\n" + BAD, "1 of 2|broke"),
        ("import sys\nsys.modules.pop('test_calc', None)\n" + BAD, "1 of 2"),
    ],
    ids=[
        "sys.exit",
        "interrupt",
        "os._exit",
        "kill",
        "atexit",
        "reports",
        "runtest",
        "forge",
        "forge-and-leave",
        "builtins",
        "modules",
    ],
)
def test_hostile_modules_do_not_pass(bench: Any, attack: str, why: str) -> None:
    found = bench.grade({"calc.py": attack})
    assert found.grade == "fail"
    assert re.search(why, found.why), found.why


def test_work_that_uses_the_same_means_honestly_passes(bench: Any) -> None:
    honest = "import atexit, os, sys\natexit.register(print, 'bye')\nprint('hello')\n" + GOOD
    assert bench.grade({"calc.py": honest}).grade == "pass"


def test_an_object_equal_to_all_is_caught_by_the_tasks_canary(bench: Any) -> None:
    wrong = "\n\ndef test_wrong_sum():\n    assert calc.add(2, 3) == 6\n"
    bench.grader = {"test_calc.py": "import calc" + TWO + wrong}
    bench.spec = {
        "pytest": {"tests": ["test_calc.py"], "canaries": ["test_calc.py::test_wrong_sum"]}
    }
    found = bench.grade({"calc.py": EQUAL_TO_ALL})
    assert found.grade == "fail"
    assert found.why.endswith("or the canary is wrong: test_calc.py::test_wrong_sum")
    assert bench.grade({"calc.py": GOOD}).grade == "pass"


def test_expected_tests_decide_and_others_do_not_run(bench: Any) -> None:
    bench.grader = {
        "test_calc.py": "import calc" + TWO + "\n\ndef test_not_ready():\n    assert 0\n"
    }
    bench.spec = {"pytest": {"tests": ["test_calc.py"], "expect": ["test_calc.py::test_two"]}}
    found = bench.grade({"calc.py": GOOD})
    assert (found.grade, found.details["expected"]) == ("pass", 1)


@pytest.mark.parametrize("key", ["expect", "canaries"])
@pytest.mark.parametrize("name", ["test_gone", "TestSum::test_gone", "test_two[7]"])
def test_a_name_that_no_hidden_test_has_is_the_graders_error(
    bench: Any, key: str, name: str
) -> None:
    some = "import pytest\nimport calc\n\n\n@pytest.mark.parametrize('a', [1])\n"
    sums = "\n\nclass TestSum:\n    def test_sum(self):\n        assert calc.add(1, 1) == 2\n"
    bench.grader = {"test_calc.py": some + "def test_two(a):\n    assert a\n" + sums}
    bench.start = {"calc.py": BAD}
    bench.spec = {"pytest": {"tests": ["test_calc.py"], key: [f"test_calc.py::{name}"]}}
    found = bench.grade({"calc.py": GOOD})
    assert found.grade == "error"
    assert f"test_calc.py::{name}" in found.why
    bench.spec = {"pytest": {"tests": ["test_calc.py"], "expect": ["test_calc.py::test_two[1]"]}}
    assert bench.grade({"calc.py": GOOD}).grade == "pass"


def test_a_test_that_the_source_promises_must_be_seen(bench: Any) -> None:
    hide = BAD + (
        "import sys\n"
        "frame = sys._getframe()\n"
        "while frame and not frame.f_globals.get('__name__', '').startswith('test_calc'):\n"
        "    frame = frame.f_back\n"
        "if frame:\n    frame.f_globals['__test__'] = False\n"
    )
    found = bench.grade({"calc.py": hide})
    assert found.grade == "fail"
    assert found.details["failed"] == {
        "test_calc.py::test_two": "not seen",
        "test_calc.py::test_zero": "not seen",
    }


def test_skipped_and_expected_failures_are_no_passes(bench: Any) -> None:
    marks = "import pytest\nimport calc\n\n\n@pytest.mark.{}\ndef test_two():\n    {}\n"
    for mark, body in [("skip", "pass"), ("xfail", "assert 0"), ("xfail", "pass")]:
        bench.grader = {"test_calc.py": marks.format(mark, body)}
        assert bench.grade({"calc.py": GOOD}).grade == "fail"


def test_parameters_classes_and_helpers(bench: Any) -> None:
    bench.grader = {
        "helper.py": "CASES = [(1, 2, 3), (2, 2, 4)]\n",
        "deep/test_more.py": (
            "import unittest\nimport pytest\nfrom helper import CASES\nfrom calc import add\n\n\n"
            "@pytest.mark.parametrize('case', CASES)\ndef test_cases(case):\n"
            "    assert add(*case[:2]) == case[2]\n\n\n"
            "class TestSum:\n    def test_sum(self, tmp_path):\n        assert add(1, 1) == 2\n\n\n"
            "class Sums(unittest.TestCase):\n    def test_sum(self):\n"
            "        self.assertEqual(add(1, 1), 2)\n"
        ),
    }
    bench.spec = {"pytest": {"tests": ["deep/test_more.py"]}}
    found = bench.grade({"calc.py": GOOD})
    assert (found.grade, found.details["passed"]) == ("pass", 4)
    assert bench.grade({"calc.py": BAD}).grade == "fail"


def test_conftest_beside_the_hidden_tests_is_loaded_if_the_task_says_so(bench: Any) -> None:
    fixture = "import pytest\n\n@pytest.fixture\ndef five():\n    return 5\n"
    test = "import calc\n\ndef test_two(five):\n    assert calc.add(2, 3) == five\n"
    bench.grader = {"conftest.py": fixture, "test_calc.py": test}
    assert bench.grade({"calc.py": GOOD, "conftest.py": PASS_ALL_CONFTEST}).grade == "fail"
    bench.spec = {"pytest": {"tests": ["test_calc.py"], "allow_conftest": True}}
    assert bench.grade({"calc.py": GOOD, "conftest.py": PASS_ALL_CONFTEST}).grade == "pass"
    assert bench.grade({"calc.py": BAD, "conftest.py": PASS_ALL_CONFTEST}).grade == "fail"


def test_missing_work_fails(bench: Any) -> None:
    found = bench.grade({})
    assert found.grade == "fail"
    assert "could not be collected" in found.why
    assert "No module named 'calc'" in found.why
    assert found.details["start_state"]["grade"] == "fail"


@pytest.mark.parametrize(
    ("test", "helper"),
    [
        ("import no_such_package\nimport calc\n", ""),
        ("from helper import NOT_THERE\n", "HERE = 1\n"),
        ("import helper\n", "import no_such_package\n"),
        ("import helper\n", "def broken(:\n"),
        ("from . import helper\n", ""),
    ],
)
def test_a_hidden_test_whose_own_import_is_broken_is_the_graders_error(
    bench: Any, test: str, helper: str
) -> None:
    bench.grader = {"test_calc.py": test + TWO, "helper.py": helper}
    found = bench.grade({"calc.py": GOOD})
    assert found.grade == "error"
    assert "test_calc.py could not be collected" in found.why


@pytest.mark.parametrize(
    ("test", "work"),
    [
        ("from calc import subtract\n", {"calc.py": GOOD}),
        ("import calc.deep\n", {"calc/__init__.py": GOOD}),
        ("import calc\n", {"calc.py": "import no_such_package\n" + GOOD}),
        ("import calc\n", {"calc.py": "def broken(:\n"}),
        ("import calc\nVALUE = calc.subtract\n", {"calc.py": GOOD}),
        ("import sys\nsys.path.append('src')\nimport calc.deep\n", {"src/calc/x.py": GOOD}),
    ],
)
def test_what_the_work_lacks_is_no_error_even_where_the_start_state_lacks_it_too(
    bench: Any, test: str, work: dict[str, str]
) -> None:
    bench.grader, bench.start = {"test_calc.py": test + TWO}, work
    found = bench.grade(work)
    assert found.grade == "fail"
    assert "could not be collected" in found.why


def test_a_module_that_the_work_is_to_bring(bench: Any) -> None:
    bench.start = {}
    assert "list it in work_modules" in bench.grade({}).why
    bench.spec = {"pytest": {"tests": ["test_calc.py"], "work_modules": ["calc"]}}
    assert bench.grade({}).grade == "fail"
    assert bench.grade({"calc.py": GOOD}).grade == "pass"


def test_planted_byte_code_is_not_run(bench: Any) -> None:
    def plant(place: Path) -> None:
        source = place / "calc.py"
        source.write_text(GOOD)
        # Unchecked: Python would take it whatever the source beside it says.
        never = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(source), invalidation_mode=never)
        source.write_text(BAD)

    assert bench.grade({}, plant).grade == "fail"
    started = "import subprocess, sys\n\n\ndef test_two():\n    code = 'import sys; "
    started += 'sys.path.append(".")\\nimport calc\\nprint(calc.add(2, 3))\'\n'
    started += "    out = subprocess.run([sys.executable, '-c', code], capture_output=True)\n"
    started += "    assert out.stdout == b'5\\n', out\n"
    bench.grader = {"test_calc.py": started}
    assert bench.grade({}, plant).grade == "fail"
    assert bench.grade({"calc.py": GOOD}).grade == "pass"


def test_work_that_never_ends_fails_where_the_start_state_can_be_graded(bench: Any) -> None:
    bench.seconds = 4.0
    found = bench.grade({"calc.py": "while True: pass\n"})
    assert found.grade == "fail"
    assert found.why == "broke the grader: the grader ran out of time"
    assert found.details["start_state"]["grade"] == "fail"
    assert bench.starts == 1


def test_a_grader_that_cannot_judge_even_the_start_state_is_an_error(bench: Any) -> None:
    bench.grader = {"test_calc.py": "def test_two(:\n"}
    found = bench.grade({"calc.py": GOOD})
    assert found.grade == "error"
    assert bench.starts == 1


def test_background_processes_end_with_the_box(bench: Any, tmp_path: Path) -> None:
    mark = "import os, subprocess\nsubprocess.Popen(['sleep', '4711.25'])\n"
    assert bench.grade({"calc.py": mark + GOOD}).grade == "pass"
    assert not [command for _, command in commands() if b"4711.25" in command]
