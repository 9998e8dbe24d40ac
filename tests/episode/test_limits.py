"""Each limit of a phase, reached on purpose: the record says which, and nothing is left."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import secrets
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from conftest import Studio, User

MIB = 1 << 20
MARK = "LIMITS_TEST_MARK"


@dataclass(frozen=True)
class Stage:
    """One run of one episode by one user, through the command line."""

    user: User
    backend: Backend
    studio: Studio

    @property
    def grouped(self) -> bool:
        """Whether boxes have control groups of their own: else the limits are rlimits."""
        return self.user.uid == 0 or self.backend.name == "docker"

    def start(self, limits: dict[str, Any], **roles: object) -> subprocess.Popen[str]:
        team = self.studio.team(**roles)
        asked = json.loads(team.read_text())
        asked["limits"] |= limits
        team.write_text(json.dumps(asked))
        task = self.studio.task()
        self.user.give(self.studio.path)
        words = ("run", team, "--tasks", task, "--backend", self.backend.name, "-o", self.run)
        return self.user.process(("-m", "rolewall", *words))

    @property
    def run(self) -> Path:
        return self.user.home / "run"

    def end(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        """Wait for the run; the record of its episode, which no limit has made an error."""
        _, err = process.communicate(timeout=200)
        assert process.returncode == 0, err
        record = json.loads((self.directory / "episode.json").read_text())
        assert record["status"] == "complete"
        return record  # type: ignore[no-any-return]

    @property
    def directory(self) -> Path:
        (found,) = (self.run / "episodes").iterdir()
        return found

    def steps(self, name: str) -> list[dict[str, Any]]:
        lines = (self.directory / "transcripts" / f"{name}.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture
def stage(user: User, backend: Backend, studio: Studio) -> Stage:
    return Stage(user, backend, dataclasses.replace(studio, path=user.directory("studio")))


def alive(*marks: str) -> list[int]:
    """Processes that bear a mark in their environment or arguments, seen from outside."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and any(mark.encode() in _about(entry) for mark in marks):
            found.append(int(entry))
    return found


def _about(pid: str) -> bytes:
    try:
        return b"".join(Path("/proc", pid, name).read_bytes() for name in ("environ", "cmdline"))
    except OSError:
        return b""


FORKS = """
import os, time
started = []
while True:
    try: pid = os.fork()
    except OSError as error: break
    if pid == 0: time.sleep(60)
    started.append(pid)
for pid in started:
    os.kill(pid, 9)
    os.wait()
print(len(started))
"""
SPIN = "for n in 1 2 3 4; do timeout 2 sh -c 'while :; do :; done' & done; wait"
HOG = "x = b'1' * (200 << 20)"


def test_limits_that_were_met_are_counted(stage: Stage) -> None:
    executor = {
        "steps": [
            {"run": f'exec python3 -c "{FORKS}"'},
            {"run": SPIN},
            {"run": f'python3 -c "{HOG}"'},
            {"run": "true"},
        ]
    }
    verifier = {"command": ["python3", "-c", HOG]}
    limits = {"memory_mb": 64, "pids": 24, "cpus": 0.05, "disk_mb": 100}
    record = stage.end(stage.start(limits, executor=executor, verifier=verifier))
    worked, judged = record["phases"]
    forks, _, hog, last = stage.steps("00-executor")
    assert forks["stdout"]["text"] == ("23\n" if stage.grouped else "22\n")
    assert (worked["outcome"], last["returncode"]) == ("done", 0)
    assert (record["verdict"], record["grade"]) == ("missing", "fail")
    said = worked["box"]["limits"]
    assert said["disk_mb"] == (
        "tmpfs, 16 MiB a private zone; rlimit, 100 MiB a file; "
        "measured while commands run, 100 MiB of growth of all shared zones"
    )
    if stage.grouped:
        assert said["memory_mb"] == "cgroup, 64 MiB"
        assert said["pids"] == "cgroup, 25 processes with init"
        assert said["cpus"] == "cgroup, 0.05 cores"
        met = worked["box"]["limits_hit"]
        assert (met["memory_mb"], met["pids"]) == (1, 1) and met["cpus"] > 0
        assert (hog["returncode"], hog["out_of_memory"]) == (137, True)
        assert (judged["outcome"], judged["returncode"]) == ("memory", 137)
        assert judged["box"]["limits_hit"]["memory_mb"] == 1
        assert judged["box"]["limits_hit"]["pids"] == 0
        shown = stage.user.cli("show", stage.run, "add-one").out
        assert shown.count("limits met: 1 killed (memory_mb), 1 not started (pids)\n") == 1
        assert shown.count("limits met: 1 killed (memory_mb)\n") == 1
    else:
        assert said["memory_mb"] == "rlimit, 64 MiB of private memory a process"
        assert said["pids"] == "rlimit, 24 processes of this user in the user namespace"
        assert said["cpus"] == "not enforced, 0.05 cores"
        assert worked["box"]["limits_hit"] == {}
        assert (hog["returncode"], hog["out_of_memory"]) == (1, False)
        assert "MemoryError" in hog["stderr"]["text"]
        assert (judged["outcome"], judged["returncode"]) == ("failed", 1)


# Ignores the request to end, forks away, and stops itself.
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for n in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        if n == 1: os.kill(os.getpid(), signal.SIGSTOP)
        while True: time.sleep(60)
