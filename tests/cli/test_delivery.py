"""Closed and full outputs, through a real shell: what nobody received is never exit code 0."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rolewall.record import EpisodeRecord
from rolewall.sandbox import Backend

ROLEWALL = f"{shlex.quote(sys.executable)} -m rolewall"
FULL, PIPE, CLOSED = "No space left on device", "Broken pipe", "Bad file descriptor"
# A pipe whose reader has gone for certain, as that of `| head -n 0` most often has.
BEFORE, GONE = "exec 3> >(:); wait $!; ", ">&3"
UNBUFFERED = pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])


def shell(line: str, unbuffered: str = "") -> subprocess.CompletedProcess[str]:
    """Run a line of shell. ``ROLEWALL … | reader`` ends with ROLEWALL's own exit code."""
    return subprocess.run(
        ["bash", "-c", f"{line}\nexit ${{PIPESTATUS[0]}}"],
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def record(task: str, verdict: str = "reject") -> EpisodeRecord:
    phase = {"index": 0, "role": "verifier", "round": 1, "started": 0.0, "ended": 1.0,
             "outcome": "done", "returncode": 0}  # fmt: skip
    row = {"round": 1, "phase": 0, "verdict": verdict,
           "grade_after": {"grade": "fail", "trust": "outside"}}  # fmt: skip
    head = hashlib.sha256(task.encode()).hexdigest()
    return EpisodeRecord.model_validate(
        {
            "key": task, "task": task, "team": "t", "condition": "enforced", "trial": 0,
            "seed": 0, "backend": "bubblewrap", "image": "host", "started": 0.0, "ended": 1.0,
            "status": "complete", "verdict": verdict, "grade": "fail", "trust": "outside",
            "phases": [phase], "verdicts": [row], "attempts": {"verifier": {}},
            "ledger_head": head, "ledger_lines": 1,
            "digests": {"team": "t", "code": "c", "task": task},
        }
    )  # fmt: skip


@pytest.fixture
def gate(tmp_path: Path) -> str:
    """A gate that holds."""
    path = tmp_path / "records.jsonl"
    path.write_text("".join(record(f"t{n}").model_dump_json() + "\n" for n in range(35)))
    return f"{ROLEWALL} gate {shlex.quote(str(path))} --max-false-approval 0.1"


@pytest.mark.pain(20)
@UNBUFFERED
@pytest.mark.parametrize("words", ["", " --json"])
@pytest.mark.parametrize(
    ("where", "says"),
    [(GONE, PIPE), ("> /dev/full", FULL), (">&-", CLOSED), (">&- <&-", CLOSED)],
)
def test_a_decision_that_is_not_delivered_is_three(
    gate: str, where: str, says: str, words: str, unbuffered: str
) -> None:
    done = shell(f"{BEFORE if where == GONE else ''}{gate}{words} {where}", unbuffered)
    assert done.returncode == 3
    messages = [m for m in done.stderr.splitlines() if m.startswith("rolewall: ")]
    assert len(messages) == 1 and says in messages[0]
    assert "bug" not in done.stderr and "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.pain(4)
@pytest.mark.pain(20)
@UNBUFFERED
@pytest.mark.parametrize("where", [GONE, "> /dev/full", ">&-"])
@pytest.mark.parametrize(("verdict", "code"), [("approve", 1), ("missing", 4)])
def test_a_decision_against_stays_one_that_nobody_received(
    tmp_path: Path, where: str, verdict: str, code: int, unbuffered: str
) -> None:
    path = tmp_path / "records.jsonl"
    lines = [record(f"t{n}", verdict).model_dump_json() + "\n" for n in range(35)]
    path.write_text("".join(lines))
    gate = f"{ROLEWALL} gate {shlex.quote(str(path))} --max-false-approval 0.1"
    done = shell(f"{BEFORE if where == GONE else ''}{gate} {where}", unbuffered)
    assert done.returncode == code
    assert done.stderr.startswith("rolewall: ") and done.stderr.count("\n") == 1


def test_a_locale_without_a_letter_is_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(record("größe").model_dump_json() + "\n")
    ascii_only = "LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 PYTHONIOENCODING=ascii"
    done = shell(f"{ascii_only} {ROLEWALL} gate {path} --max-false-approval 0.1")
    assert done.returncode == 4 and "reject\\u2227pass" in done.stdout, done.stderr


@UNBUFFERED
@pytest.mark.parametrize("where", ["| cat", "> {}/out", "2>&-", "<&-", "2>&- <&-"])
def test_a_decision_that_is_delivered_is_the_decision(
    gate: str, tmp_path: Path, where: str, unbuffered: str
) -> None:
    done = shell(f"{gate} {where.format(tmp_path)}", unbuffered)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out"
    assert "holds" in (out.read_text() if out.exists() else done.stdout)


@pytest.mark.parametrize("command", ["--help", "--version", "gate --help", "doctor"])
def test_other_output_is_no_success_either(command: str) -> None:
    done = shell(f"{ROLEWALL} {command} > /dev/full")
    assert done.returncode == 3 and done.stderr.count("\n") == 1 and FULL in done.stderr


@pytest.fixture
def execute(tmp_path: Path, backend: Backend) -> str:
    (tmp_path / "zone").mkdir()
    zone = shlex.quote(f"data={tmp_path / 'zone'}:read")
    return f"{ROLEWALL} exec --role verifier --zone {zone} --backend {backend.name}"


@UNBUFFERED
@pytest.mark.parametrize(
    ("rest", "code", "says"),
    [
        ("-- echo hi > /dev/full", 125, FULL),
        ("-- sh -c 'echo hi >&2' 2> /dev/full", 125, ""),
        ("-- echo hi >&-", 125, CLOSED),
        ("-- yes | head -n 1", 141, ""),
        ("-- sh -c 'cat; exit 7' <&-", 7, ""),
        ("-- sh -c 'exit 7' >&- 2>&- <&-", 7, ""),
        ("-- true > /dev/full", 0, ""),
    ],
)
def test_exec_and_its_streams(
    execute: str, rest: str, code: int, says: str, unbuffered: str
) -> None:
    done = shell(f"{execute} {rest}", unbuffered)
    assert done.returncode == code, done.stderr
    assert says in done.stderr and done.stderr.count("\n") == (1 if says else 0)


@UNBUFFERED
def test_exec_hands_output_on_while_the_command_runs(execute: str, unbuffered: str) -> None:
    """The command waits for an answer to its first line: it would wait for ever."""
    line = f"{execute} -- sh -c 'echo ready; read answer; echo got $answer'"
    process = subprocess.Popen(
        ["bash", "-c", f"exec {line}"],
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    with process:
        try:
            assert process.stdout.readline() == "ready\n"
            process.stdin.write("yes\n")
            process.stdin.flush()
            assert process.stdout.readline() == "got yes\n"
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--zone a=/tmp:read -- true", "--role"),
        ("--role verifier -- true", "--zone"),
        ("--role verifier --zone a=/tmp:read", "COMMAND"),
        ("--role verifier --zone a=/tmp:read --bogus -- true", "--bogus"),
        ("--role verifier --zone a=/tmp:read --memory-mb 31 -- true", "--memory-mb"),
        ("--role verifier --zone a=/tmp:read --pids 7 -- true", "--pids"),
        ("--role verifier --zone a=/tmp:read --timeout soon -- true", "--timeout"),
    ],
)
def test_misuse_of_exec_is_its_own_failure(words: str, says: str) -> None:
    done = shell(f"{ROLEWALL} exec {words}")
    assert done.returncode == 125 and says in done.stderr and done.stdout == ""


def test_the_smallest_limits_of_files_are_those_of_exec(execute: str) -> None:
    done = shell(f"{execute} --memory-mb 32 --pids 8 -- true")
    assert done.returncode == 0, done.stderr


def test_misuse_of_other_commands_stays_two() -> None:
    for words in ("gate", "bogus", "run --trials 0"):
        assert shell(f"{ROLEWALL} {words}").returncode == 2
