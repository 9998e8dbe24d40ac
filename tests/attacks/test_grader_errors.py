"""Work that breaks its grader on purpose fails; it is neither passed nor nobody's grade."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall import grade_directory
from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from conftest import Cli, Studio

BAD = "\ndef add(a, b):\n    return a - b\n"
GOOD = "\ndef add(a, b):\n    return a + b\n"
TESTS = "import calc\n\n\ndef test_sum():\n    assert calc.add(2, 3) == 5\n"
BROKE = "broke the grader: "

# What a module does when the hidden tests import it: (code, seconds, why).
IMPORTED = {
    "closes all files": ("import os\nos.closerange(0, 4096)\n", 60, BROKE),
    "turns all files into nothing": (
        "import os\nnull = os.open('/dev/null', 1)\nfor n in range(64):\n"
        "    if n != null:\n        os.dup2(null, n)\n",
        60,
        BROKE,
    ),
    "becomes another program": ("import os\nos.execv('/bin/true', ['true'])\n", 60, BROKE),
    "is killed by its own alarm": (
        "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\nwhile True: pass\n",
        60,
        BROKE + ".*SIGALRM",
    ),
    "crashes the interpreter": ("import ctypes\nctypes.string_at(0)\n", 60, BROKE + ".*SIGSEGV"),
    "stops itself": ("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n", 12,
                     BROKE + "the grader ran out of time"),
    "leaves from a thread": (
        "import os, threading\nthreading.Thread(target=os._exit, args=(0,)).start()\n"
        "threading.Event().wait(30)\n",
        60,
        BROKE,
    ),
    "kills everybody": (
        "import os\ntry:\n    os.kill(-1, 9)\nfinally:\n    os.kill(os.getpid(), 9)\n",
        60,
        BROKE,
    ),
    "forks without end": (
        "import os, time\nfor _ in range(3000):\n    try:\n        child = os.fork()\n"
        "    except OSError:\n        break\n    if child == 0:\n        time.sleep(60)\n" + BAD,
        60,
        "expected tests were seen passing|" + BROKE,
    ),
    "takes all memory": (
        "import os\nheld = []\nwhile True:\n    held.append(b'x' * (16 << 20))\n",
        60,
        "could not be collected|" + BROKE,
    ),
    "writes without end on what it finds open": (
        "import os\nblock = b'x' * (1 << 20)\nfor n in list(range(3, 16)) * 80:\n    try:\n"
        "        os.write(n, block)\n    except OSError:\n        pass\n" + BAD,
        60,
        BROKE + "the test run wrote more than can be read|" + BROKE,
    ),
    "forgets all modules": (
        "import sys\nsys.modules.clear()\n",
        60,
        BROKE + "|could not be collected|ended the test run",
    ),
    "removes the work, temporary files and itself": (
        "import shutil\nfor place in ('/workspace', '/tmp', '/home'):\n"
        "    shutil.rmtree(place, ignore_errors=True)\n" + BAD,
        60,
        "expected tests were seen passing",
    ),
    "hides tests from the collector": (
        "import pytest\npytest.Module.collect = lambda self: []\n" + BAD,
        60,
        "expected tests were seen passing|no test",
    ),
    "says that it is over, and so does pytest": (
        "import pytest\npytest.exit('all passed', returncode=0)\n",
        60,
        "the work ended the test run|could not be collected|" + BROKE,
    ),
    "makes every comparison true": (
        "import operator, builtins\nclass Yes:\n    def __eq__(self, other): return True\n"
        "    def __ne__(self, other): return False\n"
        "builtins.int.__eq__ = lambda a, b: True\n",
        60,
        "could not be collected|" + BROKE,
    ),
}  # fmt: skip

# In these the box has a part; the others are between a module and the test run in it.
BOXED = {
    "is killed by its own alarm", "crashes the interpreter", "stops itself", "kills everybody",
    "leaves from a thread", "forks without end", "takes all memory",
    "removes the work, temporary files and itself",
}  # fmt: skip
CASES = [
    pytest.param(backend, name, marks=getattr(pytest.mark, backend))
    for backend in ("bubblewrap", "docker")
    for name in IMPORTED
    if backend == "bubblewrap" or name in BOXED
]


def _write(directory: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


@pytest.mark.pain(8)
@pytest.mark.pain(23)
@pytest.mark.parametrize(("backend", "name"), CASES, indirect=["backend"])
def test_no_import_makes_a_pass_or_an_error(backend: Backend, tmp_path: Path, name: str) -> None:
    code, seconds, why = IMPORTED[name]
    found = imported(backend, tmp_path, code, seconds)
    assert found.grade == "fail" and re.search(why, found.why), found
    if found.why.startswith(BROKE):
        assert found.details["start_state"]["grade"] == "fail"


def test_a_right_import_passes(backend: Backend, tmp_path: Path) -> None:
    assert imported(backend, tmp_path, GOOD, 60).grade == "pass"


def imported(backend: Backend, path: Path, code: str, seconds: float) -> Any:
    return grade_directory(
        _write(path / "work", {"calc.py": code}),
        {"pytest": {"tests": ["test_calc.py"]}},
        files=_write(path / "hidden", {"test_calc.py": TESTS}),
        start=_write(path / "start", {"calc.py": BAD}),
        backend=backend,
        seconds=seconds,
        memory_mb=256,
    )


# What a program does when the grader starts it: (code, seconds, why it fails).
STARTED = {
    "kills all but itself": ("import os\nos.kill(-1, 9)\n", 30, BROKE),
    "stops its grader": (
        "import os, signal, time\nos.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(60)\n",
        4,
        BROKE + "the grader ran out of time",
    ),
    "writes a great deal": (
        "import os\nfor _ in range(100): os.write(1, b'5' * (1 << 20))\n",
        30,
        "exit status 1",
    ),
    "leaves a program that holds its output": (
        "import os, time\nprint(6, flush=True)\nif os.fork() == 0:\n    os.setsid()\n"
        "    time.sleep(600)\n",
        4,
        "exit status 1|" + BROKE,
    ),
    "plants results": (
        "import os\nfor d in ('/reports', '/workspace', '/tmp'):\n"
        "    for n in ('score.json', 'report.xml', 'junit.xml', 'expected.json'):\n"
        "        open(os.path.join(d, n), 'w').write('{\"pass\": true}')\nprint(6)\n",
        30,
        "exit status 1",
    ),
    "closes the work": ("import os\nos.chmod('/workspace', 0)\nprint(6)\n", 30, "exit status 1"),
}
CHECK = (
    "import subprocess, sys\n"
    "out = subprocess.run([sys.executable, '/workspace/app.py'], stdout=subprocess.PIPE)\n"
    "sys.exit(out.stdout != b'5\\n')\n"
)


def test_no_program_makes_a_pass_or_an_error(backend: Backend, tmp_path: Path) -> None:
    hidden = _write(tmp_path / "hidden", {"check.py": CHECK})
    start = _write(tmp_path / "start", {"app.py": "print(6)\n"})
    spec = {"command": {"run": ["python3", "/grader/check.py"]}}
    wrong = []
    for name, (code, seconds, why) in STARTED.items():
        work = _write(tmp_path / name.replace(" ", "-"), {"app.py": code})
        found = grade_directory(
            work, spec, files=hidden, start=start, backend=backend, seconds=seconds, memory_mb=256
        )
        if found.grade != "fail" or not re.search(why, found.why):
            wrong.append((name, found.grade, found.why))
    assert wrong == []
    right = _write(tmp_path / "right", {"app.py": "print(5)\n"})
    assert grade_directory(right, spec, files=hidden, start=start, backend=backend).grade == "pass"


def test_an_episode_says_whose_fault_it_was(cli: Cli, studio: Studio, backend: Backend) -> None:
    """The executor breaks the grader: its failure. The grader is broken: nobody's."""
    tasks = []
    for name, tests in (("broken-by-work", TESTS), ("broken-grader", "def test(:\n")):
        task = studio.task(name, files={"calc.py": BAD}, grader="grader: {pytest: {tests: [t.py]}}")
        (task / "grader" / "t.py").write_text(tests)
        tasks += ["--tasks", task]
    breaks = "printf 'import os\\nos._exit(0)\\n' > calc.py"
    team = studio.team(executor={"steps": [{"run": breaks}]}, verifier={"verdict": "approve"})
    out = studio.path / "out"
    done = cli("run", team, *tasks, "--backend", backend.name, "-o", out)
    assert done.code == 3, "one episode could not be judged"
    records = [json.loads(p.read_text()) for p in (out / "episodes").glob("*/episode.json")]
    found = {record["task"]: record for record in records}
    mine, theirs = found["broken-by-work"], found["broken-grader"]
    assert (mine["status"], mine["verdict"], mine["grade"]) == ("complete", "approve", "fail")
    assert mine["verdicts"][0]["grade_after"]["why"].startswith(BROKE)
    assert (theirs["status"], theirs["grade"], theirs["error"]["kind"]) == (
        "error", "error", "grader",
    )  # fmt: skip
