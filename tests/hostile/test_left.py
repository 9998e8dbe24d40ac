"""Whatever an executor leaves: every step after it finishes, nothing of it runs outside a box,
no link is followed, what can be kept arrives byte for byte, and the rest is said."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hostile.conftest import Leave

# Names and contents that both the executor and the grader know.
KNOWN = r"""
import hashlib, os, stat
ROOT = b"/workspace/"
NAMES = [b"new\nline", b"\x1b[31mred\x07", b"\xff\xfe\x80", b"n" * 255, b"\xc3\xa9" * 127, b" ",
         b"-rf", b"*", b"a\\b", b"\xe2\x80\xae", b"q\"'`$(touch ran)", b"tab\t", b"%s{}"]
def content(name):
    return b"content of " + name * 50 + b"\r\n\0\xff"
"""

MANY_KINDS = (
    KNOWN
    + r"""
import socket
os.chdir("/workspace")
for name in NAMES:
    with open(ROOT + name, "wb") as file:
        file.write(content(name))
os.mkdir("links")
for name, target in {"out": "/etc/passwd", "up": "../../../../etc/shadow", "loop": "loop",
                     "spec": "/spec/spec.md", "truth": "/grader/check.py", "self": ".",
                     "dangling": "nowhere", "proc": "/proc/self/root"}.items():
    os.symlink(target, "links/" + name)
os.mkfifo("fifo")
listener = socket.socket(socket.AF_UNIX)
listener.bind("socket")
os.mkdir("closed")
open("closed/in", "wb").write(b"inside")
open("unreadable", "wb").write(b"unreadable")
os.chmod("unreadable", 0)
os.chmod("closed/in", 0)
os.chmod("closed", 0)
open("one", "wb").write(b"many names")
for number in range(300):
    os.link("one", "name-%d" % number)
open("old", "wb").write(b"old")
os.utime("old", (0, 0))
open("before", "wb").write(b"before the epoch")
os.utime("before", (-1000000000, -1000000000))
open("future", "wb").write(b"future")
os.utime("future", (2 ** 33, 2 ** 33))
open("holes", "wb").truncate(50_000_000)
os.chmod("app.py", 0o777)
try:
    os.setxattr("app.py", "user.note", b"\xff" * 200)
except OSError:
    pass
for call in (lambda: os.chmod("one", 0o6755), lambda: os.mknod("device", 0o20666, 0x103)):
    try:
        call()
    except OSError:
        pass
"""
)

MANY_KINDS_ARRIVED = (
    KNOWN
    + r"""
import sys
os.chdir("/workspace")
for name in NAMES:
    assert open(ROOT + name, "rb").read() == content(name), name
assert os.readlink("links/up") == "../../../../etc/shadow" or not os.path.lexists("links/up")
assert os.readlink("links/loop") == "loop" and os.readlink("links/dangling") == "nowhere"
for name in ("spec", "truth", "proc"):
    assert not os.path.lexists("links/" + name), name
for name in ("fifo", "socket", "device"):
    assert not os.path.lexists(name), name
assert open("closed/in", "rb").read() == b"inside"
assert open("unreadable", "rb").read() == b"unreadable"
assert all(open("name-%d" % n, "rb").read() == b"many names" for n in range(300))
assert int(os.stat("old").st_mtime) == 0 and open("old", "rb").read() == b"old"
assert int(os.stat("future").st_mtime) == 2 ** 33
assert open("before", "rb").read() == b"before the epoch"
assert os.stat("holes").st_size == 50_000_000
assert not open("holes", "rb").read().strip(b"\0")
assert stat.S_IMODE(os.stat("app.py").st_mode) == 0o777
assert not any(os.lstat(os.path.join(base, name)).st_mode & 0o3000
               for base, below, names in os.walk("/workspace") for name in names)
"""
)


FLOOD = """
import os
os.makedirs("/workspace/flood")
for number in range(1000):
    os.symlink("/grader/check.py", "/workspace/flood/%d" % number)
    os.mkfifo("/workspace/flood/f%d" % number)
"""


# Processes that would write on after the phase: they ignore what asks them to end.
STAYING = """
import os, signal, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCHLD):
    signal.signal(number, signal.SIG_IGN)
