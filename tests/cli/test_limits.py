"""Each limit of ``rolewall exec``, reached on purpose: said for what it is, and nothing left."""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from conftest import Cli, Ran, User

MARK = "ROLEWALL_TEST_MARK"
HOG = "x = b'1' * (200 << 20)"

# Everything that may outlive a command: it prints ``ready``, and stays.
STUBBORN = """
import ctypes, os, signal, sys, time
libc = ctypes.CDLL(None, use_errno=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def child(act):
    if os.fork() == 0:
        act()
        while True: time.sleep(60)
def daemon():
    os.setsid()
    if os.fork(): os._exit(0)
def traced():
    libc.ptrace(0, 0, 0, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
child(lambda: None)
child(daemon)
child(lambda: os.kill(os.getpid(), signal.SIGSTOP))
child(traced)
"""
BOMB = """
def bomb():
    while True:
        try: os.fork()
        except OSError: time.sleep(0.01)
child(bomb)
"""
Exec = Callable[..., "Ran"]


def alive(mark: str) -> list[int]:
    """Processes that inherited ``mark``, by the kernel's word and from outside of any box."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                text = Path("/proc", entry, "environ").read_bytes()
            except OSError:
                continue
            if f"{MARK}={mark}".encode() in text.split(b"\0"):
                found.append(int(entry))
    return found


def seen(mark: str, number: int, process: subprocess.Popen[str]) -> list[int]:
    """Wait until so many processes live, or the command has ended."""
    while process.poll() is None:
        if len(found := alive(mark)) >= number:
            return found
        time.sleep(0.02)
    return []


@pytest.fixture
def mark() -> str:
    return secrets.token_hex(8)


@pytest.fixture
def words(user: User, backend: Backend, mark: str) -> Callable[..., tuple[object, ...]]:
    """The words of ``rolewall exec`` with a zone ``workspace`` and the mark."""
    zone = user.directory("zone")

    def make(*more: object) -> tuple[object, ...]:
        return ("-m", "rolewall", "exec", "--backend", backend.name, "--role", "executor",
                "--zone", f"workspace={zone}:write", "--env", f"{MARK}={mark}", *more)  # fmt: skip

    return make


@pytest.fixture
def run(user: User, words: Callable[..., tuple[object, ...]], mark: str) -> Exec:
    """Run to the end, and see that nothing is left."""

    def ended(*more: object) -> Ran:
        done = user.python(*words(*more))
        assert alive(mark) == []
        return done

    return ended


def said(done: Ran) -> list[str]:
    return [line for line in done.err.splitlines() if line.startswith("rolewall: ")]


def grouped(user: User, backend: Backend) -> bool:
    """Whether the box has control groups of its own: else the limits are rlimits."""
    return user.uid == 0 or backend.name == "docker"


@pytest.mark.pain(1)
def test_when_time_is_over_nothing_is_left(
    user: User, words: Callable[..., tuple[object, ...]], mark: str
) -> None:
    program = STUBBORN + BOMB + "os.kill(os.getpid(), signal.SIGSTOP)"
    process = user.process(words("--timeout", "3", "--pids", "24", "--", "python3", "-c", program))
    living = seen(mark, 6, process)
    assert len(living) >= 6, process.communicate(timeout=60)
    out, err = process.communicate(timeout=60)
    assert alive(mark) == []
    assert process.returncode == 124, out + err
    assert "rolewall: the command was ended after 3 s (--timeout)" in err.splitlines()


def test_a_command_that_takes_too_much_memory(run: Exec, user: User, backend: Backend) -> None:
    done = run("--memory-mb", "64", "--", "python3", "-c", HOG)
    if grouped(user, backend):
        assert done.code == 137
        assert said(done) == [
            "rolewall: the kernel killed the command beyond 64 MiB of memory (--memory-mb);"
            " 137 is its own code"
        ]
    else:
        assert (done.code, said(done)) == (1, [])
        assert "MemoryError" in done.err


def test_a_child_that_takes_too_much_memory(run: Exec, user: User, backend: Backend) -> None:
    # Each takes less than the limit; only both together take more.
    hold = "import time; x = b'1' * (40 << 20); time.sleep(3)"
    script = f'python3 -c "{hold}" & a=$!; python3 -c "{hold}" & wait $a; echo $?; wait $!; echo $?'
    done = run("--memory-mb", "64", "--", "bash", "-c", script)
    assert done.code == 0, done.err
    if grouped(user, backend):
        assert "137" in done.out.split()
        (line,) = said(done)
        assert "the kernel killed" in line and "beyond 64 MiB of memory (--memory-mb)" in line
    else:
        assert (done.out, said(done)) == ("0\n0\n", [])


def test_no_more_processes_than_are_allowed(run: Exec, user: User, backend: Backend) -> None:
    count = (
        "import os, time\nn, reason = 1, ''\n"
        "while not reason:\n"
        "    try:\n"
        "        if os.fork() == 0: time.sleep(60)\n"
        "        n += 1\n"
        "    except OSError as error: reason = error.strerror\n"
        "print(n, reason)"
    )
    done = run("--pids", "16", "--", "python3", "-c", count)
    number, _, reason = done.out.strip().partition(" ")
    assert (done.code, reason) == (0, "Resource temporarily unavailable")
    if grouped(user, backend):
        assert int(number) == 16
        assert said(done) == ["rolewall: a process beyond 16 was refused once (--pids)"]
    else:  # init is one of the user's
        assert int(number) == 15
        assert said(done) == []


def test_a_box_has_no_more_of_a_core_than_is_allowed(
    user: User, backend: Backend, words: Callable[..., tuple[object, ...]], mark: str
) -> None:
    spin = "while :; do :; done"
    process = user.process(words("--cpus", "0.05", "--timeout", "4", "--", "sh", "-c", spin))
    (pid,) = seen(mark, 1, process) or [0]
    assert pid, process.communicate(timeout=60)
    groups = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    mine = Path("/proc/self/cgroup").read_text().splitlines()
    found, throttled = quota(groups), 0
    while process.poll() is None and grouped(user, backend):
        throttled = max(throttled, stat_of(groups, "nr_throttled"))
        time.sleep(0.05)
    process.communicate(timeout=60)
    assert process.returncode == 124
    if grouped(user, backend):
        assert found == 0.05
        assert throttled > 0
    else:
        assert groups == mine, "a box without groups of its own lives in its harness's"


def group_of(groups: list[str]) -> Path:
    """The directory that counts the cores of a process."""
    for line in groups:
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            return Path("/sys/fs/cgroup/cpu", path.lstrip("/"))
    return Path("/sys/fs/cgroup", groups[0].split(":", 2)[2].lstrip("/"))


def quota(groups: list[str]) -> float | None:
    place = group_of(groups)
    try:
        if (place / "cpu.max").exists():
            most, period = (place / "cpu.max").read_text().split()
        else:
            most = (place / "cpu.cfs_quota_us").read_text()
            period = (place / "cpu.cfs_period_us").read_text()
        return int(most) / int(period)
    except (OSError, ValueError):
        return None


def stat_of(groups: list[str], name: str) -> int:
    try:
        lines = (group_of(groups) / "cpu.stat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.split()[0] == name), 0)


HELD = """
import os
held = []
for n in range(4000):
    held.append(os.open('/workspace/x', os.O_RDWR | os.O_CREAT))
    os.unlink('/workspace/x')
    os.write(held[-1], bytes(1 << 20))
