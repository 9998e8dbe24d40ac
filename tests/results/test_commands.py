"""``show``, ``gate`` and ``audit`` through a real process, as a shell sees them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def rolewall(*arguments: object) -> subprocess.CompletedProcess[str]:
    found = subprocess.run(
        [sys.executable, "-c", "from rolewall.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in found.stderr
    return found


@pytest.fixture
def run(builder: Any) -> Path:
    builder.add(task="a", verdict="approve", grade="fail", edits=2, landed=True)
    builder.add(task="b", verdict="reject", grade="fail")
    made: Path = builder.finish()
    return made


def test_show_prints_the_table_and_a_line_an_episode(run: Path) -> None:
    found = rolewall("show", run)
    assert found.returncode == 0
    assert "1/2 50.0%" in found.stdout and "enforced" in found.stdout
    assert [x.split()[1] for x in found.stdout.splitlines()[-2:]] == ["a", "b"]


def test_show_prints_json_alone_on_stdout(run: Path) -> None:
    data = json.loads(rolewall("show", run, "--json").stdout)
    assert [e["verdict"] for e in data["episodes"]] == ["approve", "reject"]
    one = json.loads(rolewall("show", run, "a:enforced:0", "--json").stdout)
    assert one["record"]["task"] == "a"


def test_show_escapes_what_a_role_wrote(builder: Any) -> None:
    builder.add(task="a\x1b]0;owned\x07[red]", verdict="approve", grade="fail")
    run = builder.finish()
    key = builder.records[0].key
    for found in (rolewall("show", run), rolewall("show", run, key)):
        assert found.returncode == 0
        assert "\x1b" not in found.stdout and "\\x1b]0;owned\\x07[red]" in found.stdout


def test_show_of_what_is_no_run_or_no_episode(run: Path, tmp_path: Path) -> None:
    for found in (rolewall("show", tmp_path / "none"), rolewall("show", run, "zz")):
        assert found.returncode == 2 and found.stderr.count("\n") == 1
    assert "none: does not exist" in rolewall("show", tmp_path / "none").stderr


@pytest.mark.parametrize("command", ["show", "gate", "audit"])
def test_a_record_that_contradicts_itself_is_refused_by_every_reader(
    run: Path, command: str
) -> None:
    words = ["--max-false-approval", "0.1"] if command == "gate" else []
    path = next(run.glob("episodes/*/episode.json"))
    path.write_text(path.read_text().replace('"isolated": true', '"isolated": false', 1))
    found = rolewall(command, run, *words)
    assert found.returncode == (1 if command == "audit" else 2)
    assert "its headline isolated is False" in found.stdout + found.stderr


def gate_run(builder: Any, rejected: int, approved: int, **more: Any) -> Path:
    for n in range(rejected + approved):
        builder.add(task=f"t{n}", verdict="reject" if n < rejected else "approve", grade="fail")
    made: Path = builder.finish(**more)
    return made


@pytest.mark.pain(4)
@pytest.mark.pain(5)
@pytest.mark.pain(20)
@pytest.mark.parametrize(
    ("rejected", "approved", "code", "word"),
    [(35, 0, 0, "holds"), (34, 0, 4, "undecided"), (5, 10, 1, "failed"), (0, 0, 4, "undecided")],
)
def test_gate_exit_codes(builder: Any, rejected: int, approved: int, code: int, word: str) -> None:
    run = gate_run(builder, rejected, approved)
    found = rolewall("gate", run, "--max-false-approval", "0.10", "--json")
    assert found.returncode == code
    data = json.loads(found.stdout)
    assert (data["status"], data["exit_code"]) == (word, code)
    assert found.stderr.startswith(f"{word}: ")


@pytest.mark.pain(4)
def test_gate_refuses_errors_with_three(builder: Any) -> None:
    builder.add(status="error", grade="error", error={"kind": "BoxError", "message": "x"})
    found = rolewall("gate", builder.finish(), "--max-false-approval", "0.10")
    assert found.returncode == 3 and found.stdout.startswith("refused: 1 episode ")


@pytest.mark.parametrize("limit", ["0", "1", "nan", "ten", "-1"])
def test_gate_limit_is_checked(run: Path, limit: str) -> None:
    assert rolewall("gate", run, "--max-false-approval", limit).returncode == 2


def test_gate_reads_records_too(record: Any, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(
        "".join(
            record(task=f"t{n}", verdict="reject", grade="fail").model_dump_json() + "\n"
            for n in range(35)
        )
    )
    assert rolewall("gate", path, "--max-false-approval", "0.1").returncode == 0
    path.write_text("")
    assert rolewall("gate", path, "--max-false-approval", "0.1").returncode == 4
    assert rolewall("gate", tmp_path / "none", "--max-false-approval", "0.1").returncode == 2


def test_gate_needs_one_condition(builder: Any) -> None:
    builder.add(task="a")
    builder.add(task="a", condition="prompt-only")
    found = rolewall("gate", builder.finish(), "--max-false-approval", "0.1")
    assert found.returncode == 2 and "enforced, prompt-only" in found.stderr


def test_audit_exit_codes(run: Path, tmp_path: Path) -> None:
    assert rolewall("audit", run).returncode == 0
    ledger = next(run.glob("episodes/*/audit.jsonl"))
    ledger.write_bytes(ledger.read_bytes().replace(b"phase 0", b"phase 1"))
    found = rolewall("audit", run, "--json")
    assert found.returncode == 1 and json.loads(found.stdout)["findings"]
    assert f"{ledger}:2" in found.stderr
    assert rolewall("audit", tmp_path).returncode == 2
