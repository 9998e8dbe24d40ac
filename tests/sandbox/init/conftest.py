"""Boxes with ``rolewall-init`` as pid 1 and nothing else of the harness."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rolewall.sandbox.bubblewrap import find_bwrap
from rolewall.sandbox.channel import Channel, NotStarted
from rolewall.sandbox.init import init_path

ROLE, SELF, ORDINARY = 2046820352, 2046820353, 64101
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}
# An ordinary user may not reach the interpreter that runs the tests.
PYTHON = shutil.which("python3", path=ENV["PATH"]) or str(Path(sys.base_prefix, "bin", "python3"))
WAIT = 20.0


@dataclass
class InitBox:
    """A box with init in it, and the far ends of one command's streams."""

    channel: Channel
    raw: socket.socket
    process: subprocess.Popen[bytes]
    uid: int
    init_uid: int
    pid: int = 0
    env: dict[str, str] = field(default_factory=lambda: dict(ENV))
    rlimits: dict[int, tuple[int, int]] = field(default_factory=dict)

    def run(self, *argv: str, cwd: str = "/", stdin: bytes = b"") -> tuple[int, bytes, bytes]:
        begun, out, err = self.begin(*argv, cwd=cwd, stdin=stdin)
        assert isinstance(begun, int), begun
        code = self.channel.poll_exit(WAIT)
        assert code is not None
        return code, self.read(out), self.read(err)

    def begin(
        self, *argv: str, cwd: str = "/", stdin: bytes = b""
    ) -> tuple[int | NotStarted, int, int]:
        (child_in, feed), (out, child_out), (err, child_err) = (os.pipe() for _ in range(3))
        os.write(feed, stdin)
        os.close(feed)
        try:
            begun = self.channel.start(
                argv,
                cwd=cwd,
                env=self.env,
                rlimits=self.rlimits,
                stdin=child_in,
                stdout=child_out,
                stderr=child_err,
            )
        except BaseException:
            os.close(out)
            os.close(err)
            raise
        finally:
            for descriptor in (child_in, child_out, child_err):
                os.close(descriptor)
        return begun, out, err

    def script(self, code: str, *arguments: str) -> tuple[str, ...]:
        return (PYTHON, "-I", "-c", code, *arguments)

    def probe(self, *zones: str) -> dict[str, Any]:
        arguments = [word for zone in zones for word in ("--zone", zone)]
        code, out, err = self.run("/rolewall/init", "probe", *arguments)
        assert (code, err) == (0, b"")
        facts = json.loads(out)
        assert isinstance(facts, dict)
        return facts

    def left(self) -> list[int]:
        """Who is in the box besides init and the probe."""
        return sorted(self.probe()["pids"])[1:-1]

    @property
    def own(self) -> str:
        return f"{self.uid}:{self.uid}"

    def read(self, descriptor: int) -> bytes:
        """What a finished command left in its pipe; a daemon may still hold the other end."""
        os.set_blocking(descriptor, False)
        data = b""
        try:
            while block := os.read(descriptor, 65536):
                data += block
        except BlockingIOError:
            pass
        os.close(descriptor)
        return data


def layout(binary: Path) -> list[str]:
    words = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    words += ["--as-pid-1", "--die-with-parent", "--clearenv", "--ro-bind", "/usr", "/usr"]
    if not PYTHON.startswith(("/usr/", "/bin/")):
        words += ["--ro-bind", sys.base_prefix, sys.base_prefix]
    for name in ("bin", "lib", "lib64", "sbin"):
        if Path("/", name).is_symlink():
            words += ["--symlink", f"usr/{name}", f"/{name}"]
    words += ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/tmp"]
    for directory in ("/rolewall", "/rolewall/bin"):
        words += ["--perms", "0755", "--dir", directory]
    words += ["--ro-bind", str(binary), "/rolewall/init"]
    words += ["--ro-bind", str(binary), "/rolewall/bin/rolewall-check"]
    words += ["--dir", "/ro", "--dir", "/rw", "--symlink", "rw", "/link"]
    return [*words, "--remount-ro", "/", "--chdir", "/"]


def command(mode: str, binary: Path, control: int) -> tuple[list[str], int]:
    """The command line that starts the box, and the uid its role has."""
    bwrap = str(find_bwrap())
    serve = ["/rolewall/init", "serve", "--control", f"fd:{control}"]
    if mode == "root":
        caps = [w for c in ("SETUID", "SETGID", "KILL") for w in ("--cap-add", f"CAP_{c}")]
        serve += ["--role", f"{ROLE}:{ROLE}", "--self", f"{SELF}:{SELF}"]
        return [bwrap, *layout(binary), "--cap-drop", "ALL", *caps, "--", *serve], ROLE
    become = []
    uid, gid = os.getuid(), os.getgid()
    if uid == 0:
        uid = gid = ORDINARY
        become = ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]
    serve += ["--role", f"{uid}:{gid}"]
    return [*become, bwrap, "--unshare-user", *layout(binary), "--", *serve], uid


@pytest.fixture(scope="module")
def binary() -> Iterator[Path]:
    """Init where an ordinary user can reach it."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(shutil.copy(init_path(), Path(name, "rolewall-init")))


def launch(mode: str, binary: Path) -> InitBox:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    argv, uid = command(mode, binary, theirs.fileno())
    process = subprocess.Popen(argv, pass_fds=[theirs.fileno()])
    theirs.close()
    init_uid = SELF if mode == "root" else uid
    return InitBox(Channel(ours), ours, process, uid, init_uid)


@pytest.fixture(params=[pytest.param("root", marks=pytest.mark.root), "user"])
def box(request: pytest.FixtureRequest, binary: Path) -> Iterator[InitBox]:
    yield from running(request.param, binary)


@pytest.fixture
def root_box(binary: Path) -> Iterator[InitBox]:
    yield from running("root", binary)


def running(mode: str, binary: Path) -> Iterator[InitBox]:
    box = launch(mode, binary)
    try:
        box.pid = box.channel.hello(WAIT).pid
        yield box
    finally:
        box.channel.close()
        box.process.wait(WAIT)


@pytest.fixture
def root_command(binary: Path) -> Callable[[int], list[str]]:
    """The command line of a root box, given the descriptor of its control socket."""
    return lambda control: command("root", binary, control)[0]