def write_on(name):
    fd = os.open("/workspace/" + name, os.O_CREAT | os.O_WRONLY)
    while True:
        os.write(fd, b"x" * 100)
        time.sleep(0.001)
for name in ("child", "daemon"):
    if os.fork() == 0:
        if name == "daemon":
            os.setsid()
            if os.fork():
                os._exit(0)
        write_on(name)
held = os.open("/workspace/held", os.O_CREAT | os.O_WRONLY)
os.write(held, b"held open")
while not all(os.path.exists("/workspace/" + name) for name in ("child", "daemon")):
    time.sleep(0.01)
"""
STAYING_ARRIVED = """
import os, time
def sizes():
    return [os.path.getsize("/workspace/" + name) for name in ("child", "daemon", "held")]
first = sizes()
time.sleep(0.2)
assert first == sizes() and first[2] == 9
"""


@pytest.mark.pain(1)
@pytest.mark.pain(16)
def test_every_kind_of_entry(leave: Leave) -> None:
    left = leave(
        MANY_KINDS + FLOOD + STAYING,
        MANY_KINDS_ARRIVED + STAYING_ARRIVED,
        verifier=f"python3 -c '{COPY_ARRIVED}'",
    )
    assert (left.grade["grade"], left.record["status"]) == ("pass", "complete"), left.grade
    assert left.checked, "the check box did not get the copy"
    details = left.grade["details"]
    assert {"fifo: fifo", "flood/f0: fifo"} <= set(details["left_out"])
    assert {"flood/0", "flood/1"} <= set(details["removed_links"])
    assert len(details["removed_links"]) == 100 and len(details["left_out"]) == 101
    assert (details["removed_links_in_all"], details["left_out_in_all"]) == (1003, 1002)
    assert details["left_out"][-1] == "and 902 more"
    entries, later = left.manifest(), left.manifest("01-verifier")
    for name in ("child", "daemon", "held"):
        assert entries[name]["digest"] == later[name]["digest"], "somebody wrote after the phase"
    assert entries["new\\x0aline"]["kind"] == "file" and entries["\\xff\\xfe\\x80"]["digest"]
    assert (entries["links/out"]["kind"], entries["links/out"]["target"]) == ("link", "/etc/passwd")
    assert (entries["one"]["nlink"], entries["one"]["first"]) == (301, "name-0")
    assert entries["app.py"]["xattrs"]["user.note"].startswith("sha256:")
    assert not any(int(e.get("mode", "0"), 8) & 0o6000 for e in entries.values())
    left.check_afterwards()


# In the check box: what the verifier's commands run on.
COPY_ARRIVED = (
    'import os; os.chdir("/workspace"); '
    'assert open(b"new\\nline", "rb").read().startswith(b"content of new"); '
    'assert open("closed/in").read() == "inside" and not os.path.lexists("fifo")'
)

STEP, STEPS = 1000, 3
DEPTH = STEP * STEPS
# No call may name a path as long, so the tree is put together from shorter ones.
DEEP_AND_WIDE = f"""
import os
os.chdir("/workspace")
os.mkdir("wide")
for number in range(3000):
    fd = os.open("wide/%0240d" % number, os.O_CREAT | os.O_WRONLY)
    os.write(fd, b"%d" % number)
    os.close(fd)
for part in range({STEPS}):
    os.mkdir("part")
    os.chdir("part")
    for level in range({STEP} - 1):
        os.mkdir("dd")
        os.chdir("dd")
    if part:
        os.rename("/workspace/dd", "dd")
    else:
        open("bottom", "w").write("deep")
        os.symlink("/grader/check.py", "truth")
        os.symlink("../" * 5 + "dd", "up")
    os.chdir("/workspace")
    os.rename("part", "dd")
"""
DEEP_AND_WIDE_ARRIVED = f"""
import os
names = os.listdir("/workspace/wide")
assert len(names) == 3000
assert all(open("/workspace/wide/" + name).read() == str(int(name)) for name in names)
os.chdir("/workspace")
for level in range({DEPTH}):
    os.chdir("dd")
