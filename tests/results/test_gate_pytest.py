"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from rolewall import grade_directory

REJECTED, APPROVED = ("reject", "fail"), ("approve", "fail")
INI = "[pytest]\naddopts = --strict-markers --strict-config\nfilterwarnings = error\n"
PLUGIN = ("-p", "no:rolewall", "-p", "rolewall.pytest_plugin")  # whatever is installed
TESTS = """
import pytest

gate = pytest.mark.rolewall


@pytest.fixture
def late(pytestconfig):
    made = pytestconfig.rootpath / "late.jsonl"
    made.write_bytes((pytestconfig.rootpath / "holds.jsonl").read_bytes())


@gate("holds.jsonl", max_false_approval=0.1)
def test_holds(rolewall):
    (decision,) = rolewall.decisions
    assert (decision.status, decision.exit_code) == ("holds", 0)


@gate(run="failed.jsonl", max_false_approval=0.1)
def test_failed():
    raise SystemError("the body does not run")


@gate("undecided.jsonl", max_false_approval=0.1)
def test_undecided():
    pass


@gate("undecided.jsonl", max_false_approval=0.1, undecided="skip")
def test_undecided_skipped():
    pass


@gate("failed.jsonl", max_false_approval=0.1, undecided="skip")
def test_failed_is_not_skipped():
    pass


@gate("refused.jsonl", max_false_approval=0.1, undecided="skip")
def test_refused():
    pass


@gate("none.jsonl", max_false_approval=0.1)
def test_no_such_file():
    pass


@gate("holds.jsonl", max_false_approval=0.1, require_isolatd=True)
def test_misspelt():
    pass


@gate("holds.jsonl")
def test_no_bound():
    pass


@gate(max_false_approval=0.1)
def test_no_run():
    pass


@pytest.mark.parametrize("given", [
    pytest.param(given, marks=gate("holds.jsonl", max_false_approval=0.1, **given))
    for given in (
        {"allow_partial": "false"}, {"allow_partial": 1}, {"require_isolated": ""},
        {"require_isolated": None}, {"max_errors": True}, {"max_errors": 0.0},
        {"confidence": 0.51}, {"confidence": 0.95}, {"max_missing": "0.5"}, {"max_missing": True},
        {"condition": 1}, {"mapping": True}, {"baseline": True, "margin": 0.1}, {"undecided": []},
    )
])
def test_of_another_kind(given):
    pass


@gate("holds.jsonl", max_false_approval=0.1, allow_partial=False, require_isolated=True,
      max_errors=0, condition="enforced", mapping=None, baseline=None)
def test_of_its_kind():
    pass


@gate("late.jsonl", max_false_approval=0.1)
def test_a_fixture_may_make_the_run(late):
    pass


@gate("holds.jsonl", max_false_approval=0.1)
@gate("holds.jsonl", baseline="failed.jsonl", margin=0.05, allow_partial=True)
def test_two_marks(rolewall):
    assert [d.baseline is None for d in rolewall.decisions] == [False, True]


@gate("table.csv", mapping="mapping.yaml", max_false_approval=0.1, undecided="skip")
def test_a_table_by_its_mapping():
    pass


@gate("holds.jsonl", max_false_approval=0.1)
class TestClass:
    def test_inherits(self, rolewall):
        assert rolewall.decisions


def test_the_fixture_decides(rolewall):
    assert len(rolewall.open("failed.jsonl").rows) == 20
    assert rolewall.decide("failed.jsonl", max_false_approval=0.1).status == "failed"
    assert rolewall.gate("holds.jsonl", max_false_approval=0.1).exit_code == 0
    with pytest.raises(Exception, match="ended in error"):
        rolewall.gate("refused.jsonl", max_false_approval=0.1)
    assert rolewall.decisions == ()


def test_the_fixture_asserts(rolewall):
    rolewall.gate("failed.jsonl", max_false_approval=0.1)


@pytest.mark.parametrize("name", ["holds", "failed", "undecided", "refused"])
def test_a_decision_is_true_where_it_holds(rolewall, name):
    assert rolewall.decide(f"{name}.jsonl", max_false_approval=0.1)
"""
PASSED = "passed"
EXPECTED = {
    "test_holds": PASSED,
    "test_failed": "failed",
    "test_undecided": "failed",
    "test_undecided_skipped": "skipped",
    "test_failed_is_not_skipped": "failed",
    "test_refused": "error",
    "test_no_such_file": "error",
    "test_misspelt": "error",
    "test_no_bound": "error",
    "test_no_run": "error",
    **{f"test_of_another_kind[given{n}]": "error" for n in range(14)},
    "test_of_its_kind": PASSED,
    "test_a_fixture_may_make_the_run": PASSED,
    "test_two_marks": PASSED,
    "test_a_table_by_its_mapping": "skipped",
    "TestClass::test_inherits": PASSED,
    "test_the_fixture_decides": PASSED,
    "test_the_fixture_asserts": "failed",
    "test_a_decision_is_true_where_it_holds[holds]": PASSED,
    **{
        f"test_a_decision_is_true_where_it_holds[{name}]": "failed"
        for name in ("failed", "undecided", "refused")
    },
}


