from __future__ import annotations

import pytest

from rolewall.errors import RecordError
from rolewall.policies import (
    Access,
    Attempt,
    Call,
    Effect,
    Judgement,
    Kind,
    Outcome,
    Target,
    View,
    ViewZone,
    is_own,
    judge,
)


def view(workspace: Access = Access.READ) -> View:
    return View(
        "verifier",
        (
            ViewZone("spec", "harness", Access.READ),
            ViewZone("grader", "harness", Access.HIDDEN),
            ViewZone("workspace", "executor", workspace),
            ViewZone("verdict", "verifier", Access.WRITE),
            ViewZone("tmp", "verifier", Access.WRITE, private=True),
        ),
    )


READ, WRITE = view(), view(Access.WRITE)


def one(
    path: str,
    effect: Effect = Effect.CREATE_WRITE,
    *,
    seen: View = READ,
    exists: bool | None = True,
    read_only: bool | None = None,
    permits: bool | None = None,
) -> Judgement:
    return judge(seen, Call("x", effect, (Target(path, exists, read_only, permits),)))


def two(first: str, second: str, effect: Effect = Effect.RENAME, seen: View = READ) -> Judgement:
    return judge(seen, Call("x", effect, (Target(first, True), Target(second))))


@pytest.mark.parametrize(
    "path",
    ["/workspace", "/workspace/app.py", "/workspace/a/b", "/spec/spec.md", "/workspace/.git/HEAD",
     "/workspace/.git/index", "/workspace/mod.pyc", "/workspace/__pycache__/evil.py",
     "/workspace/__pycache__/x.pyc/y", "/workspace/.pytest_cache/conftest.py",
     "/workspace/__pycache__.py", "/workspace/x.pytest_cache", "/workspace/index.lock",
     "/workspace/a\n/__pycache__/b\n.py"],
)  # fmt: skip
def test_writes_to_anothers_zone_are_edits(path: str) -> None:
    found = one(path)
    assert (found.kind, found.outcome) == (Kind.EDIT, Outcome.BLOCKED)
    assert found.zone == path.split("/")[1]
    assert found.owner in ("executor", "harness")


@pytest.mark.parametrize(
    "path",
    ["/workspace/__pycache__", "/workspace/a/__pycache__/m.cpython-311.pyc",
     "/workspace/__pycache__/m.cpython-311.pyc.139872", "/workspace/.pytest_cache",
     "/workspace/.pytest_cache/v/cache/lastfailed", "/workspace/.pytest_cache/CACHEDIR.TAG",
     "/workspace/pytest-cache-files-ab12"],
)  # fmt: skip
def test_cache_noise_is_incidental(path: str) -> None:
    assert one(path).kind is Kind.INCIDENTAL
    assert one(path, Effect.MODE).kind is Kind.EDIT
    assert one(path, Effect.XATTR).kind is Kind.EDIT


@pytest.mark.parametrize(
    "path",
    ["/workspace/__pycache__/m.cpython-311.pyc", "/workspace/__pycache__",
     "/workspace/a/__pycache__/m.cpython-311.pyc.139872", "/workspace/.pytest_cache/v/x"],
)  # fmt: skip
def test_a_cache_that_lands_is_content(path: str) -> None:
    for effect in (Effect.CREATE_WRITE, Effect.RENAME):
        found = one(path, effect, seen=WRITE)
        assert (found.kind, found.outcome) == (Kind.EDIT, Outcome.ALLOWED)
        for blocked in ({"read_only": True}, {"permits": False}):
            found = one(path, effect, seen=WRITE, **blocked)
            assert (found.kind, found.outcome) == (Kind.INCIDENTAL, Outcome.BLOCKED)
    temporary = "/workspace/__pycache__/m.pyc.7"
    assert one(temporary, Effect.UNLINK, seen=WRITE).kind is Kind.EDIT
    assert one(temporary, Effect.UNLINK).kind is Kind.INCIDENTAL


def test_taking_gits_lock_and_renaming_onto_its_index_are_edits() -> None:
    git = "/workspace/.git"
    assert one(f"{git}/index.lock").kind is Kind.EDIT
    assert two(f"{git}/index.lock", f"{git}/index").kind is Kind.EDIT
    assert two(f"{git}/x", f"{git}/index").kind is Kind.EDIT


def test_a_rename_between_a_cache_and_anything_else_is_an_edit() -> None:
    assert two("/workspace/app.py", "/workspace/__pycache__/a.pyc").kind is Kind.EDIT
    assert two("/workspace/__pycache__/a.pyc.1", "/workspace/app.py").kind is Kind.EDIT