os.kill(os.getpid(), signal.SIGSTOP)
while True: time.sleep(60)
"""


@pytest.mark.pain(1)
@pytest.mark.pain(10)
def test_a_phase_whose_time_is_over_is_gone_before_the_next(stage: Stage) -> None:
    first, second, checked = (secrets.token_hex(8) for _ in range(3))
    executor = {"command": ["python3", "-c", STUBBORN], "env": {MARK: first}}
    check = ["rolewall-check", "--", "sh", "-c", f"trap '' TERM; sleep 300; : {checked}"]
    verifier = {"command": check, "env": {MARK: second}}
    process = stage.start({"phase_seconds": 3}, executor=executor, verifier=verifier)
    most, together, in_check_box = 0, 0, 0
    while process.poll() is None:
        most = max(most, len(workers := alive(first)))
        if alive(second):
            together = max(together, len(workers))
        in_check_box = max(in_check_box, len(alive(checked)))
        time.sleep(0.05)
    record = stage.end(process)
    assert most >= 4 and in_check_box >= 1
    assert together == 0
    assert alive(first, second, checked) == []
    assert [phase["outcome"] for phase in record["phases"]] == ["timeout", "timeout"]
    assert record["verdict"] == "missing"


def test_room_on_disk(stage: Stage) -> None:
    fill = "n=0; while [ $n -lt 500 ]; do n=$((n+1)); head -c 4m /dev/zero > /{}/$n; done"
    executor = {"steps": [{"run": fill.format("report")}, {"run": "touch /workspace/later"}]}
    verifier = {"steps": [{"id": "c", "check": fill.format("workspace")}], "verdict": "reject"}
    record = stage.end(stage.start({"disk_mb": 10}, executor=executor, verifier=verifier))
    worked, judged = record["phases"]
    assert worked["outcome"] == "disk"
    (step,) = stage.steps("00-executor")
    assert (step["disk_full"], step["timed_out"]) == (True, False)
    (check,) = stage.steps("01-verifier")
    assert check["returncode"] == 137
    assert "the command outgrew its disk and was ended" in check["stderr"]["text"]
    assert (judged["outcome"], record["verdict"]) == ("done", "reject")


@pytest.mark.pain(3)
def test_output_that_is_cut_is_counted_in_full(stage: Stage) -> None:
    flood = "echo first; head -c 70m /dev/zero | tr '\\0' x; echo last; echo error >&2"
    executor = {"command": ["sh", "-c", flood]}
    step = "echo {0}-first; head -c 2m /dev/zero | tr '\\0' {0}; echo {0}-last"
    verifier = {"steps": [{"run": step.format("a")}, {"run": step.format("b")}]}
    record = stage.end(stage.start({}, executor=executor, verifier=verifier))
    assert stage.user.cli("audit", stage.run).code == 0
    transcripts = stage.directory / "transcripts"
    (line,) = stage.steps("00-executor")
    out = line["stdout"]
    assert out["bytes"] == 70 * MIB + len("first\nlast\n")
    assert (out["truncated"], out["file_truncated"], out["file_offset"]) == (True, True, 0)
    assert out["text"].startswith("first\nxxx") and out["text"].endswith("xxxlast\n")
    assert len(out["text"]) == MIB
    assert (transcripts / "00-executor.stdout").stat().st_size == 64 * MIB
    assert (transcripts / "00-executor.stderr").read_text() == "error\n"
    assert line["stderr"] | {"text": ""} == {
        "text": "", "bytes": 6, "truncated": False, "file_offset": 0, "file_truncated": False
    }  # fmt: skip
    whole = (transcripts / "01-verifier.stdout").read_bytes()
    at = 0
    for name, line in zip("ab", stage.steps("01-verifier"), strict=True):
        out, text = line["stdout"], f"{name}-first\n{name * 2 * MIB}{name}-last\n".encode()
        assert (out["file_offset"], out["bytes"]) == (at, len(text))
        assert (out["truncated"], out["file_truncated"]) == (True, False)
        assert whole[at : at + len(text)] == text
        at += len(text)
    assert at == len(whole)
    sealed = record["phases"][1]["transcript_sha256"]
    assert sealed["01-verifier.stdout"] == hashlib.sha256(whole).hexdigest()


# Memory that belongs to no process: the kernel frees none by killing, until init is left.
STARVE = """
import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
while True:
    place = libc.shmat(libc.shmget(0, 1 << 20, 0o1600), None, 0)
    ctypes.memset(place, 1, 1 << 20)
    libc.shmdt(ctypes.c_void_p(place))
"""


@pytest.mark.root
def test_a_role_that_starves_its_box_has_failed_and_made_no_error(
    root: User, backend: Backend, studio: Studio
) -> None:
    stage = Stage(root, backend, studio)
    fill = "for n in 1 2 3 4 5 6 7 8; do for d in /tmp /home /dev/shm; do "
    fill += "head -c 2m /dev/zero > $d/$n & done; done; wait"
    starve = {"run": f'echo begun; exec python3 -c "{STARVE}"'}
    more = [{"run": "head -c 20m /dev/zero | tail -c 19m | wc -c"}] * 4
    executor = {"steps": [starve, {"run": fill}, *more]}
    verifier = {"verdict": "reject"}
    record = stage.end(stage.start({"memory_mb": 48}, executor=executor, verifier=verifier))
    (worked, judged), steps = record["phases"], stage.steps("00-executor")
    assert steps[0]["stdout"]["text"] == "begun\n"
    assert (steps[0]["returncode"], steps[0]["out_of_memory"]) == (137, True)
    assert (judged["outcome"], record["grade"]) == ("done", "fail")
    assert worked["box"]["limits_hit"]["memory_mb"] > 1
    # How much is left for init decides whether the box ends with its processes.
    assert worked["outcome"] in (("memory",) if len(steps) < 6 else ("memory", "done"))