def run_pytest(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "ROLEWALL_TEST"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *words],
        cwd=directory,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path, many: Any) -> Path:
    def write(name: str, pairs: Sequence[tuple[str, str]]) -> None:
        text = "".join(r.model_dump_json() + "\n" for r in many(pairs))
        (tmp_path / f"{name}.jsonl").write_text(text)

    (tmp_path / "pytest.ini").write_text(INI)
    (tmp_path / "table.csv").write_text("item,verdict,grade\na,LGTM,fail\n")
    (tmp_path / "mapping.yaml").write_text(
        "map: {task: item}\nvalues: {verdict: {LGTM: approve}}\n"
    )
    write("holds", [REJECTED] * 35 + [("approve", "pass")])
    write("failed", [APPROVED] * 20)
    write("undecided", [REJECTED] * 3)
    write("refused", [REJECTED] * 35 + [("missing", "error")])
    return tmp_path


def test_each_outcome_of_the_gate_is_one_of_pytest(project: Path) -> None:
    (project / "test_it.py").write_text(TESTS)
    ran = run_pytest(project, *PLUGIN, "-v")
    found = dict(re.findall(r"^test_it\.py::(\S+) ([A-Z]+)", ran.stdout, re.M))
    assert {name: word.lower() for name, word in found.items()} == EXPECTED, ran.stdout
    assert "the body does not run" not in ran.stdout and "Traceback" not in ran.stdout
    assert "failed: the lower bound" in ran.stdout and "35 in all" in ran.stdout
    assert "not enough evidence to decide" in ran.stdout
    assert "got 'require_isolatd'" in ran.stdout and "nothing bounds" in ran.stdout
    assert "ended in error and at most 0 may" in ran.stdout


@pytest.mark.bubblewrap
def test_the_fixture_runs_a_role_and_closes_its_sandbox(project: Path) -> None:
    (project / "workspace").mkdir()
    (project / "test_it.py").write_text(
        "import pytest\n"
        "from rolewall import Access, Limits, policy_from_mapping\n"
        "from rolewall.errors import BoxError\n"
        "POLICY = policy_from_mapping({'name': 'one', 'roles': ['reader'],\n"
        "    'zones': ['workspace'],"
        "    'owners': {'harness': ['workspace']}, 'access': {'reader': {'workspace': 'read'}}})\n"
        "KEPT = []\n"
        "def test_role(rolewall, pytestconfig):\n"
        "    box = rolewall.sandbox(POLICY, 'reader',\n"
        "        {'workspace': pytestconfig.rootpath / 'workspace'}, backend='bubblewrap')\n"
        "    assert box.run(['touch', 'mark']).returncode != 0\n"
        "    assert {a.outcome for a in box.attempts()} == {'blocked'}\n"
        "    KEPT.append(box)\n"
        "def test_closed():\n"
        "    with pytest.raises(BoxError):\n"
        "        KEPT[0].run(['true'])\n"
    )
    ran = run_pytest(project, *PLUGIN)
    assert ran.returncode == 0, ran.stdout


def test_a_project_without_the_mark_is_left_alone(project: Path) -> None:
    (project / "test_it.py").write_text(
        "import sys\n"
        "def test_weight():\n"
        "    heavy = {'pydantic', 'scipy', 'docker', 'yaml', 'rolewall.gate', 'rolewall.errors'}\n"
        "    assert 'rolewall.pytest_plugin' in sys.modules and not heavy & set(sys.modules)\n"
    )
    ran = run_pytest(project, *PLUGIN)
    assert ran.returncode == 0, ran.stdout


def test_pytest_finds_the_plugin_by_itself(project: Path) -> None:
    found = metadata.entry_points(group="pytest11", name="rolewall")
    assert {entry.value for entry in found} == {"rolewall.pytest_plugin"}
    shown = run_pytest(project, "--markers").stdout
    assert "@pytest.mark.rolewall(run, max_false_approval=P" in shown


@pytest.mark.bubblewrap
def test_the_plugin_is_not_in_a_grade_box(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "test_alone.py").write_text(
        "import pytest\n"
        "def test_alone(pytestconfig):\n"
        "    assert not pytestconfig.pluginmanager.has_plugin('rolewall')\n"
        "    with pytest.raises(ImportError):\n"
        "        import rolewall\n"
    )
    graded = grade_directory(tmp_path / "work", {"pytest": {"tests": ["test_alone.py"]}},
                             files=tmp_path / "hidden", backend="bubblewrap")  # fmt: skip
    assert graded.grade == "pass", graded.why
