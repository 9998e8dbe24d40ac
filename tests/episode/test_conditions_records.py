"""Records of episodes without a verifier, and of those made before there were any."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rolewall.errors import RecordError
from rolewall.record import EpisodeRecord
from rolewall.recordfile import parse, write_record
from rolewall.rows import row_of

GRADE = {"grade": "pass", "trust": "outside", "score": 0.5}
PHASE = {"index": 0, "role": "executor", "round": 1, "started": 1.0, "ended": 2.0,
         "outcome": "done", "returncode": 0}  # fmt: skip
ROW = {"round": 1, "phase": 0, "verdict": "approve", "grade_after": GRADE}
SOLO: dict[str, Any] = {
    "schema_version": 1, "key": "k", "task": "t", "team": "m", "condition": "solo", "trial": 0,
    "seed": 0, "backend": "bubblewrap", "image": "host", "started": 1.0, "ended": 2.0,
    "status": "complete", "verdict": "missing", "grade": "pass", "isolated": True,
    "trust": "outside", "phases": [PHASE], "verdicts": [], "attempts": {"executor": {}},
    "ledger_head": "a" * 64, "ledger_lines": 1, "digests": {"task": "a", "team": "b", "code": "c"},
    "verified": False, "final": GRADE,
}  # fmt: skip


def read(**changes: Any) -> EpisodeRecord:
    return parse(EpisodeRecord, json.dumps(SOLO | changes).encode(), "here")


def test_the_final_grade_is_the_headline_and_the_score() -> None:
    record = read()
    assert (record.verdict, record.grade, record.verified) == ("missing", "pass", False)
    row = row_of(record)
    assert (row.verified, row.score, row.grade, row.isolated) == (False, 0.5, "pass", True)
    assert record.summary()["verified"] is False


def test_a_record_from_before_says_what_it_said() -> None:
    old = {name: value for name, value in SOLO.items() if name not in ("verified", "final")}
    old |= {"condition": "enforced", "verdict": "approve", "verdicts": [ROW],
            "phases": [PHASE | {"role": "verifier"}], "attempts": {"verifier": {}}}  # fmt: skip
    record = parse(EpisodeRecord, json.dumps(old).encode(), "here")
    assert record.verified and row_of(record).verified and row_of(record).score == 0.5
    assert "verified" not in record.summary()  # the seals of such records stay as they are


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"verified": True}, "verified is True, condition solo makes it False"),
        ({"condition": "enforced"}, "verified is False, condition enforced makes it True"),
        ({"final": None}, "headline grade is pass, a record without verifier makes it error"),
        ({"final": GRADE | {"grade": "fail"}}, "a record without verifier makes it fail"),
        ({"final": GRADE | {"trust": "in-process"}}, "its final grade makes it in-process"),
        ({"verdict": "approve"}, "headline verdict is approve, a record without verifier"),
        ({"verdicts": [ROW]}, "it has no verifier and 1 verdict rows"),
        ({"isolated": False}, "headline isolated is False"),
        (
            {"phases": [PHASE | {"role": "verifier"}], "attempts": {"verifier": {}}},
            "it has no verifier, and phase 0 is a verifier's",
        ),
        ({"condition": "enforced", "verified": True}, "a final grade beside its verdict rows"),
    ],
)
def test_a_record_that_contradicts_itself_is_none(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(RecordError, match=words):
        read(**changes)


def test_a_final_grade_that_does_not_fit_loses_its_details(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rolewall.recordfile.RECORD_CAP", 50_000)
    large = {"output": "-" * 60_000}
    record = EpisodeRecord.model_validate(SOLO | {"final": GRADE | {"details": large}})
    made = write_record(tmp_path, record)
    assert made.status == "complete" and made.final is not None
    assert made.final.details == {"omitted": "they do not fit"}
