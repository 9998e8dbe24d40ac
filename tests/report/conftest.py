"""Reports to look at: of runs built from real files, and of one that was really run."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from rolewall.cli import explain
from rolewall.cli.report import command
from rolewall.errors import RolewallError
from rolewall.rundir import write_record

HERE = Path(__file__).parent


def load(name: str, path: Path) -> ModuleType:
    """A module that lies beside the tests; these are no packages."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def builder(tmp_path: Path) -> Any:
    """Writes a run directory, as for the tests of results."""
    return load("results_conftest", HERE.parent / "results" / "conftest.py").RunBuilder(
        tmp_path / "run"
    )


@dataclass(frozen=True)
class Said:
    """What a command came to in this process, as it would in one of its own."""

    code: int
    err: str


@pytest.fixture(scope="session")
def here() -> Callable[..., Said]:
    """Run the command in this process, also where it is to refuse."""

    def run(*words: object) -> Said:
        done = CliRunner().invoke(command, list(map(str, words)))
        if isinstance(done.exception, RolewallError):
            return Said(*explain(done.exception))
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return Said(done.exit_code, done.stderr)

    return run


@pytest.fixture
def bare(builder: Any) -> Callable[..., None]:
    """Adds an episode of a verifier alone to a run, a record without other evidence."""
    made = sys.modules["results_conftest"].make_record

    def add(to: Any, **fields: Any) -> None:
        record = made(**fields)
        directory = to.path / "episodes" / record.key
        directory.mkdir(parents=True)
        write_record(directory, record)
        to.records.append(record)

    return add


@pytest.fixture(scope="session")
def reading() -> ModuleType:
    """How a page is read here."""
    return load("report_reading", HERE / "reading.py")


@pytest.fixture(scope="session")
def browser() -> ModuleType:
    return load("report_browser", HERE / "browser.py")


@pytest.fixture(scope="session")
def report(reading: ModuleType) -> Callable[..., Any]:
    """Run the command in this process, and read the page that it wrote."""

    def run(path: Path, *options: object, code: int = 0) -> Any:
        arguments = [str(path), "--json", *map(str, options)]
        done = CliRunner().invoke(command, arguments, catch_exceptions=False)
        assert done.exit_code == code, done.output
        return reading.read(Path(json.loads(done.stdout)["report"]).read_bytes())

    return run


TASK = {
    "task.yaml": "id: {name}\nseconds: 60\n"
    "grader: {{command: {{run: [python3, /grader/check.py], trust: outside}}}}\n",
    "spec.md": "add(x) returns x + 1\n",
    "brief.md": "make add(x) right\n",
    "workspace/app.py": "def add(x):\n    return x\n",
    "grader/check.py": "import sys; sys.exit('x + 1' not in open('/workspace/app.py').read())\n",
}
WRONG = "printf 'def add(x):\\n\\treturn x + 2 # \\033[31m <script>hit()</script>\\n' > app.py"
RIGHT = "sed -i 's/x + 2/x + 1/' app.py && printf '\\0\\1' > data.bin"
# Its names are of the kind that a role may choose: markup, an escape, a bidirectional override.
NAMED = "touch \"$(printf '<img src=x onerror=hit()> \\033[31m \\342\\200\\256gnp')\""
ROLES: dict[str, dict[str, object]] = {
    "planner": {"steps": [{"run": "cat /spec/spec.md"}]},
    "executor": {"steps": [{"run": WRONG}, {"run": NAMED}]},
    "verifier": {
        "steps": [{"run": RIGHT}],
        "verdict": "approve",
        "summary": "fine <script>hit()</script> \u202e\u001b[31m",
    },
}


@pytest.fixture(scope="session")
def real_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of a team whose verifier repairs what it judges. Needs bubblewrap."""
    root = tmp_path_factory.mktemp("real")
    for name in ("add-one", "add-two"):
        for file, text in TASK.items():
            path = root / "tasks" / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.format(name=name) if file == "task.yaml" else text)
    (root / "team").mkdir()
    agents = {}
    for role, script in ROLES.items():
        (root / "team" / f"{role}.yaml").write_text(json.dumps(script))
        agents[role] = {"agent": {"script": f"{role}.yaml"}}
    limits = {"phase_seconds": 60, "memory_mb": 512, "pids": 64}
    (root / "team" / "team.yaml").write_text(
        json.dumps({"team": "menders", "limits": limits, "rounds": 1, "roles": agents})
    )
    words = ["compare", root / "team" / "team.yaml", "--tasks", root / "tasks",
             "--backend", "bubblewrap", "--conditions", "prompt-only,enforced",
             "-o", root / "run"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "rolewall", *map(str, words)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return root / "run"
