"""Ways to change a file: each seen, blocked read-only and allowed writable, on a real kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rolewall.policies import Attempt, Kind, Outcome

Open = Callable[..., Any]

PRELUDE = """
import ctypes, os, struct, threading
libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100
W = "/workspace/app.py"
def call(*args):
    return libc.syscall(*[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
def safe(function, *args, **named):
    try:
        return function(*args, **named)
    except OSError:
        return None
"""

# name: (program, the system call or effect it must be seen with, and the path)
PYTHON = {
    "open-w": ("safe(open, W, 'w')", "openat", "/workspace/app.py"),
    "append": ("safe(open, W, 'a')", "openat", "/workspace/app.py"),
    "rdonly-trunc": ("safe(os.open, W, os.O_RDONLY | os.O_TRUNC)", "openat", "/workspace/app.py"),
    "accmode-3": ("safe(os.open, W, 3)", "openat", "/workspace/app.py"),
    "tmpfile": ("safe(os.open, '/workspace', os.O_TMPFILE | os.O_RDWR)", "openat", "/workspace"),
    "truncate": ("safe(os.truncate, W, 0)", "truncate", "/workspace/app.py"),
    "chmod": ("safe(os.chmod, W, 0o600)", "mode", "/workspace/app.py"),
    "fchmod": ("safe(os.fchmod, os.open(W, 0), 0o600)", "mode", "/workspace/app.py"),
    "chown": ("safe(os.chown, W, -1, os.getgid())", "owner", "/workspace/app.py"),
    "utime": ("safe(os.utime, W, (1, 1))", "times", "/workspace/app.py"),
    "futimens": ("safe(os.utime, os.open(W, 0), (1, 1))", "times", "/workspace/app.py"),
    "setxattr": ("safe(os.setxattr, W, 'user.a', b'1')", "xattr", "/workspace/app.py"),
    "fsetxattr": (
        "safe(os.setxattr, os.open(W, 0), 'user.a', b'1')",
        "xattr",
        "/workspace/app.py",
    ),
    "fchmodat2-empty": (
        "call(452, os.open(W, os.O_PATH), b'', 0o600, 0x1000)",
        "fchmodat2",
        "/workspace/app.py",
    ),
    "setxattrat": (
        "call(463, AT_FDCWD, W.encode(), 0, b'user.a', struct.pack('QII', 0, 0, 0), 16)",
        "setxattrat",
        "/workspace/app.py",
    ),
    "file-setattr": (
        "call(469, AT_FDCWD, W.encode(), struct.pack('QIIII', 64, 0, 0, 0, 0), 24, 0)",
        "file_setattr",
        "/workspace/app.py",
    ),
    "ioctl-setflags": (
        "libc.ioctl(os.open(W, 0), ctypes.c_ulong(0x40086602), struct.pack('l', 0x40))",
        "ioctl",
        "/workspace/app.py",
    ),
    "link": ("safe(os.link, W, '/workspace/l')", "link", "/workspace/l"),
    "symlink": ("safe(os.symlink, '/etc/x', '/workspace/s')", "create", "/workspace/s"),
    "mkdir": ("safe(os.mkdir, '/workspace/d')", "create", "/workspace/d"),
    "mkfifo": ("safe(os.mkfifo, '/workspace/f')", "create", "/workspace/f"),
    "unlink": ("safe(os.unlink, W)", "unlink", "/workspace/app.py"),
    "bind": (
        "import socket; safe(socket.socket(socket.AF_UNIX).bind, '/workspace/sock')",
        "bind",
        "/workspace/sock",
    ),
    "exchange": (
        "call(316, AT_FDCWD, W.encode(), AT_FDCWD, b'/workspace/other.py', 2)",
        "renameat2",
        "/workspace/other.py",
    ),
    "dirfd": (
        "safe(os.open, 'app.py', os.O_WRONLY, dir_fd=os.open('/workspace', 0))",
        "openat",
        "/workspace/app.py",
    ),
    "relative": ("os.chdir('/usr'); safe(open, '../workspace/./app.py', 'w')", "openat",
                 "/workspace/app.py"),
    "proc-self-fd": (
        "safe(open, f'/proc/self/fd/{os.open(W, 0)}', 'w')",
        "openat",
        "/workspace/app.py",
    ),
    "dev-fd": ("safe(open, f'/dev/fd/{os.open(W, 0)}', 'w')", "openat", "/workspace/app.py"),
    "proc-pid-fd": (
        "safe(open, f'/proc/{os.getpid()}/fd/{os.open(W, 0)}', 'w')",
        "openat",
        "/workspace/app.py",
    ),
    "proc-self-cwd": (
        "os.chdir('/workspace'); safe(open, '/proc/self/cwd/app.py', 'w')",
        "openat",
        "/workspace/app.py",
    ),
    "proc-self-root": ("safe(open, '/proc/self/root/workspace/app.py', 'w')", "openat",
                       "/workspace/app.py"),
    "link-into-zone": (
        "os.symlink(W, '/tmp/l'); safe(open, '/tmp/l', 'w')",
        "openat",
        "/workspace/app.py",
    ),
    "link-to-nothing": (
        "os.symlink('/workspace/made', '/tmp/l'); safe(open, '/tmp/l', 'w')",
        "openat",
        "/workspace/made",
    ),
    "link-to-directory": (
        "os.symlink('/workspace', '/tmp/d'); safe(os.unlink, '/tmp/d/app.py')",
        "unlink",
        "/workspace/app.py",
    ),
    "thread": (
        "t = threading.Thread(target=safe, args=(open, W, 'w')); t.start(); t.join()",
        "openat",
        "/workspace/app.py",
    ),
    "unicode": ("safe(open, '/workspace/é😀\\n', 'w')", "openat", "/workspace/é😀\\x0a"),
    "bytes": ("safe(open, b'/workspace/\\xff\\xfe', 'w')", "openat", "/workspace/\\xff\\xfe"),
    "page-end": (
        "import mmap; m = mmap.mmap(-1, 8192); a = ctypes.addressof(ctypes.c_char.from_buffer(m));"
        "p = b'/workspace/app.py\\0'; m[4090:4090 + len(p)] = p;"
        "call(257 if os.uname().machine == 'x86_64' else 56, AT_FDCWD, a + 4090, 1)",
        "openat",
        "/workspace/app.py",
    ),
}  # fmt: skip

SHELL = {
    "sed": ["sed", "-i", "s/a/b/", "/workspace/app.py"],
    "mv": ["mv", "/workspace/app.py", "/workspace/moved.py"],
    "chmod": ["chmod", "600", "/workspace/app.py"],
    "touch": ["touch", "/workspace/app.py"],
    "touch-new": ["touch", "/workspace/new"],
    "rm": ["rm", "-f", "/workspace/app.py"],
    "ln": ["ln", "-s", "x", "/workspace/ln"],
    "truncate": ["truncate", "-s", "0", "/workspace/app.py"],
    "redirect": ["sh", "-c", "echo x > /workspace/app.py"],
    "cp": ["cp", "/usr/bin/env", "/workspace/app.py"],
}


def edits(found: list[Attempt]) -> list[Attempt]:
    return [attempt for attempt in found if attempt.kind is Kind.EDIT]


@pytest.mark.pain(22)
@pytest.mark.bubblewrap
@pytest.mark.parametrize("writable", [False, True], ids=["blocked", "allowed"])
def test_python_ways(open_box: Open, writable: bool) -> None:
    wrong = []
    for name, (code, what, path) in PYTHON.items():
        box = open_box(writable)
        status, output = box.python(PRELUDE + code)
        assert status == 0, (name, output)
        wanted = Outcome.ALLOWED if writable else Outcome.BLOCKED
        seen = [({a.syscall, a.effect}, a.paths, a.outcome) for a in edits(box.attempts())]
        if not any(what in s and path in p and o is wanted for s, p, o in seen):
            wrong.append((name, seen))
    assert not wrong


@pytest.mark.bubblewrap
@pytest.mark.parametrize("writable", [False, True], ids=["blocked", "allowed"])
@pytest.mark.parametrize("name", sorted(SHELL))
def test_commands(open_box: Open, name: str, writable: bool) -> None:
    box = open_box(writable)
    before = snapshot(box)
    code, output = box.run(*SHELL[name])
    assert (code == 0) is writable, output
    found = edits(box.attempts())
    assert found
    assert {a.outcome for a in found} == {Outcome.ALLOWED if writable else Outcome.BLOCKED}
    assert {(a.role, a.phase, a.zone, a.owner) for a in found} == {
        ("verifier", 2, "workspace", "executor")
    }
    assert all(a.exe.startswith("/usr/bin/") and a.pid > 1 and a.comm for a in found)
    assert (snapshot(box) != before) is writable


@pytest.mark.bubblewrap
@pytest.mark.parametrize("writable", [False, True], ids=["blocked", "allowed"])
def test_git_commit(open_box: Open, writable: bool) -> None:
    box = open_box(True)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-C", "/workspace"]
    if not writable:
        box.close()
        box.watch.finish()
        box = open_box(False)
    script = " && ".join(" ".join([*git, step]) for step in ("init -q", "add .", "commit -qm x"))
    code, output = box.run("sh", "-c", script)
    assert (code == 0) is writable, output
    found = edits(box.attempts())
    paths = {path for attempt in found for path in attempt.paths}
    assert any(path.startswith("/workspace/.git") for path in paths)
    if writable:
        assert "/workspace/.git/HEAD" in paths


def snapshot(box: Any) -> list[tuple[str, int, float, bytes]]:
    return sorted(
        (path.name, path.lstat().st_mode, path.lstat().st_mtime,
         path.read_bytes() if path.is_file() else b"")
        for path in box.workspace.iterdir()
    )  # fmt: skip
