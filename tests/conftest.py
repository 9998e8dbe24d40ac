"""What the tests need from the machine, and the markers that say so.

``ROLEWALL_TEST_REQUIRE=docker,bubblewrap,root,chromium,agents,inspect`` turns "not here" from a
skip into a failure, and every other skip too, wherever it is asked for, so that
continuous integration cannot skip its way to green.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import rolewall.errors
from rolewall.errors import RolewallError
from rolewall.interruption import SIGNALS
from rolewall.sandbox import Backend, find_backend
from rolewall.sandbox.docker.engine import engine_address
from rolewall.terminal import counted
from tests.scheduling import Together

# The suite's own examples are the same in every run; `--hypothesis-profile=deep` looks for more.
settings.register_profile("suite", deadline=None, derandomize=True, database=None)
settings.register_profile(
    "deep", deadline=None, max_examples=2000, suppress_health_check=list(HealthCheck)
)
settings.load_profile("suite")

LEFT_OUT = pytest.StashKey[int]()
REQUIRED = set(filter(None, os.environ.get("ROLEWALL_TEST_REQUIRE", "").split(",")))


def _backend_missing(name: str) -> str:
    try:
        find_backend(name)
    except RolewallError as error:
        return str(error)
    return ""


def _root_missing() -> str:
    return "" if os.geteuid() == 0 else "not root"


def _chromium_missing() -> str:
    return "" if shutil.which("chromium") else "no chromium on PATH"


def _agents_missing() -> str:
    kept = os.environ.get("ROLEWALL_TEST_AGENTS") or Path.home() / ".cache/rolewall-test-agents"
    return "" if Path(kept, "installed").exists() else f"tests/agents.sh has put nothing in {kept}"


def _inspect_missing() -> str:
    return "" if importlib.util.find_spec("inspect_ai") else "pip install -e '.[inspect]'"


MISSING: dict[str, Callable[[], str]] = {
    "docker": lambda: _backend_missing("docker"),
    "bubblewrap": lambda: _backend_missing("bubblewrap"),
    "root": _root_missing,
    "chromium": _chromium_missing,
    "agents": _agents_missing,
    "inspect": _inspect_missing,
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _leave_out_long(config, items)
    found = {name: check() for name, check in MISSING.items()}
    for item in items:
        for name, why in found.items():
            if why and item.get_closest_marker(name) and name not in REQUIRED:
                item.add_marker(pytest.mark.skip(reason=f"{name}: {why}"))


def _leave_out_long(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where the whole suite is asked for: tests asked for by name run, however long."""
    path = Path(__file__).with_name("long.txt")
    if os.environ.get("ROLEWALL_TEST_LONG") or not path.exists() or not _whole(config):
        return
    lines = path.read_text("utf-8").splitlines()
    long = {line for line in lines if line and not line.startswith("#")}
    names = {name for item in items for name in (item.nodeid, item.nodeid.partition("[")[0])}
    if strange := long - names:
        raise pytest.UsageError(f"{path} names what is no test: {', '.join(sorted(strange))}")
    out = [i for i in items if {i.nodeid, i.nodeid.partition("[")[0]} & long]
    config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if item not in out]
    config.stash[LEFT_OUT] = len(out)


