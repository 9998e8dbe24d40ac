"""Sealing what a role left for a caller's own orchestrator: hostile files, and their twins."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rolewall import InputError, RecordError, SealedHandoff, handoff_bytes, read_handoff
from rolewall import seal_handoff as seal

WORDS = {"schema_version": 1, "artifacts": [{"zone": "workspace", "path": "a"}]}


@pytest.fixture
def zones(tmp_path: Path) -> dict[str, Path]:
    made = {"workspace": tmp_path / "workspace", "report": tmp_path / "report"}
    for path in made.values():
        path.mkdir()
    (made["report"] / "handoff.json").write_text(json.dumps(WORDS))
    return made


def sealed_from(zones: dict[str, Path]) -> SealedHandoff:
    return seal(zones["report"], author="executor", zones=zones)


def test_a_file_gets_its_digest_and_a_link_gets_none(zones: dict[str, Path]) -> None:
    (zones["workspace"] / "a").write_text("mine\n")
    assert sealed_from(zones).artifacts[0].sha256
    assert sealed_from(zones).problems == []
    (zones["workspace"] / "a").unlink()
    (zones["workspace"] / "a").symlink_to("/etc/passwd")
    assert sealed_from(zones).artifacts[0].sha256 is None
    assert sealed_from(zones).problems == ["artifact workspace/a does not exist"]


def test_a_linked_handoff_is_not_read_and_a_file_is(zones: dict[str, Path], tmp_path: Path) -> None:
    assert sealed_from(zones).artifacts
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(json.dumps({"schema_version": 1, "text": "stolen"}))
    (zones["report"] / "handoff.json").unlink()
    (zones["report"] / "handoff.json").symlink_to(elsewhere)
    found = sealed_from(zones)
    assert (found.text, found.problems) == ("", ["report/handoff.json: no handoff was written"])


def test_a_fifo_does_not_hold_the_harness_up(zones: dict[str, Path]) -> None:
    (zones["report"] / "handoff.json").unlink()
    os.mkfifo(zones["report"] / "handoff.json")
    assert sealed_from(zones).problems == ["report/handoff.json: no handoff was written"]


def test_junk_becomes_an_empty_handoff_with_the_reason(zones: dict[str, Path]) -> None:
    (zones["report"] / "handoff.json").write_text('{"schema_version": 1, "seal": {}}')
    found = sealed_from(zones)
    assert (found.status, found.artifacts) == ("done", [])
    assert "seal" in found.problems[0]


def test_seals_form_a_chain(zones: dict[str, Path]) -> None:
    first = sealed_from(zones)
    second = seal(zones["report"], author="verifier", phase=1, previous=first, zones=zones)
    assert read_handoff(handoff_bytes(second), previous=first) == second
    with pytest.raises(RecordError, match="sealed to another one"):
        read_handoff(handoff_bytes(second), previous=second)


def test_what_is_no_directory_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a directory"):
        seal(tmp_path / "absent", author="executor")