assert open("bottom").read() == "deep"
assert not os.path.lexists("truth") and os.readlink("up") == "../" * 5 + "dd"
"""


@pytest.mark.pain(16)
def test_paths_longer_than_path_max_and_many_long_names(leave_once: Leave) -> None:
    left = leave_once(DEEP_AND_WIDE, DEEP_AND_WIDE_ARRIVED, verifier="test -d dd/dd/dd")
    assert left.grade["grade"] == "pass", left.grade
    bottom = "/".join(["dd"] * DEPTH)
    assert left.manifest()[f"{bottom}/bottom"]["size"] == 4
    (removed,) = left.grade["details"]["removed_links"]
    assert removed.startswith("dd/dd/") and removed.endswith("/truth")
    left.check_afterwards()


HUGE = """
import os
os.truncate(os.open("/workspace/terabyte", os.O_CREAT | os.O_WRONLY), 1 << 40)
fd = os.open("/workspace/terabyte", os.O_WRONLY)
os.pwrite(fd, b"end", (1 << 40) - 3)
"""


@pytest.mark.pain(16)
def test_a_sparse_terabyte_is_said_and_not_judged_in_part(leave_once: Leave) -> None:
    left = leave_once(HUGE, "", disk_mb=1 << 20)
    assert left.grade["grade"] == "fail"
    assert left.grade["why"] == "the work cannot be judged whole: terabyte: not kept: size"
    entry = left.manifest()["terabyte"]
    assert (entry["size"], entry["note"]) == (1 << 40, "not kept: size")
    assert entry["digest"].startswith("blocks:")
    left.check_afterwards()


# Every way in which a repository can name a program, nested and not.
REPOSITORIES = r"""
import os, subprocess
os.chdir("/workspace")
RAN = "touch /tmp/ran-%s; touch CANARY-%s"
def git(*words, at="."):
    subprocess.run(["git", "-C", at, "-c", "user.name=x", "-c", "user.email=x@x", *words],
                   check=True, capture_output=True, timeout=60)
def arm(at):
    for setting in ("core.fsmonitor", "core.sshCommand", "core.pager", "core.editor",
                    "diff.external", "filter.x.clean", "filter.x.smudge", "filter.x.process",
                    "diff.x.textconv", "gpg.program", "credential.helper"):
        git("config", setting, RAN % (setting, setting), at=at)
    for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
        path = os.path.join(at, ".git/hooks", hook)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").write("#!/bin/sh\n" + RAN % (hook, hook) + "\n")
        os.chmod(path, 0o755)
    open(os.path.join(at, ".gitattributes"), "w").write("* filter=x diff=x text eol=crlf\n")
    open(os.path.join(at, ".git/objects/info/alternates"), "w").write("/spec\n/etc\n")
for nested in ("nested", "nested/below", "tree"):
    os.makedirs(nested, exist_ok=True)
    git("init", "-q", at=nested)
    open(nested + "/f", "w").write("one\n")
    git("add", "f", at=nested)
    git("commit", "-qm", "one", at=nested)
git("add", "tree")  # a gitlink
git("commit", "-qm", "link")
os.makedirs("worktree")
open("worktree/.git", "w").write("gitdir: /workspace/nested/.git\n")
for path in ("nested", "nested/below", "tree", "."):
    arm(path)
with open(".git/huge", "wb") as file:
    file.write(os.urandom(20_000_000))
"""
REPOSITORIES_ARRIVED = """
import os
os.chdir("/workspace")
for path in ("nested", "nested/below", "tree", "."):
    assert os.path.isfile(path + "/.git/config"), path
assert open("nested/f").read() == "one\\n" and open("worktree/.git").read().startswith("gitdir")
assert os.path.getsize(".git/huge") == 20_000_000
"""


@pytest.mark.pain(7)
def test_repositories_run_nothing_on_the_host(leave_once: Leave, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    tmp_path.chmod(0o777)
    before = set(os.listdir("/tmp"))
    left = leave_once(REPOSITORIES.replace("CANARY", os.fspath(canary)), REPOSITORIES_ARRIVED)
    assert left.grade["grade"] == "pass", left.grade
    assert not [name for name in set(os.listdir("/tmp")) - before if name.startswith("ran-")]
    assert not list(tmp_path.glob("canary*"))
    left.check_afterwards()
