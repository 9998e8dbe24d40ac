"""Looking for what is hidden: seen where reads are observed, although nothing is there to see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall import InputError, enforced, open_sandbox
from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from conftest import Cli, Play, Ran, Studio, User

# way: how to open "/ZONE/WAY" for reading. ``zone`` is hidden, or one that may be read.
WAYS = {
    "open": "os.open(path, os.O_RDONLY)",
    "open-call": "call(OPEN, -100, path.encode(), 0) if OPEN == 56 else call(2, path.encode(), 0)",
    "path-only": "os.open(path, os.O_PATH)",
    "path-no-follow": "os.open(path, os.O_PATH | os.O_NOFOLLOW)",
    "write-flags-in-vain": "os.open(path, os.O_PATH | os.O_RDWR)",
    "no-block": "os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)",
    "python": "open(path)",
    "dots": "os.open('/tmp/../usr/./..//' + path[1:], 0)",
    "relative": "os.chdir('/tmp'), os.open('..' + path, 0)",
    "link": "os.symlink(path, '/tmp/' + way), os.open('/tmp/' + way, 0)",
    "link-to-zone": "os.symlink('/' + zone, '/tmp/' + way), os.open(f'/tmp/{way}/{way}', 0)",
    "link-of-link": (
        "os.symlink('..' + path, '/tmp/first'), os.symlink('first', '/tmp/second'),"
        " os.open('/tmp/second', 0)"
    ),
    "descriptor": "os.open('..' + path, 0, dir_fd=os.open('/tmp', os.O_PATH))",
    "descriptor-of-root": "os.open(path[1:], 0, dir_fd=os.open('/', 0))",
    "proc-self-root": "os.open('/proc/self/root' + path, 0)",
    "proc-pid-root": "os.open(f'/proc/{os.getpid()}/root' + path, 0)",
    "proc-thread-root": "os.open('/proc/thread-self/root' + path, 0)",
    "proc-self-cwd": "os.chdir('/'), os.open('/proc/self/cwd' + path, 0)",
    "proc-self-fd": "os.open(f'/proc/self/fd/{os.open(\"/\", 0)}' + path, 0)",
    "page-end": "call(OPEN, -100, page_end(path), 0)",
    "thread": "in_thread(lambda: os.open(path, 0))",
    "child": "subprocess.run(['cat', path], check=True, capture_output=True)",
}
PROGRAM = """
import concurrent.futures, ctypes, errno, json, mmap, os, subprocess, sys
syscall = ctypes.CDLL(None, use_errno=True).syscall
OPEN = {"x86_64": 257, "aarch64": 56}[os.uname().machine]
memory = mmap.mmap(-1, 2 * mmap.PAGESIZE)
def call(*args):
    found = syscall(*[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if found < 0:
        raise OSError(ctypes.get_errno(), "")
def page_end(path):
    start = mmap.PAGESIZE - 5
    memory[start : start + len(path) + 1] = path.encode() + b"\\0"
    return ctypes.addressof(ctypes.c_char.from_buffer(memory)) + start
def in_thread(function):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()
zone, told = sys.argv[1], {}
for way, how in json.loads(sys.argv[2]).items():
    path = f"/{zone}/{way}"
    try:
        eval(how)
        told[way] = "opened"
    except OSError as error:
        told[way] = errno.errorcode[error.errno]
    except subprocess.CalledProcessError as error:
        told[way] = "ENOENT" if b"No such file" in error.stderr else str(error.stderr)
print(json.dumps(told))
"""


def look(user: User, backend: Backend, zone: str, *options: object) -> tuple[Ran, list[Any]]:
    """Try every way at ``zone``; what was said, and the ledger's lines."""
    public = user.directory("public")
    for way in WAYS:
        (public / way).write_text("public\n")
    user.give(public)
    ledger = user.home / "ledger.jsonl"
    done = user.cli(
        "exec", "--backend", backend.name, "--role", "executor", "--zone", f"public={public}:read",
        "--attempts", ledger, *options, "--", "python3", "-c", PROGRAM, zone, json.dumps(WAYS),
    )  # fmt: skip
    assert done.code == 0, done.err
    return done, [json.loads(line) for line in ledger.read_text().splitlines()]


def peeks(lines: list[Any]) -> list[Any]:
    return [line for line in lines if line.get("kind") == "peek"]


@pytest.mark.pain(9)
def test_every_way_to_look_for_what_is_hidden_is_seen(user: User, backend: Backend) -> None:
    zone = "grader"
    done, lines = look(user, backend, zone, "--observe", "reads")
    assert json.loads(done.out) == dict.fromkeys(WAYS, "ENOENT")
    seen = {path: line for line in peeks(lines) for path in line["paths"]}
    assert set(seen) == {f"/{zone}/{way}" for way in WAYS}
    for line in seen.values():
        assert (line["zone"], line["owner"], line["outcome"]) == (zone, "harness", "blocked")
        assert (line["effect"], line["why"]) == ("read", "zone is hidden")
        assert line["pid"] > 1 and line["exe"].startswith("/")
    assert f"{len(peeks(lines))} peeks at what is hidden (" in done.err


def test_the_same_ways_at_what_may_be_read_open_it_and_are_no_peeks(
    user: User, backend: Backend
) -> None:
    done, lines = look(user, backend, "public", "--observe", "reads")
    assert json.loads(done.out) == dict.fromkeys(WAYS, "opened")
    assert peeks(lines) == []
    read = [line for line in lines if line["type"] == "read" and line["directory"] == "/public"]
    assert sum(line["counts"]["read"] for line in read) >= len(WAYS)
    assert not [line for line in lines if line["type"] == "attempt"]
    assert "0 peeks at what is hidden; " in done.err


def test_by_default_reads_are_not_observed(root: User, backend: Backend) -> None:
    done, lines = look(root, backend, "spec")
    assert json.loads(done.out) == dict.fromkeys(WAYS, "ENOENT")
    assert {line["type"] for line in lines} <= {"exec", "own"}
    assert "peek" not in done.err


BESIDE = """
import os
for look in (os.stat, os.lstat, os.readlink, os.chdir, os.statvfs, os.listxattr):
    try: look("/spec/spec.md")
    except FileNotFoundError: pass
assert not os.access("/spec/spec.md", os.R_OK)
for argv in (["/spec/run.sh"], ["/tmp/link"]):
    os.path.lexists("/tmp/link") or os.symlink("/verdict/run.sh", "/tmp/link")
    try: os.execv(argv[0], argv)
    except FileNotFoundError: pass
"""


def exec_as(
    cli: Cli, backend: Backend, tmp_path: Path, role: str, *words: object
) -> tuple[Ran, list[Any]]:
    (tmp_path / "ws").mkdir(exist_ok=True)
    ledger = tmp_path / "ledger.jsonl"
    done = cli(
        "exec", "--backend", backend.name, "--role", role, "--observe", "reads", "--zone",
        f"workspace={tmp_path / 'ws'}:write", "--attempts", ledger, *words,
    )  # fmt: skip
    return done, [json.loads(line) for line in ledger.read_text().splitlines()]


def test_executions_of_the_hidden_are_peeks_and_what_opens_nothing_is_not_seen(
    cli: Cli, backend: Backend, tmp_path: Path
) -> None:
    done, lines = exec_as(cli, backend, tmp_path, "executor", "--", "python3", "-c", BESIDE)
    assert done.code == 0, done.err
    found = [(line["syscall"], line["effect"], *line["paths"]) for line in peeks(lines)]
    assert found == [("execve", "exec", "/spec/run.sh"), ("execve", "exec", "/verdict/run.sh")]


def test_a_zone_of_one_s_own_naming_can_be_hidden(
    cli: Cli, backend: Backend, tmp_path: Path
) -> None:
    script = "cat /truth/key /nothing/key; echo x > /truth/key; true"
    done, lines = exec_as(
        cli, backend, tmp_path, "reviewer", "--zone", "truth=hidden", "--", "sh", "-c", script
    )
    assert done.code == 0, done.err
    attempts = [line for line in lines if line["type"] == "attempt"]
    found = [(line["kind"], line["outcome"], *line["paths"]) for line in attempts]
    assert found == [("peek", "blocked", "/truth/key"), ("edit", "blocked", "/truth/key")]
    assert "1 peek at what is hidden (/truth/key by /usr/bin/cat); " in done.err


BAD_PATHS = """
import ctypes, os
call = ctypes.CDLL(None, use_errno=True).syscall
number = {"x86_64": 257, "aarch64": 56}[os.uname().machine]
for address in (0, 8, (1 << 47) - 4096):
    assert call(number, ctypes.c_long(-100), ctypes.c_void_p(address), 0) == -1
    print(ctypes.get_errno())
"""


def test_a_path_that_cannot_be_read_is_recorded_as_unknown_and_left_to_the_kernel(
    cli: Cli, backend: Backend, tmp_path: Path
) -> None:
    done, lines = exec_as(cli, backend, tmp_path, "executor", "--", "python3", "-c", BAD_PATHS)
    assert done.out == "14\n14\n14\n", done.err
    found = [line for line in lines if line.get("outcome") == "unknown"]
    assert len(found) == 3
    assert {(f["effect"], f["kind"], *f["paths"]) for f in found} == {("read", "outside")}


def observing(team: Path) -> Path:
    stated = json.loads(team.read_text()) | {"observe": "reads"}
    team.write_text(json.dumps(stated))
    return team


@pytest.mark.pain(9)
def test_an_episode_records_who_looked_for_spec_tests_and_verdict(
    play: Play, cli: Cli, studio: Studio
) -> None:
    search = "cat /spec/spec.md /grader/check.py /verdict/verdict.json /brief/brief.md; cat app.py"
    team = studio.team(executor={"steps": [{"run": search}]}, verifier={"verdict": "reject"})
    task = studio.task()
    plain = play(team, task)
    assert plain.record["observe"] == "changes"
    assert not plain.attempts(kind="peek") and plain.phase("executor")["attempts"]["peek"] == 0
    episode = play(observing(team), task)
    assert episode.record["key"] != plain.record["key"]
    looked = episode.attempts(kind="peek")
    assert [(a["role"], a["zone"], a["owner"], a["outcome"]) for a in looked] == [
        ("executor", "spec", "harness", "blocked"),
        ("executor", "grader", "harness", "blocked"),
        ("executor", "verdict", "verifier", "blocked"),
    ]
    counts = episode.phase("executor")["attempts"]
    assert (counts["peek"], counts["distinct_peeks"]) == (3, 3)
    assert counts["read"] >= 2 and counts["read_outside"] > 0
    assert (counts["edit_attempted"], counts["unknown"]) == (0, 0)
    assert episode.phase("verifier")["attempts"]["peek"] == 0
    run = episode.directory.parent.parent
    assert json.loads((run / "run.json").read_text())["observe"] == "reads"
    assert cli("audit", run).code == 0
    shown = cli("show", run, "add-one").out
    assert "observed reads" in shown and "attempts: 3 peeks (3 distinct)" in shown
    assert "blocked openat /grader/check.py by /usr/bin/cat (zone is hidden)" in shown
    table = cli("show", run)
    assert "1 of 1 episode with reads observed have peeks" in " ".join(table.out.split())
    (row,) = cli("show", run, "--json").json["table"]["conditions"]
    assert row["peeks"] == {"observed": 1, "episodes": 1, "distinct": 3}


def test_what_the_checked_work_looks_for_is_recorded_too(play: Play, studio: Studio) -> None:
    verifier = {
        "steps": [{"id": "c", "check": "cat /grader/check.py /verdict/verdict.json; true"}],
        "verdict": "reject",
    }
    episode = play(observing(studio.team(verifier=verifier)), studio.task())
    looked = episode.attempts(kind="peek")
    assert [(a["role"], *a["paths"]) for a in looked] == [
        ("check", "/grader/check.py"),
        ("check", "/verdict/verdict.json"),
    ]
    assert episode.phase("verifier")["attempts"]["peek"] == 0, "they are not the verifier's"


def test_what_cannot_be_observed_is_refused(cli: Cli, root: User) -> None:
    zone = root.directory("ws")
    done = cli(
        "exec", "--role", "executor", "--observe", "stat", "--zone", f"ws={zone}:read", "--", "true"
    )
    assert done.code == 125 and "'stat' is not one of 'changes', 'reads'" in done.err
    with pytest.raises(InputError, match="observe: not what can be observed; got 'stat'"):
        open_sandbox(enforced(), "executor", {}, observe="stat")  # type: ignore[arg-type]
