"""Calls that are refused or cannot be read, what is let through beside them, and floods."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rolewall.errors import TapError
from rolewall.policies import Attempt, Kind, Ledger, Outcome, verify_ledger
from rolewall.sandbox.tap import Supervisor

Open = Callable[..., Any]
pytestmark = pytest.mark.bubblewrap

PRELUDE = """
import ctypes, errno, os, platform
libc = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
def call(*args):
    result = libc.syscall(*[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return errno.errorcode[ctypes.get_errno()] if result < 0 else "ok"
"""

# name: (call, its errno, an allowed twin)
DENIED = {
    "io_uring_setup": (
        "call(425, 8, b'\\0' * 120)",
        "ENOSYS",
        "call(318 if X86 else 278, b' ', 1, 0)",
    ),
    "unshare": ("call(272 if X86 else 97, 0x10000000)", "EPERM", "call(186 if X86 else 178)"),
    "mount": (
        "call(165 if X86 else 40, b'x', b'/tmp', b'tmpfs', 0, 0)",
        "EPERM",
        "call(186 if X86 else 178)",
    ),
    "open_tree": ("call(428, -100, b'/workspace', 1)", "EPERM", "call(434, os.getpid(), 0)"),
    "keyctl": ("call(250 if X86 else 219, 0, -3, 1)", "EPERM", "call(434, os.getpid(), 0)"),
    "kill": ("call(62 if X86 else 129, 1, 0)", "EPERM", "call(62 if X86 else 129, os.getpid(), 0)"),
    "prlimit64": (
        "call(302 if X86 else 261, 1, 7, 0, b' ' * 16)",
        "EPERM",
        "call(302 if X86 else 261, 0, 7, 0, b' ' * 16)",
    ),
    "socket": (
        "call(41 if X86 else 198, 40, 1, 0)",
        "EAFNOSUPPORT",
        "call(41 if X86 else 198, 1, 1, 0)",
    ),
    "clone": (
        "call(56 if X86 else 220, 0x10000000 | 17, 0, 0, 0, 0)",
        "EPERM",
        "['ok', os.fork() or os._exit(0)][0]",
    ),
}  # fmt: skip

# open("/workspace/app.py", O_WRONLY) as an i386 call, from memory below 4 GiB.
I386 = """
map32 = 0x40
libc.mmap.restype = ctypes.c_void_p
at = libc.mmap(None, 4096, 7, 0x22 | map32, -1, 0)
code = bytes.fromhex("53 b805000000 89fb 89f1 31d2 cd80 5b c3".replace(" ", ""))
ctypes.memmove(at + 512, b"/workspace/app.py\\0", 18)
ctypes.memmove(at, code, len(code))
result = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_long, ctypes.c_long)(at)(at + 512, 1)
print(errno.errorcode[-result] if result < 0 else "ok", end="")
"""


X32 = "print(call(0x40000000 + 2, b'/workspace/app.py', 1), end='')"


@pytest.mark.parametrize("name", sorted(DENIED))
def test_denied_calls_and_their_twins(open_box: Open, name: str) -> None:
    code, errno_name, twin = DENIED[name]
    box = open_box(writable=True)
    assert box.python(f"{PRELUDE}print({code}, end='')") == (0, errno_name)
    status, output = box.python(f"{PRELUDE}print({twin}, end='')")
    assert (status, output) == (0, "ok")
    found = [a for a in box.attempts() if a.kind is Kind.PRIVILEGED]
    assert [(a.syscall, a.outcome) for a in found] == [(name, Outcome.DENIED)]
    assert "python" in found[0].exe


def test_threads_do_not_part_with_their_process(open_box: Open) -> None:
    box = open_box()
    for flag in ("0x200", "0x400", "0x600"):
        assert box.python(f"{PRELUDE}print(call(272 if X86 else 97, {flag}), end='')")[1] == "EPERM"
    found = box.attempts()
    assert {(a.syscall, a.outcome) for a in found} == {("unshare", Outcome.DENIED)}
    assert [a.flags for a in found] == [
        ("CLONE_FS",), ("CLONE_FILES",), ("CLONE_FS", "CLONE_FILES")
    ]  # fmt: skip


MOVE = """
import fcntl, os, struct
for name in ("mine", "yours"):
    with open(f"/workspace/{name}", "wb") as file:
        file.write(name.encode() * 4096)
        os.fsync(file.fileno())
mine, yours = (os.open(f"/workspace/{name}", os.O_RDWR) for name in ("mine", "yours"))
def ask(request, asked):
    try:
        fcntl.ioctl(mine, request, asked)
        return "ok"
    except OSError as error:
        return os.strerror(error.errno)
print(ask(0xC028660F, bytearray(struct.pack("IIQQQQ", 0, yours, 0, 0, 1, 0))))
print(ask(0x40285881, struct.pack("iIQQQQ", yours, 0, 0, 0, 4096, 0)))
print(open("/workspace/yours", "rb").read(5))
"""


def test_blocks_of_files_are_not_exchanged(open_box: Open) -> None:
    box = open_box(writable=True)
    refused = "Operation not permitted\n" * 2
    assert box.python(MOVE) == (0, f"{refused}b'yours'\n")
    found = [a for a in box.attempts() if a.syscall == "ioctl"]
    assert [a.flags for a in found] == [("EXT4_IOC_MOVE_EXT",), ("XFS_IOC_EXCHANGE_RANGE",)]
    assert {(a.kind, a.outcome) for a in found} == {(Kind.PRIVILEGED, Outcome.DENIED)}


ATTRIBUTE = """
import fcntl, os
file, flags, done = os.open("/workspace/app.py", os.O_RDONLY), bytearray(8), "ok"
try:
    fcntl.ioctl(file, 0x80086601, flags)
    fcntl.ioctl(file, 0x40086602, flags)
except OSError as error:
    done = os.strerror(error.errno)
print(done)
"""


def test_and_attributes_are_still_set(open_box: Open) -> None:
    box = open_box(writable=True)
    status, output = box.python(ATTRIBUTE)
    if "not supported" in output or "Inappropriate" in output:
        pytest.skip("this file system has no attributes")
    assert (status, output) == (0, "ok\n")
    found = [(a.flags, a.outcome) for a in box.attempts() if a.syscall == "ioctl"]
    assert found == [(("FS_IOC_SETFLAGS",), Outcome.ALLOWED)]


def test_clone3_is_absent_and_threads_work(open_box: Open) -> None:
    box = open_box()
    assert box.python(PRELUDE + "print(call(435, b' ' * 88, 88), end='')") == (0, "ENOSYS")
    code = "import threading as t; t = t.Thread(target=lambda: print('ran')); t.start(); t.join()"
    assert box.python(code) == (0, "ran\n")
    assert box.attempts() == []


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="i386 and x32 are x86 affairs")
@pytest.mark.parametrize("code", [I386, X32])
def test_foreign_calls(open_box: Open, code: str) -> None:
    box = open_box(writable=True)
    assert box.python(PRELUDE + code) == (0, "ENOSYS")
    (found,) = box.attempts()
    assert (found.kind, found.outcome) == (Kind.PRIVILEGED, Outcome.DENIED)
    assert found.syscall.startswith("foreign call")


@pytest.mark.parametrize("pointer", ["0", "1", "0x7fffffffe000", "(1 << 64) - 4096"])
def test_an_unreadable_path_is_refused(open_box: Open, pointer: str) -> None:
    box = open_box(writable=True)
    code = f"print(call(257 if X86 else 56, -100, ctypes.c_ulong({pointer}), 1), end='')"
    assert box.python(PRELUDE + code) == (0, "EPERM")
    (found,) = box.attempts()
    assert (found.outcome, found.paths) == (Outcome.UNKNOWN, ())


def test_a_bad_descriptor_is_refused(open_box: Open) -> None:
    box = open_box(writable=True)
    code = "print(call(257 if X86 else 56, 77, b'x', 1), end='')"
    assert box.python(PRELUDE + code) == (0, "EPERM")
    assert [a.outcome for a in box.attempts()] == [Outcome.UNKNOWN]


def test_what_has_no_path_is_no_attempt(open_box: Open) -> None:
    box = open_box()
    code = (
        "import os, socket\n"
        "os.ftruncate(os.memfd_create('x'), 9)\n"
        "socket.socket(socket.AF_UNIX).bind('\\0abstract')\n"
        "socket.socket().bind(('127.0.0.1', 0))\n"
        "r, w = os.pipe(); open(f'/proc/self/fd/{w}', 'w').write('x')\n"
        "open('/dev/null', 'w'); open('/dev/stderr', 'w')\n"
        "open('/proc/self/comm', 'w').write('me')\n"
        "open('/tmp/a', 'w'); open('/verdict/b', 'w'); os.rename('/tmp/a', '/tmp/c')\n"
    )
    status, output = box.python(code)
    assert status == 0, output
    summary, lines = box.finish()
    assert set(summary.attempts) == {"own"}
    own = [line for line in lines if line["type"] == "own"]  # one for each directory and second
    assert {"/tmp", "/verdict", "/dev"} <= {line["directory"] for line in own}
    assert sum(sum(line["counts"].values()) for line in own) == summary.count("own")


def test_outside_and_hidden(open_box: Open) -> None:
    box = open_box(writable=True)
    box.run(
        "sh",
        "-c",
        "echo > /usr/x; echo > /etc/x; echo > /none/x; mkdir /spec; echo > /spec/spec.md; "
        "echo 1 > /proc/sys/kernel/core_pattern",
    )
    found = {a.paths[0]: (a.kind, a.outcome) for a in box.attempts()}
    outside = (Kind.OUTSIDE, Outcome.BLOCKED)
    assert found["/usr/x"] == found["/etc/x"] == found["/none/x"] == outside
    assert found["/proc/sys/kernel/core_pattern"] == outside
    assert found["/spec"] == found["/spec/spec.md"] == (Kind.EDIT, Outcome.BLOCKED)


def test_incidental_and_its_twin(open_box: Open) -> None:
    box = open_box()
    box.run("sh", "-c", "mkdir -p /workspace; mkdir /workspace/__pycache__; mkdir /workspace/new")
    kinds = {a.paths[0]: a.kind for a in box.attempts()}
    assert kinds["/workspace/__pycache__"] is Kind.INCIDENTAL
    assert kinds["/workspace/new"] is Kind.EDIT
    assert kinds.get("/workspace", Kind.INCIDENTAL) is Kind.INCIDENTAL


@pytest.mark.skipif(os.getuid() != 0, reason="needs files of another user")
def test_mode_bits_block_on_a_writable_mount(open_box: Open) -> None:
    box = open_box(writable=True)
    os.chown(box.workspace / "app.py", 0, 0)
    os.chmod(box.workspace / "app.py", 0o644)
    code, _ = box.run("sh", "-c", "echo x > /workspace/app.py")
    assert code != 0
    (found,) = box.attempts()
    assert (found.kind, found.outcome, found.why) == (
        Kind.EDIT, Outcome.BLOCKED, "mode bits forbid it"
    )  # fmt: skip


def test_executions_are_recorded_with_their_arguments(open_box: Open) -> None:
    box = open_box()
    box.run("sh", "-c", "env true 'a b' ; nonexistent; :")
    summary, lines = box.finish()
    seen = [(line["exe"], line["argv"]) for line in lines if line["type"] == "exec"]
    assert ("/usr/bin/true", ["true", "a b"]) in seen
    assert not any("nonexistent" in exe for exe, _ in seen)
    assert summary.execs == len(seen)
    assert {line["role"] for line in lines} == {"verifier"}


def test_a_long_argument_list_is_cut_and_says_so(open_box: Open) -> None:
    box = open_box()
    box.run("true", *(["x" * 200] * 300))
    _, lines = box.finish()
    (line,) = [line for line in lines if line["type"] == "exec"]
    assert line["argv_whole"] is False
    assert 10 < len(line["argv"]) < 300


FLOOD = """
import os
for n in range(200):
    try: os.chmod('/workspace/app.py', 0o644)
    except OSError: pass
"""


def test_a_flood_of_crossings_is_a_violation(open_box: Open) -> None:
    box = open_box(writable=True, budget=20)
    assert not box.watch.poll()
    code, output = box.python(FLOOD + "open('/tmp/x', 'w')")
    assert code != 0
    assert "PermissionError" in output
    assert box.watch.poll()
    summary, lines = box.finish()
    assert summary.violated
    assert summary.count("edit", "allowed") == 20
    assert sum(line["type"] == "attempt" for line in lines) == 20
    assert any(line["type"] == "note" and "budget" in line["text"] for line in lines)


def test_a_flood_of_anything_else_hides_no_edit(open_box: Open) -> None:
    box = open_box(writable=True, budget=20)
    box.python(FLOOD.replace("/workspace/app.py", "/usr/bin/env"))
    code, _ = box.run("touch", "/workspace/app.py")
    assert code == 0
    summary, lines = box.finish()
    assert not summary.violated
    assert summary.count("outside", "blocked") == 200
    assert summary.unrecorded > 100
    assert any(line.get("paths") == ["/workspace/app.py"] for line in lines)


def test_own_writes_are_counted_not_listed(open_box: Open) -> None:
    box = open_box(budget=5)
    box.python("for n in range(500): open(f'/tmp/{n}', 'w')")
    summary, lines = box.finish()
    assert summary.count("own", "allowed") >= 500
    assert not summary.violated
    assert len(lines) < 20


def test_two_watches_share_a_ledger(open_box: Open, tmp_path: Path) -> None:
    shared = tmp_path / "audit.jsonl"
    busy, quiet = open_box(writable=True, ledger=shared), open_box(ledger=shared)
    busy.python(FLOOD)
    quiet.run("touch", "/workspace/app.py")
    busy.close()
    assert busy.watch.finish().count("edit", "allowed") == 200
    quiet.run("touch", "/workspace/app.py")
    second, lines = quiet.finish()
    assert second.count("edit", "blocked") == 4
    assert sum(line["type"] == "attempt" for line in lines) == 204
    assert second.ledger_lines == len(lines)
    with Ledger(shared) as ledger:
        ledger.append({"type": "note", "text": "by the harness"})
    third = open_box(ledger=shared)
    third.run("touch", "/workspace/app.py")
    summary, _ = third.finish()
    verify_ledger(shared, head=summary.ledger_head, lines=summary.ledger_lines)


def test_before_begin_calls_are_only_counted(open_box: Open) -> None:
    box = open_box(begin=False)
    code, _ = box.run("touch", "/workspace/app.py")
    assert code != 0
    box.watch.begin()
    box.run("rm", "-f", "/workspace/app.py")
    summary, lines = box.finish()
    assert summary.probe_seen >= 3
    assert summary.count("edit", "blocked") == 1
    assert [line["syscall"] for line in lines if line["type"] == "attempt"] == ["unlinkat"]


def test_the_summary_fixes_the_ledger(open_box: Open) -> None:
    box = open_box()
    box.run("touch", "/workspace/app.py")
    summary, lines = box.finish()
    check = verify_ledger(box.ledger, head=summary.ledger_head, lines=summary.ledger_lines)
    assert check.types["attempt"] == 2 == sum(line["type"] == "attempt" for line in lines)
    assert summary.edits == (("/usr/bin/touch", "/workspace/app.py"),)
    assert summary.distinct_edits == 1
    found = [Attempt.from_line(line) for line in lines if line["type"] == "attempt"]
    assert found[0].flags[:2] == ("O_WRONLY", "O_CREAT")


def test_a_dead_supervisor_is_an_error_and_nothing_gets_through(
    tap_box: Callable[..., Any], tmp_path: Path
) -> None:
    supervisor = Supervisor()
    box = tap_box(tmp_path, supervisor, True, 100)
    assert box.run("touch", "/verdict/before")[0] == 0
    supervisor._process.kill()
    supervisor._process.wait()
    with pytest.raises(TapError):
        box.watch.poll()
    with pytest.raises(TapError):
        box.watch.finish()
    box.close()
    assert (tmp_path / "verdict/before").exists()
    with pytest.raises(TapError):
        supervisor.close()


def test_a_ledger_that_cannot_be_used_is_an_error(
    tap_box: Callable[..., Any], tap: Supervisor, tmp_path: Path
) -> None:
    (tmp_path / "audit.jsonl").write_text("junk\n")
    with pytest.raises(TapError, match="cannot be recorded"):
        tap_box(tmp_path, tap, True, 100)


HARNESS = """
import os, sys, json
from rolewall.sandbox.tap import Supervisor
supervisor = Supervisor()
print(supervisor._process.pid, flush=True)
sys.stdin.read()
"""


def test_a_dead_harness_leaves_no_supervisor() -> None:
    argv = [sys.executable, "-c", HARNESS]
    harness = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert harness.stdout is not None and harness.stdin is not None
    pidfd = os.pidfd_open(int(harness.stdout.readline()))
    harness.send_signal(signal.SIGKILL)
    harness.wait(10)
    try:
        assert select.select([pidfd], [], [], 10)[0]
    finally:
        for stream in (harness.stdin, harness.stdout):
            stream.close()
        os.close(pidfd)
