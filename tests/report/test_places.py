"""Where a report may be written: anywhere, but over what is none and among evidence."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Cli

Here = Callable[..., Any]
EVIDENCE = (
    "run.json",
    ".lock",
    "new.html",
    "seal.json",
    "further/new.html",
    "blobs.git/x",
    "blobs.git/HEAD",
    "episodes/new.html",
    "{episode}/report.html",
    "{episode}/new.html",
    "{episode}/transcripts/02-verifier.stderr",
    "{episode}/../../run.json",
)


def contents(path: Path) -> dict[str, bytes]:
    return {os.fspath(p): p.read_bytes() for p in path.rglob("*") if p.is_file()}


@pytest.fixture
def run(builder: Any) -> Path:
    directory = builder.add()
    (directory / "transcripts").mkdir(exist_ok=True)
    (directory / "transcripts" / "02-verifier.stderr").write_bytes(b"")
    path: Path = builder.finish()
    (path / ".lock").touch()
    return path


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "r.csv"
    path.write_text("task,verdict,grade\na,approve,fail\n")
    return path


@pytest.mark.parametrize("of", ["the run", "records", "a link to it"])
def test_nothing_is_written_among_a_runs_evidence(
    run: Path, records: Path, here: Here, of: str, tmp_path: Path
) -> None:
    """Whatever the report is of, and also where nothing, or an empty file, is there."""
    (tmp_path / "link").symlink_to(run)
    (tmp_path / "deep").symlink_to(next((run / "episodes").iterdir()))
    episode = next((run / "episodes").iterdir()).relative_to(run)
    before = contents(run)
    source = records if of == "records" else run
    root = tmp_path / "link" if of == "a link to it" else run
    for place in (*(root / name.format(episode=episode) for name in EVIDENCE),
                  tmp_path / "deep" / "new.html"):  # fmt: skip
        done = here(source, "-o", place)
        assert done.code == 2 and "in a run directory" in done.err, (place, done.err)
    assert contents(run) == before and not (run / "further").exists()
    assert here(source, "-o", root / "report.html").code == 0
    assert contents(run).keys() - before.keys() == {os.fspath(run / "report.html")}


def test_records_inside_a_run_have_their_report_elsewhere(
    run: Path, here: Here, tmp_path: Path
) -> None:
    (record,) = run.glob("episodes/*/episode.json")
    line = tmp_path / "of.jsonl"
    line.write_text(json.dumps(json.loads(record.read_text())) + "\n")
    (run / "episodes" / "of.jsonl").write_text(line.read_text())
    assert here(run / "episodes" / "of.jsonl").code == 2
    assert here(line).code == 0 and (tmp_path / "of.jsonl.report.html").is_file()


@pytest.mark.parametrize(("there", "code"), [(b"", 2), (b"notes", 2), (b"<!DOCTYPE html>x", 0)])
def test_a_file_is_replaced_where_it_is_a_report(
    records: Path, here: Here, tmp_path: Path, there: bytes, code: int
) -> None:
    place = tmp_path / "out"
    place.write_bytes(there)
    done = here(records, "-o", place)
    assert done.code == code, done.err
    assert ("exists and is no report" in done.err) == bool(code)
    assert (place.read_bytes() == there) == bool(code)


def test_an_empty_report_of_a_run_is_made_anew(run: Path, here: Here) -> None:
    (run / "report.html").touch()
    assert here(run).code == 0 and (run / "report.html").stat().st_size


def test_the_directories_of_what_is_asked_for_are_made(records: Path, cli: Cli) -> None:
    """As the gate makes them, and with the same words where they cannot be."""
    asked = {
        "report": ["report", records, "-o"],
        "gate": ["gate", records, "--max-false-approval", "0.5", "--junit"],
    }
    for name, words in asked.items():
        place = records.parent / name / "a" / "out"
        assert cli(*words, place).code != 2 and place.is_file()
        assert "cannot write: File exists" in cli(*words, records / "out").err
    assert records.read_text().startswith("task,")


def test_another_programs_run_json_is_no_run(records: Path, here: Here, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    assert here(records, "-o", tmp_path / "docs" / "out.html").code == 0
    assert (tmp_path / "docs" / "out.html").is_file()


@pytest.mark.parametrize("option", ["--junit", "--badge", "--summary"])
def test_the_gate_writes_nothing_among_a_runs_evidence_either(
    run: Path, cli: Cli, option: str, tmp_path: Path
) -> None:
    before = contents(run)
    asked = ("gate", run, "--max-false-approval", "0.5", option)
    for name in ("run.json", "new/gate.xml", "episodes/x", "blobs.git/HEAD"):
        done = cli(*asked, run / name)
        assert done.code == 2 and f"{option}: in a run directory" in done.err, done.err
    wrong = cli("gate", run, "--max-false-approval", "nan", option, run / "episodes" / "x")
    assert wrong.code == 2
    assert contents(run) == before and not (run / "new").exists()
    assert cli(*asked, tmp_path / "gate.out").code == 4 and (tmp_path / "gate.out").is_file()