def _whole(config: pytest.Config) -> bool:
    """Whether nothing was chosen. A worker of xdist is told, since it gets every path named."""
    if hasattr(config, "workerinput"):
        return bool(config.workerinput.get("whole"))
    return config.args_source is not pytest.Config.ArgsSource.ARGS and not config.option.keyword


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Together:
    return Together(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["whole"] = _whole(node.config)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Only a worker of xdist knows what it left out; each leaves out the same."""
    if output := getattr(session.config, "workeroutput", None):
        output["left_out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    if output := getattr(node, "workeroutput", None):
        node.config.stash[LEFT_OUT] = output["left_out"]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if number := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(
            f"left out for their length: {counted(number, 'test')}, those of tests/long.txt;"
            " `make test-long` runs them too"
        )


Report = pytest.TestReport | pytest.CollectReport


def _no_skip(report: Report) -> None:
    if REQUIRED and report.skipped and not hasattr(report, "wasxfail"):
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"ROLEWALL_TEST_REQUIRE forbids to skip: {why}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _no_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _no_skip(report)
    return report


@pytest.fixture(
    params=[
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
        pytest.param("docker", marks=pytest.mark.docker),
    ]
)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each backend in turn."""
    return find_backend(request.param)


@dataclass(frozen=True)
class Ran:
    """A finished ``rolewall`` command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Ran]


@pytest.fixture(autouse=True)
def heeds_signals_as_before() -> Iterator[None]:
    """What this process ignores, every process ignores that a later test starts."""
    before = [signal.getsignal(number) for number in SIGNALS]
    yield
    after = [signal.getsignal(number) for number in SIGNALS]
    assert after == before, "a test left signals otherwise than it found them"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Run the command line as a user does, in a process of its own."""

    def run(*arguments: object, stdin: str = "", env: dict[str, str] | None = None) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "rolewall", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=300,
            check=False,
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


ORDINARY = 64101
"""The uid and gid of the user who is not root, in tests that root runs."""


@dataclass(frozen=True)
class User:
    """Somebody who uses ``rolewall`` on this machine.

    ``home`` is a directory that belongs to the user, who can reach it from everywhere.
    """

    name: str
    uid: int
    home: Path
    command: tuple[str, ...]
    env: dict[str, str]
    groups: tuple[int, ...]

    def process(self, argv: tuple[object, ...], **more: Any) -> subprocess.Popen[str]:
        """Start Python with ``argv`` as this user, who has nothing but what is said here."""
        who = {"user": self.uid, "group": self.uid, "extra_groups": self.groups}
        return subprocess.Popen(
            [*self.command, *map(str, argv)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="surrogateescape",
            cwd=self.home,
            env=self.env,
            **(who if os.geteuid() == 0 and self.uid != 0 else {}),
            **more,
        )

    def python(self, *argv: object) -> Ran:
        """Run Python to its end."""
        with self.process(argv) as process:
            try:
                out, err = process.communicate(timeout=300)
            except BaseException:
                process.kill()
                raise
        return Ran(process.returncode, out, err)

    def cli(self, *arguments: object) -> Ran:
        """Run the command line, as ``cli`` does."""
        return self.python("-m", "rolewall", *arguments)

    def directory(self, name: str) -> Path:
        """A new directory of the user's."""
        path = self.home / name
        path.mkdir()
        return self.give(path)

    def give(self, path: Path) -> Path:
        """Make ``path``, and all below it, the user's."""
        for below in (path, *path.rglob("*")):
            os.chown(below, self.uid, self.uid, follow_symlinks=False)
        return path


@pytest.fixture
def root(tmp_path: Path) -> User:
    """Whoever runs the tests; root, where a test bears that mark."""
    home = tmp_path / "home"
    home.mkdir()
    return User("root", os.geteuid(), home, (sys.executable,), dict(os.environ), ())


@pytest.fixture
def ordinary() -> Iterator[User]:
    """A user who is not root and may use the Docker engine. Needs the mark ``root``."""
    groups: list[int] = []
    with suppress(OSError):
        groups = [os.stat(engine_address().removeprefix("unix://")).st_gid]
    packages = [path for path in sys.path if path.endswith("site-packages")]
    packages.append(str(Path(rolewall.errors.__file__).parents[1]))
    with tempfile.TemporaryDirectory(prefix="rolewall-test-") as name:
        os.chown(name, ORDINARY, ORDINARY)
        env = {
            "HOME": name,
            "XDG_RUNTIME_DIR": name,
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": ":".join(packages),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        for python in (sys.executable, "/usr/bin/python3"):
            user = User("ordinary", ORDINARY, Path(name), (python,), env, tuple(groups))
            with suppress(OSError):
                if user.python("-c", "import rolewall.sandbox").code == 0:
                    yield user
                    return
    pytest.skip("rolewall and its Python lie where no other user can read them")


@pytest.fixture(
    params=[
        pytest.param("root", marks=pytest.mark.root),
        pytest.param("ordinary", marks=pytest.mark.root),
    ]
)
def user(request: pytest.FixtureRequest) -> User:
    """Root and an ordinary user in turn."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, User)
    return found


@dataclass
class Studio:
    """Makes small tasks and teams below a directory."""

    path: Path

    def task(
        self,
        name: str = "add-one",
        *,
        files: dict[str, str] | None = None,
        grader: str = "grader: {command: {run: [python3, /grader/check.py], trust: outside}}",
        check: str = 'import sys; sys.exit("x + 1" not in open("/workspace/app.py").read())\n',
    ) -> Path:
        root = self.path / "tasks" / name
        for below in ("workspace", "grader"):
            (root / below).mkdir(parents=True)
        (root / "task.yaml").write_text(f"id: {name}\n{grader}\nseconds: 60\n")
        (root / "spec.md").write_text("add(x) returns x + 1\n")
        (root / "brief.md").write_text("make add(x) right\n")
        (root / "grader" / "check.py").write_text(check)
        for file, text in (files or {"app.py": "def add(x):\n    return x\n"}).items():
            target = root / "workspace" / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        return root

    def team(
        self, *, rounds: int = 1, replan: bool = False, memory_mb: int = 512, **roles: object
    ) -> Path:
        """A team of scripts: a role's value is the script's content, or for a list a command."""
        root = self.path / f"team-{len(list(self.path.iterdir()))}"
        root.mkdir()
        agents = {}
        for role, content in {"executor": {}, "verifier": {}, **roles}.items():
            if isinstance(content, dict) and "command" in content:
                agents[role] = {"agent": content}
                continue
            (root / f"{role}.yaml").write_text(json.dumps(content))
            agents[role] = {"agent": {"script": f"{role}.yaml"}}
        team = {
            "team": "test-team",
            "limits": {"phase_seconds": 60, "memory_mb": memory_mb, "pids": 64},
            "rounds": rounds,
            "replan": replan,
            "roles": agents,
        }
        (root / "team.yaml").write_text(json.dumps(team))
        return root / "team.yaml"


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    (tmp_path / "studio").mkdir()
    return Studio(tmp_path / "studio")


@dataclass(frozen=True)
class Episode:
    """A finished episode of a run, read from its files."""

    directory: Path
    record: dict[str, Any]

    def attempts(self, **wanted: object) -> list[dict[str, Any]]:
        lines = (self.directory / "audit.jsonl").read_text().splitlines()
        found = [json.loads(line) for line in lines]
        return [
            line
            for line in found
            if line["type"] == "attempt" and all(line[k] == v for k, v in wanted.items())
        ]

    def phase(self, role: str) -> dict[str, Any]:
        return next(p for p in reversed(self.record["phases"]) if p["role"] == role)


def episodes_of(run: Path) -> list[Episode]:
    found = sorted((run / "episodes").iterdir())
    return [Episode(d, json.loads((d / "episode.json").read_text())) for d in found]


Play = Callable[..., Episode]


@pytest.fixture
def play(cli: Cli, tmp_path: Path, backend: Backend) -> Play:
    """Run one team on one task through the command line, and read the one episode."""

    def run(team: Path, task: Path, condition: str = "enforced", code: int = 0) -> Episode:
        out = tmp_path / f"run-{condition}-{len(list(tmp_path.iterdir()))}"
        done = cli("run", team, "--tasks", task, "--condition", condition,
                   "--backend", backend.name, "-o", out)  # fmt: skip
        assert done.code == code, done.err
        (episode,) = episodes_of(out)
        return episode

    return run
