"""Reads, where they are observed: the filter, and what of them is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rolewall.policies import (
    Access,
    Effect,
    Judgement,
    Kind,
    Ledger,
    Outcome,
    View,
    ViewZone,
    judge_peek,
    read_ledger,
    verify_ledger,
)
from rolewall.sandbox.tap import WatchSpec
from rolewall.sandbox.tap.bpf import ALLOW, NOTIFY, build_filter, run_filter
from rolewall.sandbox.tap.recorder import Recorder, Seen
from rolewall.sandbox.tap.syscalls import ARCHES, by_number
from rolewall.sandbox.tap.task import TaskFacts
from rolewall.sandbox.tap.wire import WatchSummary

SPEC = ViewZone("spec", "harness", Access.HIDDEN)
EDIT = Judgement(Kind.EDIT, Outcome.BLOCKED, "workspace", "executor", "mount is read-only")
CLOEXEC, PATH = 0o2000000, 0o10000000


@pytest.fixture(params=sorted(ARCHES))
def arch(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def openings(arch: str) -> dict[str, tuple[int, int]]:
    """Number and index of the flags of each call that opens by path."""
    index = {"open": 1, "openat": 2}
    rows = by_number(arch).items()
    return {row.name: (number, index[row.name]) for number, row in rows if row.name in index}


def test_with_reads_every_open_is_notified(arch: str) -> None:
    machine, program = ARCHES[arch], build_filter(arch, reads=True)
    high = 0xDEADBEEF << 32
    for number, index in openings(arch).values():
        for flags in (0, CLOEXEC, PATH, machine.o_directory, machine.o_nofollow, 1, high):
            args = [0] * index + [flags]
            assert run_filter(program, machine.audit, number, args) == NOTIFY


def test_and_nothing_else_is_decided_otherwise(arch: str) -> None:
    audit, opens = ARCHES[arch].audit, {number for number, _ in openings(arch).values()}
    plain, reads = build_filter(arch), build_filter(arch, reads=True)
    assert plain == build_filter(arch, reads=False) != reads
    tried = [(), (0,) * 6, (1,) * 6, (0xFFFFFFFF,) * 6, (0x40086602,) * 6, (40, 40, 40)]
    for number in range(600):
        for args in tried:
            expected = run_filter(plain, audit, number, args)
            found = run_filter(reads, audit, number, args)
            assert found == (NOTIFY if number in opens else expected), (number, args)
    for number, index in openings(arch).values():
        assert run_filter(plain, audit, number, [0] * index + [CLOEXEC]) == ALLOW


def test_a_look_at_the_hidden_is_blocked_unless_it_is_there() -> None:
    nothing = judge_peek(SPEC, False)
    assert (nothing.kind, nothing.outcome, nothing.zone) == (Kind.PEEK, Outcome.BLOCKED, "spec")
    assert judge_peek(SPEC, None).outcome is Outcome.BLOCKED
    assert judge_peek(SPEC, True).outcome is Outcome.ALLOWED, "a broken wall must not look whole"


@pytest.fixture
def told() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def record(tmp_path: Path, told: list[dict[str, Any]]) -> Recorder:
    spec = WatchSpec("executor", 0, View("executor", ()), tmp_path / "a.jsonl", crossing_budget=10)
    made = Recorder(spec, Ledger(tmp_path / "a.jsonl"), told.append, 20_000)
    made.began = True
    return made


def peek(path: str) -> Seen:
    return Seen("openat", Effect.READ, judge_peek(SPEC, False), TaskFacts(), (path,))


def test_peeks_have_a_budget_of_their_own(
    record: Recorder, told: list[dict[str, Any]], tmp_path: Path
) -> None:
    for number in range(50):
        record.attempt(peek(f"/spec/{number}"))
    unreadable = Judgement(Kind.OUTSIDE, Outcome.UNKNOWN, "", "", "a path could not be read")
    record.attempt(Seen("openat", Effect.READ, unreadable, TaskFacts()))
    for number in range(10):
        edit = Seen("mkdir", Effect.CREATE, EDIT, TaskFacts(), (f"/workspace/{number}",))
        record.attempt(edit)
        record.execution("/usr/bin/true", ["true"], True, 7)
    assert not record.violated and told == []
    summary = WatchSummary.from_json(record.summary())
    assert summary.count("peek") == summary.count("peek", "blocked") == 50
    assert summary.distinct_peeks == 10 and summary.unknown == 1
    assert summary.peeks[0] == ("", "/spec/0")
    assert summary.count("edit") == 10 and summary.execs == 10 and summary.unrecorded == 0
    lines = list(read_ledger(tmp_path / "a.jsonl"))
    assert [line["kind"] for line in lines if line["type"] == "attempt"] == (
        ["peek"] * 10 + ["edit"] * 10
    )
    (note,) = (line["text"] for line in lines if line["type"] == "note")
    assert "spent on peeks" in note
    verify_ledger(tmp_path / "a.jsonl", head=summary.ledger_head, lines=summary.ledger_lines)


def test_edits_beyond_their_budget_are_a_violation_whatever_peeks_have_left(
    record: Recorder, told: list[dict[str, Any]]
) -> None:
    for number in range(11):
        record.attempt(Seen("mkdir", Effect.CREATE, EDIT, TaskFacts(), (f"/workspace/{number}",)))
    assert record.violated and told == [{"violated": True}]


def test_other_reads_are_counted_by_directory(record: Recorder, tmp_path: Path) -> None:
    for path in ("/brief/a", "/brief/b", "/workspace", "/workspace/d/c"):
        record.read(path)
    record.read_outside()
    summary = WatchSummary.from_json(record.summary())
    assert (summary.reads, summary.reads_outside) == (4, 1)
    lines = list(read_ledger(tmp_path / "a.jsonl"))
    assert {line["type"] for line in lines} == {"read"}
    counted: dict[str, int] = {}
    for line in lines:  # a second may end between two of them
        counted[line["directory"]] = counted.get(line["directory"], 0) + line["counts"]["read"]
    assert counted == {"/brief": 2, "/workspace": 1, "/workspace/d": 1}


def test_reads_before_the_beginning_are_the_probe_s(record: Recorder, tmp_path: Path) -> None:
    record.began = False
    record.attempt(peek("/spec/a"))
    record.read("/brief/a")
    record.read_outside()
    summary = WatchSummary.from_json(record.summary())
    assert summary.probe_seen == 3
    assert (summary.count("peek"), summary.reads, summary.reads_outside) == (0, 0, 0)
    assert list(read_ledger(tmp_path / "a.jsonl")) == []
