"""What a command's JSON is about stands in the same keys whichever command prints it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rolewall.cli import cli as group

Said = Callable[..., Any]
COMMANDS = {
    "show": (),
    "compare": (),
    "gate": ("--condition", "enforced", "--max-false-approval", "0.1"),
    "report": (),
}
HEAD = "task,condition,trial,verdict,grade"


@pytest.fixture
def said() -> Said:
    def call(command: str, path: Path) -> Any:
        words = [command, str(path), *COMMANDS[command], "--json"]
        done = CliRunner().invoke(group, words)
        assert done.exit_code in (0, 4), done.output
        return json.loads(done.stdout)

    return call


@pytest.fixture
def run(builder: Any) -> Path:
    for condition in ("prompt-only", "enforced"):
        builder.add(task="a", condition=condition, grade="fail")
    path: Path = builder.finish()
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_run_is_named_by_its_path_and_its_seal(run: Path, said: Said, command: str) -> None:
    digest = hashlib.sha256((run / "seal.json").read_bytes()).hexdigest()
    found = said(command, run)
    assert (found["run"], found["seal"]) == (str(run), digest)
    if command == "show":
        assert found["info"]["team"] == "fixers" and found["info"]["planned"] == 2
    # A run that goes on has no seal of its own; what was sealed so far is held all the same.
    (run / "seal.json").unlink()
    lines = (run / "seals.jsonl").read_bytes().splitlines(keepends=True)
    (run / "seals.jsonl").write_bytes(b"".join(lines[:-1]))
    found = said(command, run)
    assert (found["run"], found["seal"]) == (str(run), None)


@pytest.mark.parametrize("command", ["compare", "gate", "report"])
def test_records_are_named_by_their_place(tmp_path: Path, said: Said, command: str) -> None:
    path = tmp_path / "r.csv"
    lines = [f"a,{condition},0,approve,fail" for condition in ("prompt-only", "enforced")]
    path.write_text("\n".join([HEAD, *lines]) + "\n")
    found = said(command, path)
    assert found["place"] == str(path)
    assert found.get("run") is None and found.get("seal") is None
