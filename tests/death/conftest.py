"""Harnesses that die or are interrupted, seen from outside, and an engine to do harm to."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rolewall.sandbox import Backend
from rolewall.sandbox.owner import Owner, start_ticks


def _of_bench(name: str) -> ModuleType:
    """A module of the bench scripts, which are no package, and not on the path of any test."""
    path = Path(__file__).parents[2] / "bench" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"bench_{name}", path)
    assert spec and spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


leaks = _of_bench("leaks")
WAIT = 60.0
# A role that says that it is there, and goes on when it is told to.
WAITING = {"steps": [{"run": "touch started; until [ -e go ]; do sleep 0.05; done; touch done"}]}


def until(condition: Callable[[], object], seconds: float = WAIT) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


@dataclass
class Running:
    """A harness that runs ``rolewall run``."""

    process: subprocess.Popen[str] | None
    owner: Owner
    out: Path

    @property
    def pid(self) -> int:
        return self.owner.pid

    def alive(self) -> bool:
        return start_ticks(self.pid) == self.owner.started

    def workspaces(self) -> list[Path]:
        return list(self.out.glob("scratch/*/zones/workspace"))

    def wait_started(self, count: int = 1) -> None:
        """Until the roles of ``count`` episodes run and wait."""
        until(lambda: self.started() >= count or not self.alive())
        assert self.alive(), self.end()

    def wait_staging(self) -> None:
        """Until the start workspace of an episode is being written."""
        until(lambda: any(any(p.iterdir()) for p in self.workspaces()) or not self.alive())
        assert self.alive(), self.end()

    def wait_waiting(self) -> None:
        """Until a role waits that has not been let go on."""
        until(self._waiting)

    def _waiting(self) -> bool:
        assert self.alive(), self.end()
        return any((p / "started").exists() and not (p / "go").exists() for p in self.workspaces())

    def started(self) -> int:
        return sum((path / "started").exists() for path in self.workspaces())

    def wait_end(self) -> None:
        """Until it is gone, where its output goes elsewhere; roles are let go on meanwhile."""

        def gone() -> bool:
            self.release()
            return not self.alive()

        until(gone)

    def release(self) -> None:
        """Let the roles that wait go on. Once: in a later phase it would be an edit."""
        for path in self.workspaces():
            with suppress(OSError):
                if (path / "started").exists() and not (path / "go").exists():
                    (path / "go").touch()

    def end(self) -> tuple[int, str, str]:
        """Its code, standard output and standard error; roles are let go on meanwhile."""
        assert self.process
        while True:
            self.release()
            try:
                out, err = self.process.communicate(timeout=0.2)
            except subprocess.TimeoutExpired:
                continue
            return self.process.returncode, out, err

    def records(self) -> list[dict[str, Any]]:
        found = sorted(self.out.glob("episodes/*/episode.json"))
        return [json.loads(path.read_text()) for path in found]


@dataclass
class Death:
    """Starts harnesses, and looks for what they leave."""

    path: Path
    backend: str
    env: dict[str, str] = field(default_factory=dict)
    mark: str = field(default_factory=lambda: f"death-{secrets.token_hex(6)}")
    harnesses: list[Running] = field(default_factory=list)

    @property
    def tmp(self) -> Path:
        found = self.path / "tmp"
        found.mkdir(exist_ok=True)
        return found

    def environment(self) -> dict[str, str]:
        own = {"TMPDIR": str(self.tmp), leaks.MARK: self.mark}
        return {**os.environ, **own, **self.env}

    def start(
        self, team: Path, tasks: Path, *words: object, out: Path | None = None, **more: Any
    ) -> Running:
        out = out or self.path / "out"
        asked = [team, "--tasks", tasks, "--backend", self.backend, "-o", out, *words]
        return self.start_anywhere(asked, out, **more)

    def start_anywhere(
        self, words: list[object], out: Path = Path("unknown"), **more: Any
    ) -> Running:
        """``rolewall run`` with these words alone."""
        asked = [sys.executable, "-m", "rolewall", "run", *words]
        more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                "env": self.environment(), "text": True, **more}  # fmt: skip
        process: subprocess.Popen[str] = subprocess.Popen(list(map(str, asked)), **more)
        running = Running(process, leaks.owner_of(process.pid), out)
        self.harnesses.append(running)
        return running

    def adopt(self, pid: int, out: Path) -> Running:
        """A harness that somebody else started."""
        running = Running(None, leaks.owner_of(pid), out)
        self.harnesses.append(running)
        return running

    def left(self, seconds: float = 10.0) -> dict[str, list[str]]:
        """What the harnesses left on the machine, once that no longer changes."""
        env = self.environment()
        places = (self.tmp, Path("/run/rolewall/kits"))
        search = leaks.Search(places, self.mark, docker=self.backend == "docker", env=env)
        owners = [running.owner for running in self.harnesses]
        found = leaks.settled(search, owners, seconds)
        return {kind: things for kind, things in found.items() if things}


@pytest.fixture(autouse=True)
def a_terminal() -> Iterator[None]:
    """As from a shell: what ``nohup`` told the tests to ignore is not what is tested."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def death(tmp_path: Path, backend: Backend) -> Iterator[Death]:
    """On each backend in turn."""
    yield from _ended(Death(tmp_path, backend.name))


