"""What one watch may write is bounded in lines and in bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rolewall.policies import (
    Effect,
    Judgement,
    Kind,
    Ledger,
    Outcome,
    View,
    read_ledger,
    shorten,
    verify_ledger,
)
from rolewall.sandbox.tap import WatchSpec
from rolewall.sandbox.tap.recorder import Recorder, Seen
from rolewall.sandbox.tap.task import TaskFacts

EDIT = Judgement(Kind.EDIT, Outcome.BLOCKED, "workspace", "executor", "mount is read-only")
OUTSIDE = Judgement(Kind.OUTSIDE, Outcome.BLOCKED, "", "", "mount is read-only")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def seen(path: str, found: Judgement = EDIT) -> Seen:
    return Seen("openat", Effect.WRITE, found, TaskFacts(), (path,))


def recorder(path: Path, told: list[dict[str, Any]], most_bytes: int) -> Recorder:
    spec = WatchSpec("verifier", 0, View("verifier", ()), path)
    made = Recorder(spec, Ledger(path), told.append, most_bytes)
    made.began = True
    return made


def test_a_long_path_is_recorded_by_its_ends(path: Path) -> None:
    record = recorder(path, [], 1 << 20)
    long = "/workspace/" + "\\xff" * 4000
    record.attempt(seen(long))
    record.attempt(seen("/workspace/app.py"))
    first, second = read_ledger(path)
    assert first["paths"] == [shorten(long)]
    assert len(first["paths"][0]) <= 1024
    assert second["paths"] == ["/workspace/app.py"]


def test_crossings_beyond_the_bytes_are_a_violation(path: Path) -> None:
    told: list[dict[str, Any]] = []
    record = recorder(path, told, 20_000)
    for number in range(100):
        record.attempt(seen(f"/workspace/{number}" + "x" * 900))
        if record.refuses:
            break
    assert record.violated and told == [{"violated": True}]
    assert number < 20
    assert path.stat().st_size < 25_000
    assert record.summary()["attempts"]["edit"]["denied-by-tap"] == 1


def test_a_flood_of_other_lines_loses_itself_and_no_crossing(path: Path) -> None:
    told: list[dict[str, Any]] = []
    record = recorder(path, told, 20_000)
    for number in range(100):
        record.attempt(seen(f"/etc/{number}" + "x" * 900, OUTSIDE))
        record.execution("/usr/bin/true", ["x" * 900], True, 7)
        record.own(f"/tmp/{number}/f", Effect.CREATE)
    record.attempt(seen("/workspace/app.py"))
    summary = record.summary()
    assert not record.violated and told == []
    assert summary["attempts"]["own"]["allowed"] == summary["attempts"]["outside"]["blocked"] == 100
    assert summary["execs"] == 100 and summary["unrecorded"] > 100
    lines = list(read_ledger(path))
    assert path.stat().st_size < 30_000
    assert [line["paths"] for line in lines if line.get("kind") == "edit"] == [
        ["/workspace/app.py"]
    ]
    assert sum(line["type"] == "note" for line in lines) == 1
    verify_ledger(path, head=summary["ledger_head"], lines=summary["ledger_lines"])


def test_own_writes_alone_spend_their_bytes_and_say_so(path: Path) -> None:
    record = recorder(path, [], 1000)
    for second in range(1, 30):
        record.own("/tmp/" + "x" * 200 + "/f", Effect.CREATE)
        record.flush(second)
    lines = list(read_ledger(path))
    assert sum(line["type"] == "note" for line in lines) == 1
    assert sum(line["type"] == "own" for line in lines) < 5
    assert record.summary()["attempts"]["own"]["allowed"] == 29
