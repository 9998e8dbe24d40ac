"""What one box reaches of another, and of the host: nothing, though outside it is all there."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from conftest import Ran, User

pytestmark = pytest.mark.root

SCRIPT = Path(__file__).with_name("across.py")
SECONDS = 60.0
# The kernel's or the tap's words for "there is none" and "not you". 127 is no such word:
# whatever else comes back is a fault of the test.
REFUSED = {"ESRCH", "EPERM", "ENOENT", "ECONNREFUSED", "EACCES", "ENOSYS"}


@pytest.fixture
def top(user: User) -> Path:
    """A directory that victim and attacker can read: what is attacked is no file of it."""
    found = user.directory("top")
    shutil.copy(SCRIPT, found)
    return user.give(found)


def boxed(backend: Backend, role: str, top: Path, access: str, *argv: object) -> list[object]:
    command = ["-m", "rolewall", "exec", "--backend", backend.name, "--role", role]
    return [*command, "--zone", f"top={top}:{access}", "--", *argv]


@contextmanager
def victim(user: User, top: Path, *start: object) -> Iterator[str]:
    """A victim, ready; its token."""
    token = f"rolewall-{secrets.token_hex(8)}"
    with user.process((*start, "victim", token, "/top" if start[0] == "-m" else top)) as process:
        try:
            _until(lambda: (top / "found.json").exists() or process.poll() is not None)
            assert process.poll() is None, process.communicate()
            yield token
        finally:
            (top / "over").touch()
            process.communicate(timeout=SECONDS)
    assert process.returncode == 0


def _until(condition: Any) -> None:
    until = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def outcomes(done: Ran) -> dict[str, str]:
    assert done.code == 0, done.err
    found = done.json
    assert isinstance(found, dict) and len(found) > 20
    return found


def attacked(user: User, backend: Backend, top: Path) -> dict[str, str]:
    inside = boxed(backend, "verifier", top, "read", "python3", "/top/across.py", "attack", "/top")
    return outcomes(user.python(*inside))


def test_a_process_of_the_host_is_out_of_reach(backend: Backend, user: User, top: Path) -> None:
    with victim(user, top, top / "across.py"):
        inside = attacked(user, backend, top)
        outside = outcomes(user.python(top / "across.py", "attack", top))
    assert {name for name, end in inside.items() if end not in REFUSED} == set(), inside
    assert {name for name, end in outside.items() if end != "reached"} == set(), outside


def test_another_role_s_box_is_out_of_reach(backend: Backend, user: User, top: Path) -> None:
    """Its twin is an attack in the very box of the victim."""
    both = "python3 /top/across.py victim $1 /top & python3 /top/across.py attack /top >/top/twin"
    script = boxed(backend, "executor", top, "write", "sh", "-c", f"{both}; wait")
    with victim(user, top, *script):
        _until(lambda: (top / "twin").exists() and (top / "twin").read_text().endswith("\n"))
        twin = json.loads((top / "twin").read_text())
        inside = attacked(user, backend, top)
    assert {name for name, end in inside.items() if end not in REFUSED} == set(), inside
    denied = {"a descriptor of its own", "memory, write", "user keyring"}  # in every box
    assert {name for name, end in twin.items() if end != "reached"} <= denied, twin


def test_everything_of_a_command_is_killed_and_nothing_else(
    backend: Backend, user: User, top: Path
) -> None:
    """kill(-1) means every process that one may signal: in a box, its own but init."""
    code = "import os, time; os.kill(-1, 9); time.sleep(60)"
    inside = boxed(backend, "executor", top, "read", "sh", "-c", f"python3 -c '{code}'; exit 3")
    with victim(user, top, top / "across.py"):
        assert user.python(*inside).code == 128 + signal.SIGKILL
        outside = outcomes(user.python(top / "across.py", "attack", top))
    assert outside["signal"] == "reached"


LINGER = """
import fcntl, os, sys
ready, done = os.pipe()
if os.fork():
    sys.exit(os.read(ready, 1) != b"1")