"""
FILLS = {
    # All of it would be 4 GB, and does not mind being asked to end.
    "at full speed": (10, "for k in 1 2 3 4; do (n=0; while [ $n -lt 130 ]; do n=$((n+1));"
    " head -c 8m /dev/zero > $k-$n; done) & done; wait"),
    "in empty files": (1, "python3 -c \"for n in range(1 << 20): open(str(n), 'w').close()\""),
    "with no name": (10, f'python3 -c "{HELD}"'),
}  # fmt: skip


@pytest.mark.parametrize("fill", FILLS)
def test_a_command_that_fills_a_shared_zone(run: Exec, user: User, fill: str) -> None:
    most, script = FILLS[fill]
    script = f"trap '' TERM; cd /workspace; {script}; touch all-was-written"
    done = run("--disk-mb", most, "--", "sh", "-c", script)
    assert done.code == 124, done.err
    assert said(done) == [
        f"rolewall: the command was ended: its zones grew by more than {most} MiB (--disk-mb)"
    ]
    assert not (user.home / "zone" / "all-was-written").exists()


WITHIN = """
for d in /tmp /home /dev/shm; do
    head -c 9m /dev/zero > $d/x; head -c 9m /dev/zero > $d/y && echo $d has no end
done
cd /workspace
head -c 9m /dev/zero > a; rm a; head -c 9m /dev/zero > b; rm b
truncate -s 9m sparse; for n in 1 2 3 4 5; do cp sparse s$n; done
truncate -s 10m longest && truncate -s 11m longer && echo a file has no end; wc -c < longest
sleep 0.3; kill -9 $$
"""


def test_a_command_that_keeps_within_its_limits(run: Exec) -> None:
    """Private zones and single files refuse what is too much; nobody is ended for that."""
    done = run("--memory-mb", "64", "--disk-mb", "10", "--", "sh", "-c", WITHIN)
    assert (done.code, said(done)) == (137, []), "its own signal"
    assert done.out == f"{10 << 20}\n"
    assert done.err.count("No space left on device") == 3
    assert done.err.count("File size limit exceeded") == 1


def peak(pid: int) -> int:
    """The most memory that a process has ever held, in KiB. Unlike ``ru_maxrss`` it does
    not begin with what held the process that started it."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