def test_what_changes_nothing_is_incidental() -> None:
    assert one("/workspace/d", Effect.CREATE, exists=True).kind is Kind.INCIDENTAL
    assert one("/workspace/d", Effect.CREATE, exists=False).kind is Kind.EDIT
    assert one("/workspace/d", Effect.CREATE, exists=None).kind is Kind.EDIT
    assert one("/workspace/none", Effect.UNLINK, exists=False).kind is Kind.INCIDENTAL
    assert one("/workspace/none", Effect.CREATE_WRITE, exists=False).kind is Kind.EDIT
    assert one("/workspace/app.py", Effect.CREATE_WRITE, exists=True).kind is Kind.EDIT


def test_a_hidden_zone_is_never_incidental() -> None:
    for effect in (Effect.UNLINK, Effect.WRITE, Effect.CREATE):
        found = one("/grader/tests.py", effect, exists=False)
        assert (found.kind, found.outcome, found.owner) == (Kind.EDIT, Outcome.BLOCKED, "harness")
    assert one("/grader/__pycache__").kind is Kind.EDIT


def test_measurement_beats_the_view() -> None:
    assert one("/workspace/a", seen=WRITE).outcome is Outcome.ALLOWED
    assert one("/workspace/a", seen=WRITE, read_only=True).outcome is Outcome.BLOCKED
    assert one("/workspace/a", seen=READ, read_only=False).outcome is Outcome.ALLOWED
    assert one("/workspace/a", seen=WRITE, permits=False).outcome is Outcome.BLOCKED
    assert one("/workspace/a", seen=WRITE, permits=True).outcome is Outcome.ALLOWED


@pytest.mark.parametrize(
    "path",
    ["/verdict/verdict.json", "/tmp/x", "/dev/null", "/dev/tty", "/dev/shm/sem.a", "/dev/pts/0",
     "/proc/17/oom_score_adj", "/proc/17/task/18/comm"],
)  # fmt: skip
def test_own_places(path: str) -> None:
    assert is_own(READ, path)
    assert one(path).kind is Kind.OWN


@pytest.mark.parametrize(
    "path",
    ["/", "/etc/passwd", "/usr/bin/x", "/dev/sda", "/dev/shmoo", "/dev/null/x", "/proc/1/mem",
     "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/verdicts/x", "/rolewall/bin/x",
     "/dev/null\n"],
)  # fmt: skip
def test_outside_places(path: str) -> None:
    assert not is_own(READ, path)
    found = one(path, read_only=True)
    assert (found.kind, found.outcome, found.zone) == (Kind.OUTSIDE, Outcome.BLOCKED, "")
    assert one(path, read_only=False, permits=False).outcome is Outcome.BLOCKED
    assert one(path).outcome is Outcome.UNKNOWN


def test_the_crossing_path_decides_and_mounts_are_not_crossed() -> None:
    for first, second in (("/workspace/a", "/tmp/a"), ("/tmp/a", "/workspace/a")):
        found = two(first, second, seen=WRITE)
        assert (found.kind, found.zone) == (Kind.EDIT, "workspace")
        assert found.outcome is Outcome.BLOCKED
    assert two("/workspace/a", "/workspace/b", seen=WRITE).outcome is Outcome.ALLOWED
    assert two("/tmp/a", "/verdict/b").kind is Kind.OWN


def test_denied_and_unreadable() -> None:
    denied = judge(READ, Call("mount", Effect.MOUNT, None, denied=True))
    assert (denied.kind, denied.outcome) == (Kind.PRIVILEGED, Outcome.DENIED)
    assert judge(READ, Call("open", Effect.WRITE, None)).outcome is Outcome.UNKNOWN


def test_a_view_survives_the_wire() -> None:
    assert View.from_json(READ.to_json()) == READ


def attempt() -> Attempt:
    return Attempt(
        1.5, "verifier", 2, 7, "sed", "/usr/bin/sed", "openat", Effect.WRITE, ("/workspace/a",),
        ("O_WRONLY",), "workspace", "executor", Kind.EDIT, Outcome.BLOCKED, "mount is read-only",
    )  # fmt: skip


def test_an_attempt_survives_its_line() -> None:
    line = {**attempt().to_line(), "paths": ["/workspace/a"], "flags": ["O_WRONLY"], "seq": 1}
    assert Attempt.from_line(line) == attempt()


@pytest.mark.parametrize(
    "change",
    [{"kind": "evil"}, {"pid": "7"}, {"pid": True}, {"paths": "x"}, {"paths": [1]}, {"time": "x"},
     {"more": 1}],
)  # fmt: skip
def test_a_line_that_is_no_attempt_is_refused(change: dict[str, object]) -> None:
    line = {**attempt().to_line(), "paths": [], "flags": [], **change}
    with pytest.raises(RecordError):
        Attempt.from_line(line, place="audit.jsonl:3")