@pytest.fixture
def docker_death(tmp_path: Path) -> Iterator[Death]:
    """On docker alone. Needs the mark ``docker``."""
    yield from _ended(Death(tmp_path, "docker"))


@pytest.fixture
def bubblewrap_death(tmp_path: Path) -> Iterator[Death]:
    """On bubblewrap alone. Needs the mark ``bubblewrap``."""
    yield from _ended(Death(tmp_path, "bubblewrap"))


def _ended(found: Death) -> Iterator[Death]:
    """Whatever still runs at the end is killed, by its pid."""
    yield found
    for running in found.harnesses:
        if running.alive():
            os.kill(running.pid, signal.SIGKILL)
        if running.process:
            running.process.communicate(timeout=WAIT)


class PrivateEngine:
    """A Docker engine of the test's own: nothing that is done to it touches another."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.address = f"unix://{root}/d.sock"
        self.env = {**os.environ, "DOCKER_HOST": self.address}
        self._containerd: subprocess.Popen[bytes] | None = None
        self._dockerd: subprocess.Popen[bytes] | None = None
        (root / "containerd.toml").write_text(
            'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n'
        )
        (root / "daemon.json").write_text("{}")

    def start(self) -> None:
        root = self.root
        if self._containerd is None:
            self._containerd = self._spawn(
                "containerd", "--config", root / "containerd.toml", "--root", root / "c-root",
                "--state", root / "c-state", "--address", root / "c.sock",
            )  # fmt: skip
            until((root / "c.sock").exists)
        (root / "pid").unlink(missing_ok=True)  # a killed engine leaves it
        self._dockerd = self._spawn(
            "dockerd", "--config-file", root / "daemon.json", "--containerd", root / "c.sock",
            "--data-root", root / "data", "--exec-root", root / "exec", "--pidfile", root / "pid",
            "--host", self.address, "--bridge", "none", "--iptables=false", "--ip-forward=false",
            "--storage-driver", "vfs",
        )  # fmt: skip
        until(self.answers)

    def answers(self) -> bool:
        return self.docker("version").returncode == 0

    def docker(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["docker", *words],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=WAIT,
            check=False,
        )

    def signal(self, number: signal.Signals) -> None:
        assert self._dockerd
        self._dockerd.send_signal(number)

    def kill(self) -> None:
        self._end(self._dockerd, signal.SIGKILL)

    def stop(self) -> None:
        self._end(self._dockerd, signal.SIGTERM)

    def close(self) -> None:
        """Orderly, so that no container and no mount is left; the engine is started once
        more if it was killed."""
        if self._dockerd and self._dockerd.poll() is not None:
            self.start()
        self.stop()
        self._end(self._containerd, signal.SIGTERM)
        # An engine binds its data onto itself, and one that was killed leaves that.
        data = str(self.root / "data")
        while f" {data} " in Path("/proc/self/mountinfo").read_text():
            subprocess.run(["umount", data], check=True, timeout=WAIT)

    def _end(self, process: subprocess.Popen[bytes] | None, number: signal.Signals) -> None:
        if process and process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.send_signal(number)
            process.wait(WAIT)

    def _spawn(self, *words: object) -> subprocess.Popen[bytes]:
        name = str(words[0])
        with (self.root / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                list(map(str, words)), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )


@pytest.fixture
def private_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateEngine]:
    """Needs the marks ``docker`` and ``root``."""
    engine = PrivateEngine(tmp_path_factory.mktemp("e", numbered=True))
    try:
        engine.start()
        yield engine
    finally:
        engine.close()