os.setsid()
kept = [os.open("work", os.O_RDONLY) for _ in range(2)]
fcntl.flock(kept[0], fcntl.LOCK_EX)
fcntl.lockf(os.open("work", os.O_RDWR), fcntl.LOCK_EX)
fcntl.fcntl(os.open("leased", os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)
for stream in range(3):
    os.dup2(os.open(os.devnull, os.O_RDWR), stream)
with open("pid", "w") as file:
    file.write(str(os.getpid()))
os.write(done, b"1")
import time
time.sleep(300)
"""


def test_a_lock_or_lease_does_not_outlive_its_command(
    backend: Backend, user: User, top: Path
) -> None:
    """A process that lingers keeps the next role from a file, though it changes none."""
    for name in ("work", "leased"):
        (top / name).touch()
    user.give(top)
    left = ("python3", "-c", f"import os; os.chdir('/top')\n{LINGER}")
    assert user.python(*boxed(backend, "executor", top, "write", *left)).code == 0
    assert held(top) == []
    (top / "pid").unlink()
    outside = user.python("-c", f"import os; os.chdir({str(top)!r})\n{LINGER}")
    try:
        assert outside.code == 0, outside.err
        assert held(top) == ["flock", "record lock", "lease"]
    finally:
        os.kill(int((top / "pid").read_text()), signal.SIGKILL)


def held(top: Path) -> list[str]:
    """What somebody holds of the files."""
    found = []
    with (top / "work").open("r+") as file:
        for name, lock in (("flock", fcntl.flock), ("record lock", fcntl.lockf)):
            try:
                lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                found.append(name)
    try:
        os.close(os.open(top / "leased", os.O_WRONLY | os.O_NONBLOCK))
    except BlockingIOError:
        found.append("lease")
    return found


TRACED = """
import ctypes, os, signal, sys
signal.signal(signal.SIGUSR1, lambda *_: print("handled", flush=True))
if sys.argv[1] == "traced":
    assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0
os.kill(os.getpid(), signal.SIGUSR1)
print("went on", flush=True)
sys.exit(7)
"""


@pytest.mark.parametrize("how", ["traced", "plain"])
def test_a_command_that_makes_init_its_tracer_goes_on(
    backend: Backend, user: User, top: Path, how: str
) -> None:
    """It would wait for init at its next signal, and be taken for one that has ended."""
    inside = boxed(backend, "verifier", top, "read", "python3", "-c", TRACED, how)
    done = user.python(*inside)
    assert (done.code, done.out) == (7, "handled\nwent on\n")


TERMINAL = """
import errno, fcntl, json, os, termios
def end(do):
    try:
        do()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "reached"
tries = {"/dev/tty": lambda: os.open("/dev/tty", os.O_RDWR)}
for stream in range(3):
    tries[f"{stream}"] = lambda stream=stream: termios.tcgetattr(stream)
def name(do):
    try:
        return do()
    except termios.error as error:
        raise OSError(*error.args)
print(json.dumps({key: end(lambda: name(do)) for key, do in tries.items()}))
"""


def test_the_terminal_of_the_harness_is_out_of_reach(
    backend: Backend, user: User, top: Path
) -> None:
    """Whoever holds a terminal can type into it what the next shell runs (TIOCSTI)."""
    inside = on_a_terminal(user, boxed(backend, "verifier", top, "read", "python3", "-c", TERMINAL))
    assert set(inside.values()) <= {"ENXIO", "ENOTTY", "ENOENT", "ENODEV"}, inside
    outside = on_a_terminal(user, ["-c", TERMINAL])
    assert set(outside.values()) == {"reached"}


def on_a_terminal(user: User, argv: list[object]) -> dict[str, str]:
    """What Python prints in a session that has a terminal."""
    start = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
    done = user.python("-c", start, user.command[0], *argv)
    assert done.code == 0, done.out + done.err
    found = json.loads(done.out.strip().splitlines()[-1])
    assert isinstance(found, dict)
    return found