@pytest.mark.pain(3)
def test_output_without_end_is_passed_on_whole_and_kept_nowhere(
    user: User, words: Callable[..., tuple[object, ...]], backend: Backend
) -> None:
    script = "head -c 200m /dev/zero; sleep 1"
    argv = [*user.command, *map(str, words("--", "sh", "-c", script))]
    who = {"user": user.uid, "group": user.uid, "extra_groups": user.groups}
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=user.home,
        env=user.env,
        **(who if user.uid else {}),  # type: ignore[call-overload]
    )
    size = most = 0
    with process.stdout as stream:
        while block := stream.read(1 << 20):
            size += len(block)
            if size == 200 << 20:
                most = peak(process.pid)
    assert (process.wait(timeout=60), size) == (0, 200 << 20)
    assert 0 < most < 150 * 1024, "KiB; what passes through is not kept"


@pytest.mark.pain(1)
def test_time_is_over_though_nobody_reads(
    user: User, words: Callable[..., tuple[object, ...]], mark: str
) -> None:
    process = user.process(words("--timeout", "1", "--", "sh", "-c", "trap '' TERM; yes; yes"))
    assert seen(mark, 1, process)
    process.wait(timeout=60)
    assert alive(mark) == []
    out, err = process.communicate(timeout=60)
    assert process.returncode == 124, err
    assert set(out.split("\n")[:-1]) == {"y"}


@pytest.mark.pain(1)
def test_a_command_that_ended_waits_for_its_reader_no_longer_than_its_time(
    user: User, words: Callable[..., tuple[object, ...]]
) -> None:
    script = "head -c 100000 /dev/zero"
    process = user.process(words("--timeout", "3", "--", "sh", "-c", script))
    process.wait(timeout=60)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 124 and "after 3 s (--timeout)" in err, err
    assert 0 < len(out) < 100_000
    done = user.python(*words("--timeout", "60", "--", "sh", "-c", script))
    assert (done.code, len(done.out)) == (0, 100_000), "the twin: with a reader"


LEFT = f"""
echo a
python3 -c '{STUBBORN}' & setsid sh -c 'exec cat /dev/zero' >&2 &
sleep 1
exit 3
"""
STREAMS = {
    "closed": ("exec <&- >&- 2>&-; sleep 0.2; exit 5", 5, ""),
    "left to daemons": (LEFT, 3, "a\n"),
}


@pytest.mark.pain(1)
@pytest.mark.pain(18)
@pytest.mark.parametrize("how", STREAMS)
def test_streams_that_a_command_treats_oddly(run: Exec, how: str) -> None:
    script, code, out = STREAMS[how]
    done = run("--timeout", "60", "--", "sh", "-c", script)
    assert (done.code, done.out) == (code, out), done.err[:200]


@pytest.mark.pain(18)
def test_input_that_is_not_read(cli: Cli, backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "zone").mkdir()
    done = cli("exec", "--backend", backend.name, "--role", "a", "--zone",
               f"workspace={tmp_path / 'zone'}:read", "--", "sh", "-c", "echo out; exit 6",
               stdin="x" * 3_000_000)  # fmt: skip
    assert (done.code, done.out) == (6, "out\n")
