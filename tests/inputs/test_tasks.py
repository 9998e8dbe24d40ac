"""Whatever ``task.yaml`` holds: a task that says what it was given, or one TaskError."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolewall.errors import TaskError
from rolewall.graders import CommandSpec, PytestSpec, ScriptSpec, parse_grader
from rolewall.tasks import Task, load_task

if TYPE_CHECKING:
    from conftest import Junk, Read

COMMAND = {"command": {"run": ["python3", "/grader/check.py"], "tools": ["git"],
                       "trust": "outside", "fail_codes": [1, 2]}}  # fmt: skip
PYTEST = {"pytest": {"tests": ["test_a.py"], "expect": ["test_a.py::test_b"],
                     "canaries": ["test_a.py::test_c"], "allow_conftest": True,
                     "work_modules": ["calc"], "tools": ["git"]}}  # fmt: skip
SCRIPT = {"script": {"run": "grade.sh", "arguments": "teambench", "expected": "check.py",
                     "trust": "untrusted"}}  # fmt: skip
NATIVE = [
    {"id": "a", "grader": grader, "seconds": 9, "network": {"allow": ["h:1"]}, "image": "a:1"}
    for grader in (COMMAND, PYTEST, SCRIPT)
]
TEAMBENCH = {"task_id": "A1_b", "time_limit_sec": 60, "network": False, "parameterized": False,
             "domain": "x", "tags": ["y"]}  # fmt: skip
KEYS = {
    "command": ("run", "tools", "trust", "fail_codes"),
    "pytest": ("tests", "expect", "canaries", "allow_conftest", "work_modules", "tools"),
    "script": ("run", "arguments", "expected", "tools", "trust"),
}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that is a task of either layout but for ``task.yaml``."""
    made = tmp_path_factory.mktemp("tasks") / "one"
    for below in ("workspace", "grader"):
        (made / below).mkdir(parents=True)
    for name in ("spec.md", "brief.md", "grade.sh", "grader/check.py", "grader/test_a.py",
                 "grader/grade.sh"):  # fmt: skip
        (made / name).write_text("x\n")
    return made


def stated(grader: CommandSpec | PytestSpec | ScriptSpec) -> dict[str, Any]:
    """The grader again, as a file would say it."""
    kind = {CommandSpec: "command", PytestSpec: "pytest", ScriptSpec: "script"}[type(grader)]
    values = {name: getattr(grader, name) for name in KEYS[kind]}
    plain = {n: list(v) if isinstance(v, tuple) else v for n, v in values.items()}
    return {kind: {n: v for n, v in plain.items() if v not in ([], None)}}


def held(found: Task) -> tuple[object, ...]:
    return found.id, found.grader, found.seconds, found.network, found.image, found.notes


@given(data=st.data())
def test_a_task(task: Path, junk: Junk, read: Read, data: st.DataObject) -> None:
    (task / "task.yaml").write_bytes(data.draw(junk.yaml(*NATIVE, TEAMBENCH)))
    found = read(load_task, task, error=TaskError)
    if found is None:
        return
    assert NAME.fullmatch(found.id) and 0 < found.seconds <= 86_400
    assert math.isfinite(found.seconds)
    again = {"id": found.id, "grader": stated(found.grader), "seconds": found.seconds,
             "network": {"allow": [str(one) for one in found.network]}}  # fmt: skip
    again |= {"image": found.image} if found.image else {}
    if found.origin == "teambench":
        assert found.image is None and found.network == () and found.grader.trust == "untrusted"
        again = {"task_id": found.id, "time_limit_sec": found.seconds}
        again |= {"network": True} if any("network" in note for note in found.notes) else {}
        again |= {"parameterized": True} if any("seed" in note for note in found.notes) else {}
    (task / "task.yaml").write_bytes(junk.render(again))
    assert held(load_task(task)) == held(found)


@given(data=st.data())
def test_a_grader(junk: Junk, read: Read, data: st.DataObject) -> None:
    value = data.draw(junk.plain(COMMAND, PYTEST, SCRIPT))
    grader = read(parse_grader, value, "task.yaml: grader", error=TaskError)
    if grader is None:
        return
    if grader.trust == "outside":
        assert next(iter(value.values()))["trust"] == "outside"
    if isinstance(grader, CommandSpec):
        assert grader.fail_codes and not set(grader.fail_codes) - set(range(1, 126))
    assert parse_grader(stated(grader), "again") == grader
