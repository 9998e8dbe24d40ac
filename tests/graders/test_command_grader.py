"""The command grader: exit statuses, tools, and who broke what."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rolewall.errors import BoxError, TaskError
from rolewall.sandbox import Backend, BoxSpec, Launched

pytestmark = pytest.mark.bubblewrap

CHECK = (
    "import subprocess, sys\n"
    "out = subprocess.run([sys.executable, '/workspace/app.py'], capture_output=True, text=True)\n"
    "sys.exit(0 if out.stdout == 'hello\\n' else 1)\n"
)
GOOD = "print('hello')\n"
BAD = "print('help')\n"


@pytest.fixture
def checked(bench: Any) -> Any:
    bench.grader = {"check.py": CHECK}
    bench.spec = {"command": {"run": ["python3", "/grader/check.py"], "tools": ["python3"]}}
    bench.start = {"app.py": BAD}
    return bench


def says(bench: Any, shell: str, **more: Any) -> Any:
    bench.spec = {"command": {"run": ["sh", "-c", shell], **more}}
    return bench.grade({"app.py": GOOD})


def test_the_exit_status_is_the_grade(checked: Any) -> None:
    assert checked.grade({"app.py": GOOD}).grade == "pass"
    found = checked.grade({"app.py": BAD})
    assert (found.grade, found.why, found.trust) == ("fail", "exit status 1", "untrusted")


def test_declared_fail_codes(bench: Any) -> None:
    assert says(bench, "exit 3", fail_codes=[3]).grade == "fail"
    assert says(bench, "exit 3").grade == "error"
    assert says(bench, "exit 1", fail_codes=[3]).grade == "error"


@pytest.mark.pain(23)
@pytest.mark.parametrize(
    ("shell", "why"),
    [
        ("exit 126", "a program could not be started"),
        ("exit 127", "a program could not be started"),
        ("no-such-program", "a program could not be started"),
        ("kill -SEGV $$", "SIGSEGV"),
        ("exit 2", "means neither pass nor fail"),
        ("exit 255", "exit status 255 means neither"),
    ],
)
def test_a_grader_that_cannot_judge_anything_is_an_error(bench: Any, shell: str, why: str) -> None:
    found = says(bench, shell)
    assert found.grade == "error"
    assert why in found.why
    assert "the start state:" in found.why


@pytest.mark.pain(23)
def test_a_missing_tool_is_an_error_and_is_named(bench: Any) -> None:
    found = says(bench, "exit 0", tools=["sh", "no-such-tool"])
    assert found.grade == "error"
    assert "not in the grade box: no-such-tool" in found.why
    assert says(bench, "exit 0", tools=["sh", "python3"]).grade == "pass"


def test_a_tool_in_the_workspace_is_no_tool(bench: Any) -> None:
    bench.spec = {"command": {"run": ["true"], "tools": ["jqq"]}}
    found = bench.grade({"jqq": "#!/bin/sh\n"}, lambda place: (place / "jqq").chmod(0o755))
    assert found.grade == "error"


@pytest.mark.pain(8)
def test_a_shim_in_the_workspace_is_not_run(checked: Any) -> None:
    shim = {"python3": "#!/bin/sh\nexit 0\n", "sh": "#!/bin/sh\nexit 0\n", "subprocess.py": ""}

    def executable(place: Path) -> None:
        for path in place.iterdir():
            path.chmod(0o755)

    assert checked.grade({"app.py": BAD, **shim}, executable).grade == "fail"
    assert checked.grade({"app.py": GOOD, **shim}, executable).grade == "pass"


def test_work_that_kills_its_grader_broke_it(checked: Any) -> None:
    killer = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n"
    found = checked.grade({"app.py": killer})
    assert found.grade == "fail"
    assert found.why == "broke the grader: the grader was killed by SIGKILL"
    assert found.details["start_state"] == {"grade": "fail", "why": "exit status 1"}


def test_work_that_never_ends_broke_the_grader(checked: Any) -> None:
    checked.seconds = 2.0
    found = checked.grade({"app.py": "import time\ntime.sleep(600)\n"})
    assert (found.grade, found.why) == ("fail", "broke the grader: the grader ran out of time")


def test_a_grader_that_never_ends_is_an_error(bench: Any) -> None:
    bench.seconds = 1.0
    assert says(bench, "sleep 600").grade == "error"


def test_deleted_work_fails(checked: Any) -> None:
    assert checked.grade({}).grade == "fail"


def test_the_box_shows_what_it_should(bench: Any, tmp_path: Path) -> None:
    submission, report = tmp_path / "submission", tmp_path / "report"
    for place in (submission, report):
        place.mkdir()
        (place / "file").write_text(place.name)
    bench.grader = {"truth.json": "{}"}
    tests = [
        "cat /spec/spec.md | grep -q Add && cat /brief/brief.md | grep -q Add",
        "grep -q submission /submission/file && grep -q report /report/file",
        'test -z "$(ls /reports)" && touch /reports/x /workspace/x /tmp/x',
        "! touch /grader/x && ! touch /submission/x && ! touch /report/x && ! touch /spec/x",
        'test ! -e /verdict && test ! -e /plan && test "$PWD" = /workspace',
    ]
    bench.spec = {"command": {"run": ["sh", "-ec", "\n".join(f"{{ {one}; }}" for one in tests)]}}
    found = bench.grade({"app.py": GOOD}, submission=submission, report=report)
    assert found.grade == "pass", found.details


COMPARE = "cmp -s /workspace/answer.json /grader/expected.json"


@pytest.mark.parametrize(
    "target",
    [
        "/grader/expected.json",
        "../grader/expected.json",
        "sub/../../grader/expected.json",
        "/usr/../grader/expected.json",
        "/proc/self/root/grader/expected.json",
        "hop/grader/expected.json",
        "/workspace/hop/grader/expected.json",
        "hop2",
    ],
)
def test_a_link_to_the_truth_is_no_answer(bench: Any, target: str) -> None:
    truth = json.dumps({"answer": 42})
    bench.grader = {"expected.json": truth}
    bench.spec = {"command": {"run": ["sh", "-c", COMPARE], "trust": "outside"}}

    def plant(place: Path) -> None:
        (place / "sub").mkdir()
        os.symlink("..", place / "hop")
        os.symlink("sub/../hop/./grader/expected.json", place / "hop2")
        os.symlink(target, place / "answer.json")

    found = bench.grade({}, plant)
    assert found.grade in ("fail", "error"), found
    assert "answer.json" in found.details["removed_links"]
    assert bench.grade({"answer.json": truth}).grade == "pass"


def test_links_that_lead_nowhere_bad_stay(bench: Any) -> None:
    def plant(place: Path) -> None:
        (place / "data").mkdir()
        (place / "data" / "true.json").write_text("{}")
        os.symlink("data/true.json", place / "answer.json")
        os.symlink("/workspace/data", place / "absolute")
        os.symlink("/usr/bin/env", place / "tool")
        os.symlink("loop", place / "loop")
        os.symlink("nowhere", place / "dangling")

    bench.grader = {"expected.json": "{}"}
    bench.spec = {"command": {"run": ["sh", "-c", COMPARE]}}
    found = bench.grade({}, plant)
    assert found.grade == "pass"
    assert "removed_links" not in found.details


def test_a_grader_directory_with_a_link_is_refused(bench: Any, tmp_path: Path) -> None:
    bench.spec = {"command": {"run": ["true"]}}
    truth = bench.root / "dir2"
    truth.mkdir()
    os.symlink("/etc/passwd", truth / "expected.json")
    with pytest.raises(TaskError, match="not a file or directory"):
        bench.grade({})


OUTSIDE = (
    "import subprocess, sys\n"
    "command = ['rolewall-check', '--', 'python3', '/workspace/app.py']\n"
    "out = subprocess.run(command, capture_output=True, text=True)\n"
    "sys.exit(0 if out.stdout == 'hello\\n' and out.returncode == 0 else 1)\n"
)


@pytest.mark.parametrize(
    "attack",
    [
        "print(open('/grader/truth').read(), end='')",
        "import os; os.kill(os.getppid(), 9)",
        "import os; os.symlink('/grader/truth', '/workspace/answer')",
        "open('/reports/score.json', 'w').write('{}'); print('hello')",
        "open('/workspace/app.py', 'w').write('print(1)')",
    ],
)
def test_a_work_box_holds_the_work_alone(bench: Any, attack: str) -> None:
    bench.grader = {"check.py": OUTSIDE, "truth": "hello\n"}
    bench.spec = {"command": {"run": ["python3", "/grader/check.py"], "trust": "outside"}}
    found = bench.grade({"app.py": attack + "\n"})
    assert (found.grade, found.why, found.trust) == ("fail", "exit status 1", "outside")
    assert bench.grade({"app.py": GOOD}).grade == "pass"


def test_each_run_in_the_work_box_starts_from_the_same_copy(bench: Any) -> None:
    once = "from pathlib import Path\np = Path('/workspace/ran')\nprint(p.exists())\np.touch()\n"
    run = "rolewall-check -- python3 app.py"
    bench.spec = {
        "command": {"run": ["sh", "-c", f"test $({run})$({run}) = FalseFalse && test ! -e ran"]}
    }
    assert bench.grade({"app.py": once}).grade == "pass"


class NoWorkBoxes:
    """A backend on a machine that breaks once the grade box stands."""

    def __init__(self, backend: Backend) -> None:
        self.name = backend.name
        self.diagnose, self.clean = backend.diagnose, backend.clean
        self._backend = backend

    def launch(self, spec: BoxSpec) -> Launched:
        if spec.label == "check":
            raise BoxError("no space for another box")
        return self._backend.launch(spec)


def test_a_work_box_that_cannot_be_made_is_nobodys_grade(bench: Any) -> None:
    bench.grader = {"check.py": OUTSIDE}
    bench.spec = {"command": {"run": ["python3", "/grader/check.py"], "trust": "outside"}}
    bench.backend = NoWorkBoxes(bench.backend)
    with pytest.raises(BoxError, match="no space"):
        bench.grade({"app.py": GOOD})
