"""A box without a tap refuses the same calls as one with it, and lets honest work pass."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from rolewall.sandbox import Box, ZoneMount

Start = Callable[..., Box]
Zone = Callable[..., ZoneMount]

CALL = """
import ctypes, errno, os, platform
libc = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
def call(*args):
    result = libc.syscall(*[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return errno.errorcode[ctypes.get_errno()] if result < 0 else "ok"
"""

# The calls that are refused, with the errors that tell so, and a twin that passes.
CALLS = {
    "a user namespace": (
        "call(272 if X86 else 97, 0x10000000)",
        {"EPERM"},
        "call(39 if X86 else 172)",
    ),
    "a user namespace by clone": (
        "call(56 if X86 else 220, 0x10000000 | 17, 0, 0, 0, 0)",
        {"EPERM"},
        "['ok', os.fork() or os._exit(0)][0]",
    ),
    "clone3": (
        "call(435, b' ' * 88, 88)",
        {"ENOSYS"},
        "['ok', __import__('threading').Thread(target=int).start()][0]",
    ),
    "mount": (
        "call(165 if X86 else 40, b'x', b'/tmp', b'tmpfs', 0, 0)",
        {"EPERM"},
        "call(186 if X86 else 178)",
    ),
    "io_uring": (
        "call(425, 8, b'\\0' * 120)",
        {"ENOSYS", "EPERM"},
        "call(318 if X86 else 278, b' ', 1, 0)",
    ),
    "keyrings": ("call(250 if X86 else 219, 0, -3, 1)", {"EPERM"}, "call(39 if X86 else 172)"),
    "pid 1": (
        "call(62 if X86 else 129, 1, 0)",
        {"EPERM"},
        "call(62 if X86 else 129, os.getpid(), 0)",
    ),
    "vsock": (
        "call(41 if X86 else 198, 40, 1, 0)",
        {"EAFNOSUPPORT", "EPERM"},
        "call(41 if X86 else 198, 1, 1, 0)",
    ),
}

I386 = """
libc.mmap.restype = ctypes.c_void_p
at = libc.mmap(None, 4096, 7, 0x22 | 0x40, -1, 0)
code = bytes.fromhex("53b8ffffffffb814000000cd805bc3")
ctypes.memmove(at, code, len(code))
result = ctypes.CFUNCTYPE(ctypes.c_int)(at)()
print(errno.errorcode[-result] if result < 0 else "ok")
"""
X32 = "print(call(0x40000000 + 39))"


def python(box: Box, code: str) -> str:
    done = box.run(["python3", "-I", "-c", CALL + code], timeout=60)
    assert done.returncode == 0, done.stderr.text()
    return done.stdout.text().strip()


def test_dangerous_calls_are_refused_and_their_twins_pass(start: Start) -> None:
    box = start()
    for name, (code, errors, twin) in CALLS.items():
        assert python(box, f"print({code})") in errors, name
        assert python(box, f"print({twin})") == "ok", name


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="i386 and x32 are x86 affairs")
def test_calls_of_another_architecture_do_not_exist(start: Start) -> None:
    box = start()
    for code in (I386, X32):
        assert python(box, code) in ("ENOSYS", "EPERM")
    assert python(box, "print(call(39))") == "ok"


def test_the_filter_is_seen_by_the_probe(start: Start) -> None:
    box = start()
    probe = box.facts["probe"]
    assert isinstance(probe, dict)
    assert probe["seccomp_filters"] >= 1
    assert probe["userns"] != "ok"


TESTS = """
import multiprocessing, subprocess, sys, tempfile, threading
def test_work():
    said = subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout
    assert said.split() == [b"1"]
    done = []
    thread = threading.Thread(target=done.append, args=(1,))
    thread.start(); thread.join()
    assert done == [1]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(abs, [-1]) == [1]
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")
"""


def test_an_honest_test_run_passes(start: Start, zone: Zone) -> None:
    mount = zone("workspace", writable=True)
    (mount.source / "test_it.py").write_text(TESTS)
    done = start(mount).run(["pytest", "-q", "test_it.py"], timeout=120)
    assert done.returncode == 0, done.stdout.text()
    assert "1 passed" in done.stdout.text()
