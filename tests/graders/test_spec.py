from __future__ import annotations

from typing import Any

import pytest

from rolewall.errors import TaskError
from rolewall.graders import CommandSpec, PytestSpec, ScriptSpec, parse_grader


def test_each_grader_is_read() -> None:
    assert parse_grader({"command": {"run": ["python3", "/grader/check.py"]}}, "t") == CommandSpec(
        ("python3", "/grader/check.py")
    )
    full = {"run": ["sh", "-c", "x"], "tools": ["sh"], "trust": "outside", "fail_codes": [1, 3]}
    assert parse_grader({"command": full}, "t") == CommandSpec(
        ("sh", "-c", "x"), ("sh",), "outside", (1, 3)
    )
    assert parse_grader({"pytest": {"tests": ["a/test_x.py"]}}, "t") == PytestSpec(("a/test_x.py",))
    assert parse_grader({"script": {"run": "grade.sh", "expected": "e.json"}}, "t") == ScriptSpec(
        "grade.sh", expected="e.json"
    )


def test_nothing_is_trusted_unless_it_is_said() -> None:
    assert parse_grader({"command": {"run": ["true"]}}, "t").trust == "untrusted"
    assert parse_grader({"script": {"run": "grade.sh"}}, "t").trust == "untrusted"
    assert parse_grader({"pytest": {"tests": ["test_x.py"]}}, "t").trust == "in-process"


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (None, "g"),
        ("pytest", "g"),
        ({}, "g"),
        ({"unknown": {}}, "g"),
        ({"command": {"run": ["x"]}, "script": {"run": "y"}}, "g"),
        ({"command": None}, "g.command"),
        ({"command": {}}, "g.command.run"),
        ({"command": {"run": "python3 check.py"}}, "g.command.run"),
        ({"command": {"run": []}}, "g.command.run"),
        ({"command": {"run": [1]}}, "g.command.run"),
        ({"command": {"run": ["a\0b"]}}, "g.command.run"),
        ({"command": {"run": ["x"], "shell": True}}, "g.command.shell"),
        ({"command": {"run": ["x"], "trust": "in-process"}}, "g.command.trust"),
        ({"command": {"run": ["x"], "trust": ["outside"]}}, "g.command.trust"),
        ({"command": {"run": ["x"], "tools": ["a b"]}}, "g.command.tools"),
        ({"command": {"run": ["x"], "tools": ["-p"]}}, "g.command.tools"),
        ({"command": {"run": ["x"], "fail_codes": [0]}}, "g.command.fail_codes"),
        ({"command": {"run": ["x"], "fail_codes": [127]}}, "g.command.fail_codes"),
        ({"command": {"run": ["x"], "fail_codes": [True]}}, "g.command.fail_codes"),
        ({"command": {"run": ["x"], "fail_codes": []}}, "g.command.fail_codes"),
        ({"pytest": {}}, "g.pytest.tests"),
        ({"pytest": {"tests": ["../test_x.py"]}}, "g.pytest.tests"),
        ({"pytest": {"tests": ["/test_x.py"]}}, "g.pytest.tests"),
        ({"pytest": {"tests": ["test_x.txt"]}}, "g.pytest.tests"),
        ({"pytest": {"tests": ["conftest.py"]}}, "g.pytest.tests"),
        ({"pytest": {"tests": ["t.py", "t.py"]}}, "g.pytest.tests"),
        ({"pytest": {"tests": ["t.py"], "expect": ["u.py::a"]}}, "g.pytest.expect"),
        ({"pytest": {"tests": ["t.py"], "work_modules": "calc"}}, "g.pytest.work_modules"),
        ({"pytest": {"tests": ["t.py"], "work_modules": ["a.b"]}}, "g.pytest.work_modules"),
        ({"pytest": {"tests": ["t.py"], "expect": ["t.py"]}}, "g.pytest.expect"),
        ({"pytest": {"tests": ["t.py"], "expect": []}}, "g.pytest.expect"),
        (
            {"pytest": {"tests": ["t.py"], "expect": ["t.py::a"], "canaries": ["t.py::a"]}},
            "g.pytest.canaries",
        ),
        ({"pytest": {"tests": ["t.py"], "allow_conftest": "yes"}}, "g.pytest.allow_conftest"),
        ({"script": {"run": "a/../b"}}, "g.script.run"),
        ({"script": {"run": "./grade.sh"}}, "g.script.run"),
        ({"script": {"run": "grade.sh", "arguments": "mine"}}, "g.script.arguments"),
        ({"script": {"run": "grade.sh", "expected": "/etc/passwd"}}, "g.script.expected"),
    ],
)
def test_what_is_not_acceptable_is_named_with_its_place(data: Any, place: str) -> None:
    with pytest.raises(TaskError) as caught:
        parse_grader(data, "g")
    assert caught.value.place == place
