from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rolewall.errors import RecordError
from rolewall.rundir import open_run
from rolewall.timeline import SHOWN, find_episode, read_timeline


def timeline(builder: Any, **fields: Any) -> Any:
    directory = builder.add(**fields)
    run = open_run(builder.finish())
    return read_timeline(directory, run.records[0])


def test_phases_attempts_changes_and_verdict_in_order(builder: Any) -> None:
    lines = timeline(builder, verdict="approve", grade="fail", edits=2, landed=True).lines()
    text = "\n".join(lines)
    order = [
        "verdict approve, grade fail",
        "phase 0 planner, round 1: +0.00 s, took 0.90 s, done, exit 0",
        "phase 2 verifier",
        "2 cross-role edits (1 distinct, 0 blocked, 2 allowed)",
        "+2.01 s allowed openat /workspace/app.py by /usr/bin/sed (the mount is writable)",
        "verifier modified /workspace/app.py (content)  CROSS-ROLE",
        "verdict approve | grade before fail (1 test failed), after not taken",
        "claims to have run pytest: seen no",
        "ledger: 4 lines",
    ]
    places = [text.find(part) for part in order]
    assert text.count("handoff sealed") == 3
    assert -1 not in places and places == sorted(places)


def test_blocked_attempts_are_listed_and_change_nothing(builder: Any) -> None:
    text = "\n".join(timeline(builder, edits=1).lines())
    assert "blocked openat /workspace/app.py" in text and "CROSS-ROLE" not in text


def test_a_flood_is_capped_with_its_count(builder: Any) -> None:
    made = timeline(builder, edits=SHOWN + 7)
    lines = made.lines()
    assert sum("blocked openat" in line for line in lines) == SHOWN
    assert any("and 7 more in audit.jsonl" in line for line in lines)
    assert made.json()["attempts"]["2"]["counts"] == {"edit blocked": SHOWN + 7}


def test_errors_are_shown(builder: Any) -> None:
    made = timeline(
        builder, status="error", grade="error", error={"kind": "BoxError", "message": "gone"}
    )
    assert "error BoxError: gone" in made.lines()


def test_json_is_json(builder: Any) -> None:
    data = json.loads(json.dumps(timeline(builder, edits=1).json(), allow_nan=False))
    assert data["record"]["task"] == "t0" and len(data["attempts"]["2"]["listed"]) == 1


def test_an_altered_ledger_is_refused_with_its_line(builder: Any) -> None:
    directory: Path = builder.add(edits=1)
    run = open_run(builder.finish())
    path = directory / "audit.jsonl"
    path.write_bytes(path.read_bytes().replace(b"sed", b"xed"))
    with pytest.raises(RecordError, match=r"audit\.jsonl:"):
        read_timeline(directory, run.records[0])


def test_an_episode_is_found_by_key_or_name(builder: Any) -> None:
    builder.add(task="a")
    builder.add(task="b")
    records = open_run(builder.finish()).records
    assert find_episode(records, records[0].key[:8]) is records[0]
    assert find_episode(records, "b:enforced:0").task == "b"
    for name in ("c:enforced:0", "zz", ""):
        with pytest.raises(RecordError, match="no such episode"):
            find_episode(records, name)


def test_a_name_that_means_two_is_refused(record: Any) -> None:
    records = [record(task="a", key="ab1"), record(task="b", key="ab2")]
    with pytest.raises(RecordError, match="2 episodes"):
        find_episode(records, "ab")
    assert find_episode(records, "ab2").task == "b"
