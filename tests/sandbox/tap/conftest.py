"""A box small enough to test the tap alone: bubblewrap's mounts, the filter, a supervisor."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rolewall.errors import TapError
from rolewall.policies import Access, Attempt, View, ViewZone, read_ledger
from rolewall.sandbox.bubblewrap import find_bwrap
from rolewall.sandbox.tap import Supervisor, Watch, WatchSpec, WatchSummary, build_filter

# A Python that is the system's own is where the system has it, so that programs keep
# their paths; any other is shown at a path of its own.
PREFIX = Path(sys.base_prefix).resolve()
OWN = [] if PREFIX.is_relative_to("/usr") else ["--ro-bind", str(PREFIX), "/python"]
PYTHON = f"{'/python' if OWN else PREFIX}/bin"
INSIDE = Path(__file__).with_name("inside.py").read_text()
ROLE_UID = 64_999 if os.getuid() == 0 else os.getuid()


def view(writable: bool) -> View:
    workspace = Access.WRITE if writable else Access.READ
    return View(
        "verifier",
        (
            ViewZone("spec", "harness", Access.HIDDEN),
            ViewZone("workspace", "executor", workspace),
            ViewZone("verdict", "verifier", Access.WRITE),
            ViewZone("tmp", "verifier", Access.WRITE, private=True),
        ),
    )


class TapBox:
    """A box with ``/workspace`` (executor's) and ``/verdict`` (the role's own)."""

    def __init__(
        self,
        folder: Path,
        tap: Supervisor,
        writable: bool,
        budget: int,
        *,
        ledger: Path | None = None,
        begin: bool = True,
    ) -> None:
        self.workspace, self.ledger = folder / "workspace", ledger or folder / "audit.jsonl"
        fill(folder)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(60)
        with theirs:
            self._process = subprocess.Popen(
                command(folder, writable, theirs.fileno()), pass_fds=[theirs.fileno()]
            )
        _, (listener,), _, _ = socket.recv_fds(self._control, 100, 1)
        spec = WatchSpec("verifier", 2, view(writable), self.ledger, ROLE_UID, budget)
        try:
            self.watch: Watch = tap.watch(listener, spec)
        except TapError:
            self.close()
            raise
        if begin:
            self.watch.begin()

    def run(self, *argv: str) -> tuple[int, str]:
        self._control.send(json.dumps(argv).encode())
        code, output = json.loads(self._control.recv(1 << 18))
        return code, output

    def python(self, code: str) -> tuple[int, str]:
        return self.run("python3", "-I", "-c", code)

    def close(self) -> None:
        self._control.close()
        self._process.wait(20)

    def finish(self) -> tuple[WatchSummary, list[dict[str, Any]]]:
        self.close()
        return self.watch.finish(), list(read_ledger(self.ledger))

    def attempts(self) -> list[Attempt]:
        _, lines = self.finish()
        return [Attempt.from_line(line) for line in lines if line["type"] == "attempt"]


def fill(folder: Path) -> None:
    workspace = folder / "workspace"
    workspace.mkdir()
    (folder / "verdict").mkdir()
    (workspace / "app.py").write_text("a = 1\n")
    (workspace / "other.py").write_text("b = 2\n")
    if os.getuid() == 0:
        for path in (workspace, folder / "verdict", *workspace.iterdir()):
            os.chown(path, ROLE_UID, ROLE_UID)


def command(folder: Path, writable: bool, control: int) -> list[str]:
    bind = "--bind" if writable else "--ro-bind"
    return [
        str(find_bwrap()), "--unshare-pid", "--unshare-ipc", "--unshare-net", "--die-with-parent",
        "--ro-bind", "/usr", "/usr", *OWN,
        "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
        "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
        "--perms", "1777", "--tmpfs", "/tmp", "--dir", "/etc",
        bind, str(folder / "workspace"), "/workspace",
        "--bind", str(folder / "verdict"), "/verdict", "--remount-ro", "/",
        "--clearenv", "--setenv", "PATH", f"{PYTHON}:/usr/bin", "--setenv", "HOME", "/tmp",
        "--setenv", "PYTHONDONTWRITEBYTECODE", "1",
        f"{PYTHON}/python3", "-I", "-c", INSIDE,
        str(control), str(ROLE_UID), build_filter().hex(),
    ]  # fmt: skip


@pytest.fixture(scope="session")
def tap() -> Iterator[Supervisor]:
    with Supervisor() as supervisor:
        yield supervisor


@pytest.fixture
def open_box(tmp_path: Path, tap: Supervisor) -> Iterator[Callable[..., TapBox]]:
    opened: list[TapBox] = []

    def make(writable: bool = False, budget: int = 20_000, **more: Any) -> TapBox:
        folder = tmp_path / f"box{len(opened)}"
        folder.mkdir()
        opened.append(TapBox(folder, tap, writable, budget, **more))
        return opened[-1]

    yield make
    for box in opened:
        box.close()
        box.watch.close()


@pytest.fixture
def tap_box() -> type[TapBox]:
    return TapBox
