"""Which changes the ledger accounts for."""

from __future__ import annotations

import pytest

from rolewall.episode.attribution import unattributed
from rolewall.policies import Attempt, Effect, Kind, Outcome
from rolewall.record import Change


def attempt(effect: Effect, *paths: str, outcome: Outcome = Outcome.ALLOWED) -> Attempt:
    return Attempt(
        1.0, "verifier", 2, 5, "sh", "/usr/bin/sh", "call", effect, paths, (), "workspace",
        "executor", Kind.EDIT, outcome, "",
    )  # fmt: skip


def change(path: str, *what: str) -> Change:
    return Change(
        zone="workspace", path=path, change="modified", what=what or ("content",), cross_role=True
    )


ACCOUNTED = [
    (change("a.py"), attempt(Effect.WRITE, "/workspace/a.py")),
    (change("d/a.py"), attempt(Effect.RENAME, "/workspace/e", "/workspace/d")),
    (change("d/e/a.py"), attempt(Effect.UNLINK, "/workspace/d")),
    (change("d", "mtime"), attempt(Effect.CREATE, "/workspace/d/new")),
    (change(".", "mtime"), attempt(Effect.CREATE, "/workspace/new")),
]
MISSED = [
    (change("a.py"), attempt(Effect.WRITE, "/workspace/b.py")),
    (change("a.py"), attempt(Effect.WRITE, "/workspace/a.py", outcome=Outcome.BLOCKED)),
    (change("d/a.py"), attempt(Effect.CREATE, "/workspace/d")),
    (change("d/a.py"), attempt(Effect.MODE, "/workspace/d")),
    (change("d", "mode"), attempt(Effect.CREATE, "/workspace/d/new")),
]


@pytest.mark.parametrize(("made", "seen"), ACCOUNTED)
def test_an_attempt_accounts_for_what_it_can_have_changed(made: Change, seen: Attempt) -> None:
    assert unattributed([made], [seen]) == ()


@pytest.mark.parametrize(("made", "seen"), MISSED)
def test_and_for_nothing_else(made: Change, seen: Attempt) -> None:
    assert unattributed([made], [seen]) == (made,)


def test_a_role_s_own_changes_need_no_attempt() -> None:
    own = Change(zone="verdict", path="verdict.json", change="created", cross_role=False)
    assert unattributed([own], []) == ()
