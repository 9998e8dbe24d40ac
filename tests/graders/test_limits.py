"""A grade box out of memory: work that brought it there fails, a grader that did is an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rolewall.graders import GradeTask, Grading, Submitted, grade, parse_grader
from rolewall.sandbox import Backend

GOOD = "def add(a, b):\n    return a + b\n"
BAD = "def add(a, b):\n    return a - b\n"
TEST = "import calc\n\n\ndef test_two():\n    assert calc.add(2, 3) == 5\n"
PYTEST = {"pytest": {"tests": ["test_calc.py"]}}
HOG = "x = b'1' * (400 << 20)\n"

Judge = Callable[..., Grading]


@pytest.fixture
def judge(backend: Backend, tmp_path: Path) -> Judge:
    """Grade a calc.py that starts out wrong, with hidden tests or another grader."""

    def files(name: str, held: Mapping[str, str]) -> Path:
        place = tmp_path / f"{name}-{len(list(tmp_path.iterdir()))}"
        place.mkdir()
        for file, text in held.items():
            (place / file).write_text(text)
        return place

    def graded(work: str, spec: Mapping[str, Any] = PYTEST, **limits: Any) -> Grading:
        task = GradeTask(
            "calc", "Add.\n", "Add.\n", files("grader", {"test_calc.py": TEST}), **limits
        )
        return grade(
            Submitted(files("work", {"calc.py": work})),
            parse_grader(dict(spec), "task.yaml: grader"),
            task,
            backend=backend,
            scratch=files("scratch", {}),
            start=lambda: files("start", {"calc.py": BAD}),
        )

    return graded


@pytest.mark.root
@pytest.mark.pain(23)
def test_memory(judge: Judge) -> None:
    tight = {"seconds": 60.0, "memory_mb": 96}
    found = judge(f"{HOG}{GOOD}", **tight)
    assert (found.grade, found.why) == ("fail", "broke the grader: the grader ran out of memory")
    assert judge(GOOD, **tight).grade == "pass"
    spec = {"command": {"run": ["python3", "-c", HOG]}}
    found = judge(GOOD, spec, **tight)
    assert found.grade == "error"
    assert (
        found.why == "the grader ran out of memory; the start state: the grader ran out of memory"
    )
