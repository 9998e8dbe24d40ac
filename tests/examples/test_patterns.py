"""The example teams are what their names say, by what their verifiers are seen to do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from rolewall.record import EpisodeRecord
from rolewall.rundir import open_run

pytestmark = pytest.mark.bubblewrap
EXAMPLES = Path(__file__).parents[2] / "examples"
TASK = EXAMPLES / "tasks" / "page-window"
CALL = "from rolewall.cli import main; main()"
NAMES = ("optimistic", "echo", "rewrite")


def rolewall(*words: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", CALL, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def play(directory: Path, team: str, observe: str, command: str = "run") -> Path:
    """A run of an example team as it is, or with its reads observed."""
    path = EXAMPLES / "teams" / f"{team}.yaml"
    if observe == "reads":
        shutil.copytree(path.parent, directory / "teams")
        path = directory / "teams" / path.name
        path.write_text(f"observe: reads\n{path.read_text()}")
    out = directory / f"{team}-{observe}"
    rolewall(command, path, "--tasks", TASK, "--backend", "bubblewrap", "-o", out)
    return out


def patterns(record: EpisodeRecord) -> list[tuple[str, ...]]:
    """Of each phase of the verifier."""
    found = [row.patterns.model_dump() for row in record.verdicts if row.patterns]
    assert len(found) == len(record.verdicts)
    return [tuple(one[name] for name in NAMES) for one in found]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    directory = tmp_path_factory.mktemp("patterns")
    found = {
        f"{team} {observe}": play(directory, team, observe)
        for team, observe in (
            ("diligent", "changes"),
            ("echo", "changes"),
            ("echo", "reads"),
            ("rubber-stamp", "changes"),
        )
    }
    return found | {"meddler": play(directory, "meddler", "changes", "compare")}


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ("diligent changes", [("no", "no", "no"), ("no", "no", "no")]),
        ("rubber-stamp changes", [("yes", "no", "no")]),
        ("echo reads", [("no", "yes", "no")]),
        # It reads the report by a program of its own, and what else that read nobody saw.
        ("echo changes", [("no", "unknown", "no")]),
    ],
)
def test_a_team_is_what_it_is_called(
    runs: Mapping[str, Path], run: str, told: list[tuple[str, ...]]
) -> None:
    (record,) = open_run(runs[run]).records
    assert patterns(record) == told


def test_the_meddler_rewrites_where_no_wall_is(runs: Mapping[str, Path]) -> None:
    records = {record.condition: record for record in open_run(runs["meddler"]).records}
    assert patterns(records["prompt-only"]) == [("no", "no", "yes")]
    assert patterns(records["enforced"]) == [("no", "no", "no")]
    text = rolewall("show", runs["meddler"])
    assert "a cross-role edit landed in 1 of 1 pass: corrupt successes" in text
    assert "patterns of the verifier under prompt-only, in 1 episode: rewrite 1" in text


def test_show_and_audit_agree_with_the_ledger(runs: Mapping[str, Path]) -> None:
    data = json.loads(rolewall("show", runs["echo reads"], "--json"))
    assert data["episodes"][0]["patterns"] == {"optimistic": False, "echo": True, "rewrite": False}
    assert data["table"]["conditions"][0]["patterns"]["echo"] == {"yes": 1, "no": 0, "unknown": 0}
    assert "    pattern: echo\n" in rolewall("show", runs["echo reads"], "page-window")
    rolewall("audit", runs["echo reads"])
