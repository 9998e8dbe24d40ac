"""Every field that a command prints, or a run's files hold, is explained on a page."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rolewall.cli import cli as group
from tests.export.conftest import Made, made
from tests.fields import unsaid

__all__ = ["made"]

pytestmark = pytest.mark.bubblewrap

TABLE = "task,condition,verdict,grade,edits\n" + "".join(
    f"t{n},{condition},{'approve' if n % 2 else 'reject'},{'pass' if n % 3 else 'fail'},{n}\n"
    for n in range(8)
    for condition in ("first", "second")
)
BOUNDS = ("--max-false-approval", "0.5", "--max-false-rejection", "0.5", "--max-missing", "0.5",
          "--min-informedness", "0.1")  # fmt: skip
COMMANDS = {
    "init": ("init", "{here}/new"),
    "doctor": ("doctor",),
    "run": ("run", "{team}", "--tasks", "{task}", "--backend", "bubblewrap",
            "--allow-team-models", "-o", "{run}"),
    "show": ("show", "{run}"),
    "show an episode": ("show", "{run}", "add-one"),
    "compare": ("compare", "{table}", "--equivalence", "pass=0.1"),
    "power gate": ("power", "gate", "--max-false-approval", "0.1", "--rate", "0.01"),
    "power compare": ("power", "compare", "--first", "0.1", "--second", "0.6"),
    "gate": ("gate", "{table}", "--condition", "first", *BOUNDS, "--baseline", "{table}",
             "--margin", "0.1"),
    "gate a run": ("gate", "{run}", *BOUNDS),
    "report": ("report", "{table}", "-o", "{here}/report.html"),
    "export": ("export", "{run}", "--format", "atif", "-o", "{here}/atif"),
    "audit": ("audit", "{run}"),
    "clean": ("clean",),
}  # fmt: skip
PAGES = {
    "show an episode": ("models", "people-and-replays", "write-a-team", "write-a-grader"),
    "compare": ("compare",),
    "power gate": ("compare",),
    "power compare": ("compare",),
    "gate": ("gate",),
    "gate a run": ("gate",),
    "report": ("report",),
    "export": ("export",),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_no_field_that_is_not_explained(
    name: str, made: Made, tmp_path: Path
) -> None:
    (tmp_path / "table.csv").write_text(TABLE)
    beside = made.path.parent
    places = {"here": tmp_path, "run": made.path, "table": tmp_path / "table.csv",
              "team": beside / "team" / "team.yaml", "task": beside / "task"}  # fmt: skip
    argv = [word.format(**places) for word in COMMANDS[name]]
    env = {"ROLEWALL_TEST_KEY": "sk-of-nobody-4711"}
    done = CliRunner().invoke(group, [*argv, "--json"], env=env)
    assert done.exit_code in (0, 4), done.output
    found = json.loads(done.stdout)
    assert found and unsaid(found, *PAGES.get(name, ())) == set()


def test_a_file_of_a_run_has_no_field_that_is_not_explained(made: Made, tmp_path: Path) -> None:
    run = made.copy(tmp_path / "run")
    keys = tmp_path / "key.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", keys],
                   check=True, capture_output=True, timeout=30)  # fmt: skip
    os.chmod(keys, 0o600)
    signed = CliRunner().invoke(group, ["attest", str(run), "--key", str(keys), "--json"])
    assert unsaid(json.loads(signed.stdout)) == set()
    files = [path for path in sorted(run.rglob("*.json*")) if "blobs.git" not in path.parts]
    assert len(files) > 20
    pages = ("models", "people-and-replays", "write-a-team", "write-a-grader")
    strange = {path.name: unsaid(list(values(path)), *pages) for path in files}
    assert {name: fields for name, fields in strange.items() if fields} == {}


def values(path: Path) -> Iterator[Any]:
    text = path.read_text("utf-8")
    yield from map(json.loads, text.splitlines() if path.suffix == ".jsonl" else [text])


def test_a_field_that_is_not_explained_is_found() -> None:
    found = [{"episodes": 1, "never_explained": {"rate": 1}, "zones": {"odd": {"and_this": 1}}}]
    assert unsaid(found, "gate") == {"[].never_explained", "[].zones.odd.and_this"}
