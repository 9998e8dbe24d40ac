"""Threads that part with their process, and paths that cost too much to follow."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rolewall.policies import Effect, Kind, Outcome
from rolewall.sandbox.tap.measure import measure
from rolewall.sandbox.tap.resolve import Root, Unreadable
from rolewall.sandbox.tap.task import TaskFacts

Open = Callable[..., Any]
CLONE_FS, CLONE_FILES = 0x200, 0x400


@pytest.fixture
def root() -> Iterator[Root]:
    root = Root(os.getpid())
    yield root
    root.close()


def test_links_of_proc_lead_where_the_named_task_is(tmp_path: Path, root: Root) -> None:
    apart, ours = tmp_path / "apart", tmp_path / "ours"
    apart.mkdir()
    ours.mkdir()
    fd = os.open(ours, os.O_RDONLY)
    ready, over = threading.Event(), threading.Event()
    tids: list[int] = []

    def part() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        tids.append(threading.get_native_id() if libc.unshare(CLONE_FS | CLONE_FILES) == 0 else 0)
        os.chdir(apart)
        other = os.open(apart, os.O_RDONLY)
        os.dup2(other, fd)
        ready.set()
        over.wait(20)

    thread = threading.Thread(target=part)
    thread.start()
    assert ready.wait(20)
    (tid,) = tids
    pid, here = os.getpid(), os.fsencode(Path.cwd())
    try:
        for name, leader, own in (("cwd", here, apart), (f"fd/{fd}", os.fsencode(ours), apart)):
            for task in ("self", pid, f"self/task/{pid}", f"{pid}/task/{pid}"):
                path = f"/proc/{task}/{name}/new".encode()
                assert root.canonical(path, True, tid) == leader + b"/new", path
            for task in ("thread-self", tid, f"self/task/{tid}"):
                path = f"/proc/{task}/{name}/new".encode()
                assert root.canonical(path, True, tid) == os.fsencode(own) + b"/new", path
    finally:
        over.set()
        thread.join()
        os.close(fd)


# A thread closes its own copy of a descriptor that its process keeps, and puts a decoy there.
APART = """
import ctypes, os, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
keep = os.open("/workspace", os.O_RDONLY)
def part():
    assert libc.close_range(keep, keep, 2) == 0  # CLOSE_RANGE_UNSHARE
    assert os.open("/tmp", os.O_RDONLY) == keep
    try:
        os.close(os.open(f"/proc/{sys.argv[1]}/fd/{keep}/f", os.O_CREAT | os.O_WRONLY))
    except OSError as error:
        print(error.errno)
thread = threading.Thread(target=part)
thread.start()
thread.join()
"""


@pytest.mark.bubblewrap
def test_a_decoy_descriptor_hides_nothing(open_box: Open) -> None:
    box = open_box(writable=True)
    assert box.run("python3", "-I", "-c", APART, "thread-self") == (0, "")
    assert not (box.workspace / "f").exists()
    assert box.run("python3", "-I", "-c", APART, "self") == (0, "")
    assert (box.workspace / "f").exists()
    found = [(a.kind, a.outcome, a.paths) for a in box.attempts()]
    assert found == [(Kind.EDIT, Outcome.ALLOWED, ("/workspace/f",))]


@pytest.mark.bubblewrap
def test_a_link_of_proc_to_nothing_is_refused(open_box: Open) -> None:
    box = open_box(writable=True)
    for path in ("/proc/self/fd/77/f", "/proc/thread-self/fd/77", "/dev/fd/77"):
        code, output = box.python(f"open({path!r}, 'w')")
        assert code and "PermissionError" in output
    box.python("import os; os.chdir('/tmp'); open('/proc/self/cwd/f', 'w')")
    found = [(a.outcome, a.why.rpartition(": ")[0]) for a in box.attempts()]
    assert {outcome for outcome, _ in found} == {Outcome.UNKNOWN}
    assert len(found) == 3
    assert all("cannot read a link of /proc" in why for _, why in found)


def costly(folder: Path, links: int, depth: int) -> None:
    (folder / "d").mkdir()
    (folder / "end").mkdir()
    for number in range(links):
        after = f"l{number + 1}" if number + 1 < links else "end"
        (folder / f"l{number}").symlink_to("d/../" * depth + after)


def test_a_path_of_many_look_ups_is_not_followed(tmp_path: Path, root: Root) -> None:
    costly(tmp_path, 30, 700)
    with pytest.raises(Unreadable, match="too many look-ups"):
        root.canonical(os.fsencode(tmp_path / "l0/none/x"), True, os.getpid())
    (tmp_path / "plain").mkdir()
    costly(tmp_path / "plain", 10, 2)
    found = root.canonical(os.fsencode(tmp_path / "plain/l0/none/x"), True, os.getpid())
    assert found == os.fsencode(tmp_path / "plain/end/none/x")


def test_a_long_path_to_nothing_takes_few_look_ups(tmp_path: Path, root: Root) -> None:
    path = os.fsencode(tmp_path) + b"/none" + b"/a" * 1900
    assert root.canonical(path, True, os.getpid()) == path
    target = measure(root, path, Effect.CREATE_WRITE, TaskFacts())
    assert (target.exists, target.read_only) == (False, False)


DEEP = """
import os, sys
os.chdir("/tmp")
os.mkdir("e" * 199)
os.symlink("/workspace/app.py", "e" * 199 + "/l")
for n in range(int(sys.argv[1])):
    os.mkdir("d" * 199)
    os.chdir("d" * 199)
os.rename("/tmp/" + "e" * 199, "e" * 199)
try:
    open("e" * 199 + "/l", "w")
except OSError as error:
    print(error.errno, end="")
"""


@pytest.mark.bubblewrap
@pytest.mark.parametrize(("depth", "deepest"), [(5, False), (20, True)])
def test_a_link_deeper_than_a_path_can_say_hides_nothing(
    open_box: Open, depth: int, deepest: bool
) -> None:
    box = open_box(writable=True)
    assert box.run("python3", "-I", "-c", DEEP, str(depth)) == (0, "1" if deepest else "")
    assert (box.workspace / "app.py").stat().st_size == (6 if deepest else 0)
    (found,) = box.attempts()
    wanted = ((), Outcome.UNKNOWN) if deepest else (("/workspace/app.py",), Outcome.ALLOWED)
    assert (found.paths, found.outcome) == wanted


CHAIN = """
import os
os.chdir("/tmp")
os.mkdir("d"); os.mkdir("end")
for n in range(38):
    os.symlink("d/../" * 800 + (f"l{n + 1}" if n < 37 else "end"), f"l{n}")
try:
    os.rename("/tmp/l0/x/y", "/tmp/l0/x/z")
except OSError as error:
    print(error.errno, end="")
os.symlink("end", "short")
os.mkdir("/tmp/short/new")
"""


@pytest.mark.bubblewrap
def test_a_costly_path_in_an_own_zone_is_refused_and_recorded(open_box: Open) -> None:
    box, other = open_box(), open_box()
    assert box.python(CHAIN) == (0, "1")
    assert other.run("touch", "/verdict/f") == (0, "")
    (found,) = box.attempts()
    assert (found.syscall, found.outcome, found.paths) == ("rename", Outcome.UNKNOWN, ())
    assert "too many look-ups" in found.why
    assert other.finish()[0].count("own", "allowed") > 0
