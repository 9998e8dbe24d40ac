from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolewall.audit import audit_run
from rolewall.errors import RecordError


@pytest.fixture
def episode(builder: Any) -> Path:
    """One episode of a run with all its evidence."""
    directory: Path = builder.add(task="a", edits=3, landed=True)
    builder.finish()
    return directory


def run_of(episode: Path) -> Path:
    return episode.parent.parent


def altered(episode: Path) -> list[str]:
    report = audit_run(run_of(episode))
    found = [f.line() for f in report.findings if f.level == "altered"]
    assert report.exit_code == int(bool(found))
    return found


def edit(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def test_an_untouched_run_holds(episode: Path) -> None:
    report = audit_run(run_of(episode))
    assert (report.exit_code, report.findings) == (0, ())
    assert (report.episodes, report.ledgers, report.manifests, report.handoffs) == (1, 1, 3, 3)
    assert "all holds" in report.lines()[-1]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_a_flipped_bit_anywhere_in_the_ledger_is_found(episode: Path, data: st.DataObject) -> None:
    path = episode / "audit.jsonl"
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    bit = 1 << data.draw(st.integers(0, 7))
    try:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
        assert any(f"{path}:" in line for line in altered(episode))
    finally:
        path.write_bytes(whole)
    assert altered(episode) == []


def test_lines_taken_added_or_swapped_are_found(episode: Path) -> None:
    path = episode / "audit.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for changed in (
        lines[:-1],
        lines[1:],
        [*lines[:2], *lines[3:]],
        [*lines, lines[-1]],
        [lines[1], lines[0], *lines[2:]],
        [],
    ):
        path.write_bytes(b"".join(changed))
        assert altered(episode)
    path.unlink()
    assert "gone; it had 5 lines" in altered(episode)[0]


def test_a_ledger_that_is_a_link_is_no_ledger(episode: Path, tmp_path: Path) -> None:
    path = episode / "audit.jsonl"
    path.rename(tmp_path / "away")
    path.symlink_to(tmp_path / "away")
    assert "not a regular file" in altered(episode)[0]


def test_a_changed_manifest_is_named(episode: Path) -> None:
    path = episode / "manifests" / "01-executor-workspace.jsonl"
    path.write_bytes(path.read_bytes().replace(b"app.py", b"bpp.py"))
    found = altered(episode)
    assert len(found) == 1 and str(path) in found[0] and "the record says" in found[0]


def test_manifests_swapped_taken_or_added_are_named(episode: Path) -> None:
    place = episode / "manifests"
    one, two = place / "00-planner-workspace.jsonl", place / "01-executor-workspace.jsonl"
    kept = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(kept)
    assert len(altered(episode)) == 2
    one.rename(place / "extra.jsonl")
    found = "\n".join(altered(episode))
    assert f"{one}: gone" in found and "extra.jsonl: an orphan" in found


def test_a_start_state_is_held_to_its_digest_where_the_record_has_it(episode: Path) -> None:
    path = episode / "manifests" / "start-workspace.jsonl"
    path.write_bytes(b"start\n")
    assert altered(episode) == []
    assert "sealed by no record" in audit_run(run_of(episode)).lines()[0]
    record = json.loads((episode / "episode.json").read_text())
    digest = hashlib.sha256(b"start\n").hexdigest()
    edit(episode / "episode.json", digests={**record["digests"], "start:workspace": digest})
    assert audit_run(run_of(episode)).findings == ()
    path.write_bytes(b"other\n")
    assert str(path) in altered(episode)[0]


def test_edits_taken_out_of_a_ledger_sealed_anew_are_missed_in_the_record(episode: Path) -> None:
    from rolewall.policies import Ledger, read_ledger

    path = episode / "audit.jsonl"
    kept = [line for line in read_ledger(path) if line["type"] != "attempt"]
    path.unlink()
    with Ledger(path) as ledger:
        for line in kept:
            ledger.append({k: v for k, v in line.items() if k not in ("seq", "prev")})
        edit(episode / "episode.json", ledger_head=ledger.head, ledger_lines=ledger.lines)
    assert any("0 edits in phase 2, the record counts 3" in line for line in altered(episode))


@pytest.mark.parametrize("old, new", [(b"done", b"d0ne"), (b"  ", b"   ")])
def test_a_changed_handoff_is_found(episode: Path, old: bytes, new: bytes) -> None:
    path = episode / "handoffs" / "01-executor.json"
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    assert any(str(path) in line for line in altered(episode))


def test_a_missing_or_foreign_handoff_is_found(episode: Path) -> None:
    path = episode / "handoffs" / "01-executor.json"
    path.rename(episode / "handoffs" / "kept")
    assert altered(episode) == []
    (episode / "handoffs" / "kept").unlink()
    assert any("no file is handoff" in line for line in altered(episode))


def test_handoffs_are_chained(episode: Path) -> None:
    from rolewall.roles import Collected, Handoff, complete_and_seal, sealed_bytes

    forged = complete_and_seal(
        Collected(Handoff(schema_version=1, text="forged"), ()),
        author="executor", phase=1, time=1.0, previous=None,
    )  # fmt: skip
    (episode / "handoffs" / "01-executor.json").write_bytes(sealed_bytes(forged))
    record = json.loads((episode / "episode.json").read_text())
    record["phases"][1]["handoff"] = forged.seal.sha256
    edit(episode / "episode.json", **record)
    assert any("sealed to none" in line for line in altered(episode))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"verdict": "reject"}, "its last verdict approve"),
        ({"condition": "prompt-only"}, "its key does not belong"),
        ({"seed": 99}, "its key does not belong"),
        ({"attempts": {}}, "edit_attempted is 0 by role and 3 by phase"),
        ({"ledger_lines": 4}, "not the recorded number of lines"),
        ({"grade": "splendid"}, "episode.json"),
    ],
)
def test_a_record_that_contradicts_itself_is_found(
    episode: Path, fields: dict[str, Any], words: str
) -> None:
    edit(episode / "episode.json", **fields)
    assert any(words in line for line in altered(episode))


def test_orphans_and_lost_transcripts_are_found(episode: Path) -> None:
    (episode / "note.txt").write_text("x")
    (episode / "transcripts" / "0.txt").unlink()
    found = altered(episode)
    assert any("an orphan" in line for line in found)
    assert any("a phase's transcript" in line for line in found)


def test_what_is_absent_is_a_note(episode: Path, builder: Any) -> None:
    (run_of(episode) / "episodes" / "half").mkdir()
    builder.finish(planned=3)
    report = audit_run(run_of(episode))
    assert (report.exit_code, len(report.findings)) == (0, 2)
    assert "2 of 3 planned" in report.lines()[1]


def test_no_run_is_refused(tmp_path: Path, episode: Path) -> None:
    with pytest.raises(RecordError, match="not a run directory"):
        audit_run(tmp_path)
    shutil.rmtree(run_of(episode) / "episodes")
    (run_of(episode) / "episodes").write_text("junk")
    with pytest.raises(RecordError):
        audit_run(run_of(episode))
