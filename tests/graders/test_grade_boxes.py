"""Every grader on every backend: a right and a wrong work, and a hostile one."""

from __future__ import annotations

from typing import Any

import pytest

from rolewall.sandbox import Backend

GOOD = "def add(a, b):\n    return a + b\n\nif __name__ == '__main__':\n    print(add(2, 3))\n"
BAD = GOOD.replace("a + b", "a - b")
HOSTILE = "import os\nos._exit(0)\n"
TESTS = "import calc\n\ndef test_sum():\n    assert calc.add(2, 3) == 5\n"
SCRIPT = """out=$(python3 "$1/calc.py"); [ "$out" = 5 ] && ok=true || ok=false
echo "{\\"pass\\": $ok, \\"secondary\\": {\\"partial_score\\": 0.5}}" > "$2/score.json"
"""
GRADERS = {
    "command": {"run": ["sh", "-c", "test $(rolewall-check -- python3 calc.py) = 5"]},
    "pytest": {"tests": ["test_calc.py"]},
    "script": {"run": "grade.sh"},
}


@pytest.mark.parametrize("kind", GRADERS)
def test_a_grade_is_the_same_wherever_it_is_made(bench: Any, backend: Backend, kind: str) -> None:
    bench.backend = backend
    bench.grader = {"test_calc.py": TESTS, "grade.sh": SCRIPT}
    bench.spec = {kind: GRADERS[kind]}
    bench.start = {"calc.py": BAD}
    assert bench.grade({"calc.py": GOOD}).grade == "pass"
    assert bench.grade({"calc.py": BAD}).grade == "fail"
    assert bench.grade({"calc.py": HOSTILE}).grade == "fail"


@pytest.mark.parametrize(
    ("made", "grade"),
    [
        ("mkfifo pipe", "pass"),
        ("python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('pipe')\"", "pass"),
        ("true", "pass"),
        ("echo 'print(6)' > calc.py", "fail"),
    ],
    ids=["fifo", "socket", "nothing", "work"],
)
def test_special_files_keep_no_check_from_running(bench: Any, made: str, grade: str) -> None:
    check = "test -e pipe && exit 1; test $(python3 calc.py) = 5"
    script = f"{made} && rolewall-check -- sh -c '{check}'"
    bench.spec = {"command": {"run": ["sh", "-c", script]}}
    assert bench.grade({"calc.py": GOOD}).grade == grade


def test_a_grader_that_cannot_run_is_an_error(bench: Any, backend: Backend) -> None:
    bench.backend = backend
    bench.spec = {"command": {"run": ["no-such-program"]}}
    assert bench.grade({"calc.py": GOOD}).grade == "error"
