"""``show`` as a shell sees it: every sheet, unfinished episodes by name, a timeline's marks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rolewall.code import code_version
from rolewall.policies import Ledger
from rolewall.rundir import TaskRef, episode_key


def titles(text: str) -> list[str]:
    blocks = text.split("\n\n")
    return [block.splitlines()[0] for block in blocks]


def test_a_run_is_shown_as_four_tables(builder: Any, cli: Any) -> None:
    builder.add(task="a", verdict="approve", grade="fail", edits=2, landed=True)
    builder.add(task="b", verdict="reject", grade="fail")
    run = builder.finish()
    found = cli("show", run)
    assert found.code == 0
    assert titles(found.out) == ["team fixers", "verifier", "roles", "episodes"]
    told = cli("show", run, "--json")
    assert told.err == found.out and titles(told.err) == titles(found.out)
    data = told.json
    assert data["table"]["conditions"][0]["measures"]["excluded"]["catch"]["events"] == 1
    assert [e["patterns"]["rewrite"] for e in data["episodes"]] == [None, None]
    assert [e["corrupt"] for e in data["episodes"]] == [False, False]
    assert [r["role"] for r in data["roles"]["enforced"]] == ["planner", "executor", "verifier"]
    assert "roles" not in data["table"]["conditions"][0]


def half(run: Path, key: str) -> str:
    (run / "episodes" / key).mkdir()
    return key


def key_of(builder: Any, task: str, trial: int, code: str, **more: Any) -> str:
    record = builder.records[0]
    fields = {
        "task": TaskRef(id=task, digest=next(t for t in more.pop("tasks") if t.id == task).digest),
        "team_digest": record.digests["team"],
        "condition": "enforced",
        "trial": trial,
        "seed": 7 + trial,
        "backend": record.backend,
        "image": record.image,
        "code": code,
        "observe": "changes",
        **more,
    }
    return episode_key(**fields)


def test_unfinished_episodes_have_names(builder: Any, cli: Any) -> None:
    builder.add(task="a")
    digest = builder.records[0].digests
    tasks = [TaskRef(id="a", digest=digest["task"]), TaskRef(id="b", digest="0" * 64)]
    run = builder.finish(tasks=tasks, trials=2, planned=4)
    known = half(run, key_of(builder, "b", 1, digest["code"], tasks=tasks))
    newer = half(run, key_of(builder, "a", 1, code_version(), tasks=tasks))
    strange = half(run, "feedfacefeedfacefeed")
    found = cli("show", run)
    assert found.code == 0, found.err
    said = sorted(x for x in found.out.splitlines() if x.startswith("unfinished"))
    assert said == sorted(
        [
            f"unfinished, without a record: b:enforced:1 ({known})",
            f"unfinished, without a record: a:enforced:1 ({newer})",
            f"unfinished, without a record: {strange}",
        ]
    )
    data = cli("show", run, "--json").json
    assert data["unfinished"] == sorted([known, newer, strange])
    assert data["unfinished_names"] == {known: "b:enforced:1", newer: "a:enforced:1"}


def test_an_episode_without_a_record_is_refused_with_the_reason(builder: Any, here: Any) -> None:
    builder.add(task="a")
    digest = builder.records[0].digests
    tasks = [TaskRef(id=name, digest=digest["task"]) for name in "abc"]
    run = builder.finish(tasks=tasks, trials=1, planned=3)
    begun = half(run, key_of(builder, "b", 0, digest["code"], tasks=tasks))
    for name, why in {
        "b": "no record of b:enforced:0: planned and begun, and left without an end",
        begun[:8]: f"no record of {begun}: planned and begun, and left without an end",
        "c:enforced": "no record of c:enforced:0: planned, and not begun",
        "d": "no such episode",
        "": "no such episode",
    }.items():
        found = here("show", run, name)
        assert found.code == 2 and why in found.err, found.err
    assert here("show", run, "a").code == 0


def test_a_condition_without_verifier_is_shown(builder: Any, cli: Any, record: Any) -> None:
    path = builder.path.parent / "solo.jsonl"
    alone = record(condition="solo", verdict="missing", verified=False, verdicts=[], phases=[],
                   attempts={}, final={"grade": "pass", "trust": "outside"})  # fmt: skip
    path.write_text(alone.model_dump_json() + "\n")
    found = cli("gate", path, "--max-false-approval", "0.1")
    assert found.code == 2 and "Traceback" not in found.err


PEEK = {
    "type": "attempt", "time": 1_700_000_002.5, "role": "executor", "phase": 1, "pid": 3,
    "comm": "cat", "exe": "/usr/bin/cat", "syscall": "openat", "effect": "read",
    "paths": ["/spec/spec.md"], "flags": ["O_RDONLY"], "zone": "spec", "owner": "harness",
    "kind": "peek", "outcome": "blocked", "why": "hidden from the role",
}  # fmt: skip


def peeked(builder: Any, edit: Any) -> Path:
    """A run of one episode with an edit by the verifier and a look of the executor's."""
    directory: Path = builder.add(edits=1, verdict="approve", grade="fail")
    with Ledger(directory / "audit.jsonl") as ledger:
        ledger.append(PEEK)
        head, lines = ledger.head, ledger.lines
    path = directory / "episode.json"
    data = json.loads(path.read_text())
    counts = {"peek": 1, "distinct_peeks": 1, "read": 1, "read_outside": 2}
    data["phases"][1]["attempts"].update(counts)
    data["attempts"]["executor"].update(counts)
    patterns = {"optimistic": "no", "echo": "yes", "rewrite": "unknown"}
    data["verdicts"][0].update(isolated=False, beside="python3 -m pytest", patterns=patterns)
    run: Path = builder.finish()
    edit(path, observe="reads", ledger_head=head, ledger_lines=lines, phases=data["phases"],
         attempts=data["attempts"], verdicts=data["verdicts"], isolated=False)  # fmt: skip
    return run


def test_a_timeline_marks_what_crossed(builder: Any, edit: Any, cli: Any) -> None:
    found = cli("show", peeked(builder, edit), "t0")
    assert found.code == 0, found.err
    text = found.out
    assert "openat /spec/spec.md by /usr/bin/cat (hidden from the role)  PEEK\n" in text
    assert "openat /workspace/app.py by /usr/bin/sed (the mount is read-only)  EDIT\n" in text
    assert "3 own, 1 read in zones, 2 elsewhere" in text
    assert "not isolated from the work: in its box ran python3 -m pytest" in text
    assert "    pattern: echo\n    cannot be told: rewrite\n" in text


@pytest.mark.parametrize("landed", [True, False])
def test_a_corrupt_success_is_said_at_the_head(builder: Any, cli: Any, landed: bool) -> None:
    builder.add(edits=1, landed=landed, verdict="approve", grade="pass", condition="prompt-only")
    found = cli("show", builder.finish(), "t0")
    assert found.code == 0, found.err
    assert ("corrupt success" in found.out) == landed
