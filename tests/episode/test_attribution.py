"""Which changes the ledger accounts for: real directories, before and after real commands."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rolewall.episode.attribution import changes_of_phase
from rolewall.episode.deeds import Deeds
from rolewall.policies import Attempt, Effect, Kind, Outcome
from rolewall.record import Change
from rolewall.sandbox import BlobStore, take

EXCHANGE = (
    "python3 -c 'import ctypes, sys; c = ctypes.CDLL(None).syscall;"
    ' nr = {"x86_64": 316, "aarch64": 276}[__import__("os").uname().machine];'
    " sys.exit(c(nr, -100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2))' "
)
TMPFILE = (
    'python3 -c \'import os; f = os.open(".", os.O_TMPFILE | os.O_RDWR); os.write(f, b"t");'
    ' os.link(f"/proc/self/fd/{f}", "new", src_dir_fd=f)\''
)


def attempt(line: str) -> Attempt:
    """``EFFECT PATH…``, relative to the workspace; ``exchange`` is a rename."""
    word, *names = line.split()
    effect = Effect.RENAME if word == "exchange" else Effect(word)
    flags = ("RENAME_EXCHANGE",) if word == "exchange" else ()
    paths = tuple("/workspace" if name == "." else f"/workspace/{name}" for name in names)
    return Attempt(
        1.0, "verifier", 2, 5, "sh", "/usr/bin/sh", "call", effect, paths, flags, "workspace",
        "executor", Kind.EDIT, Outcome.ALLOWED, "",
    )  # fmt: skip


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    (root / "d" / "e").mkdir(parents=True)
    for name in ("a.py", "b.py", "d/x.py", "d/y.py", "d/e/z.py", "h1"):
        (root / name).write_text(f"{name}\n")
    os.link(root / "h1", root / "h2")
    for path in (root, *root.rglob("*")):
        os.utime(path, (1, 1))
    return root


def changed(
    workspace: Path, script: str, attempts: list[Attempt], owner: str = "executor"
) -> tuple[Change, ...]:
    store = BlobStore(workspace.parent / "blobs.git")
    before = {"workspace": take(workspace, store)}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(["sh", "-ec", script], cwd=workspace, check=True, env={"PATH": path}, timeout=60)
    after = {"workspace": take(workspace, store, before["workspace"])}
    return tuple(changes_of_phase("verifier", {"workspace": owner}, before, after, attempts))


def missed(workspace: Path, script: str, attempts: list[Attempt]) -> set[str]:
    changes = changed(workspace, script, attempts)
    assert changes, "nothing changed: the case shows nothing"
    return {change.path for change in changes if not change.attributed}


ACCOUNTED = {
    "write": ("echo 2 > a.py", ["create-write a.py"]),
    "mmap and descriptors": ("echo 2 > a.py", ["write a.py"]),
    "mode": ("chmod 600 a.py", ["mode a.py"]),
    "times": ("touch -d @9 a.py", ["times a.py"]),
    "new": ("echo n > n; mkdir m; ln -s x s", ["create-write n", "create m", "create s"]),
    "remove": ("rm -r d", ["unlink " + n for n in ("d/x.py", "d/y.py", "d/e/z.py", "d/e", "d")]),
    "new in place": ("rm a.py; mkdir a.py", ["unlink a.py", "create a.py"]),
    "renamed": ("mv d g", ["rename d g"]),
    "renamed, then written": ("mv d g; echo 2 > g/x.py", ["rename d g", "write g/x.py"]),
    "written, then renamed": ("echo 2 > d/x.py; mv d g", ["write d/x.py", "rename d g"]),
    "there and back": (
        "mv d g; echo 2 > g/x.py; mv g d",
        ["rename d g", "write g/x.py", "rename g d"],
    ),
    "renamed twice": ("mv d g; mv g/e f", ["rename d g", "rename g/e f"]),
    "renamed, then removed": ("mv d g; rm g/x.py", ["rename d g", "unlink g/x.py"]),
    "renamed over": ("mv a.py b.py", ["rename a.py b.py"]),
    "by a temporary": ("echo 2 > t; mv t a.py", ["create t", "rename t a.py"]),
    "round": (
        "mv a.py t; mv b.py a.py; mv t b.py",
        ["rename a.py t", "rename b.py a.py", "rename t b.py"],
    ),
    "exchange": (f"{EXCHANGE} a.py d", ["exchange a.py d"]),
    "link": ("ln a.py n", ["link a.py n"]),
    "link, then written": ("ln a.py n; echo 2 > n", ["link a.py n", "write n"]),
    "link, written, removed": (
        "ln a.py n; echo 2 > n; rm n",
        ["link a.py n", "write n", "unlink n"],
    ),
    "one of two names written": ("echo 2 > h1", ["write h1"]),
    "one of two names removed": ("rm h1", ["unlink h1"]),
    "a link in its place": (
        "rm a.py; echo t > t; ln t a.py; rm t",
        ["unlink a.py", "create t", "link t a.py", "unlink t"],
    ),
    "unnamed, then linked": (TMPFILE, ["create-unnamed .", "link #123 new"]),
    "came and went": ("touch d/t; rm d/t", ["create d/t", "unlink d/t"]),
    "came and went at the top": ("touch t; rm t", ["create t", "unlink t"]),
    "directory made anew": (
        "mv d g; mkdir d; echo 2 > d/x.py",
        ["rename d g", "create d", "create-write d/x.py"],
    ),
}

MISSED = {
    "nothing seen": ("echo 2 > a.py", [], {"a.py"}),
    "another file": ("echo 2 > a.py", ["write b.py"], {"a.py"}),
    "another effect": ("echo 2 > a.py", ["mode a.py", "times a.py"], {"a.py"}),
    "mode beside a write": ("echo 2 > a.py; chmod 600 a.py", ["create-write a.py"], {"a.py"}),
    "made elsewhere": ("touch n", ["create m", "create-unnamed .", "write ."], {"n"}),
    "written below a renamed": ("mv d g; echo 2 > g/x.py", ["rename d g"], {"g/x.py"}),
    "written, there and back": (
        "mv d g; mv g d; echo 2 > d/x.py",
        ["rename d g", "rename g d"],
        {"d/x.py"},
    ),
    "removed below a renamed": ("mv d g; rm g/x.py", ["rename d g"], {"d/x.py", "g"}),
    "removed after its rename": ("mv a.py b.py; rm b.py", ["rename a.py b.py"], {"a.py"}),
    "made below a renamed": ("mv d g; touch g/n", ["rename d g"], {"g/n", "g"}),
    "below a removed": (
        "rm d/x.py; echo 2 > d/y.py",
        ["unlink d"],
        {"d/x.py", "d/y.py"},
    ),
    "renamed unseen": ("mv a.py n", ["rename b.py m"], {"a.py", "n"}),
    "another link": ("ln a.py n", ["link b.py n"], {"a.py", "n"}),
    "removed after a link": ("ln a.py n; rm a.py", ["link a.py n"], {"a.py"}),
    "one of two names removed": ("rm h1", ["link h1 n"], {"h1"}),
    "a link where none was": ("echo n > n", ["link a.py n"], {"n"}),
    "removed with a link of it": (
        "ln a.py n; rm n a.py",
        ["link a.py n", "unlink n"],
        {"a.py"},
    ),
    "written beside a link made anew": (
        "ln a.py n; rm n; touch n; echo 2 > a.py",
        ["link a.py n", "unlink n", "create n"],
        {"a.py"},
    ),
    "time of a directory": ("touch d/t; rm d/t", ["mode d", "write d/x.py"], {"d"}),
    "time beside a write in it": (
        "echo 2 > d/x.py; touch -d @9 d",
        ["write d/x.py"],
        {"d"},
    ),
    "round in a circle": (
        "echo 2 > d/x.py",
        ["rename d d/e/f", "rename d/e d", "rename d/e/f d/e/f/g"],
        {"d/x.py"},
    ),
}


@pytest.mark.parametrize("name", ACCOUNTED)
def test_an_attempt_accounts_for_what_it_can_have_changed(workspace: Path, name: str) -> None:
    script, lines = ACCOUNTED[name]
    assert missed(workspace, script, [attempt(line) for line in lines]) == set()


@pytest.mark.parametrize("name", MISSED)
def test_and_for_nothing_else(workspace: Path, name: str) -> None:
    script, lines, wanted = MISSED[name]
    assert missed(workspace, script, [attempt(line) for line in lines]) == wanted


@pytest.mark.parametrize("name", ACCOUNTED)
def test_without_attempts_every_change_is_unattributed(workspace: Path, name: str) -> None:
    changes = changed(workspace, ACCOUNTED[name][0], [])
    assert changes and not any(change.attributed for change in changes)
    assert all(change.cross_role for change in changes)


@pytest.mark.parametrize(
    "harmless",
    [{"outcome": Outcome.BLOCKED}, {"outcome": Outcome.UNKNOWN}, {"kind": Kind.INCIDENTAL}],
)
def test_an_attempt_that_did_nothing_accounts_for_nothing(
    workspace: Path, harmless: dict[str, object]
) -> None:
    tried = replace(attempt("create-write a.py"), **harmless)  # type: ignore[arg-type]
    assert missed(workspace, "echo 2 > a.py", [tried]) == {"a.py"}


def test_a_role_s_own_changes_need_no_attempt(workspace: Path) -> None:
    changes = changed(workspace, "echo 2 > a.py; rm b.py", [], owner="verifier")
    assert {change.path for change in changes} == {"a.py", "b.py"}
    assert all(change.attributed and not change.cross_role for change in changes)


def test_many_names_of_one_file_are_bounded(workspace: Path) -> None:
    """A file with thousands of names, changed unseen: each is unattributed, and soon."""
    for number in range(1500):
        os.link(workspace / "a.py", workspace / "d" / f"n{number}")
    names = missed(workspace, "chmod 600 a.py", [attempt("write a.py")])
    assert len(names) == 1501
    assert missed(workspace, "chmod 640 b.py", [attempt("mode b.py")]) == set()


def test_names_without_end_are_followed_to_none() -> None:
    """Renames that each lead deeper: what cannot be followed is not taken as accounted for."""
    deeds = Deeds([attempt("rename d d/d"), attempt("rename d/d d")])
    assert deeds.names("/workspace/d/x.py") is None
    assert deeds.names("/workspace/other") is None, "the effort of a phase is bounded as a whole"
