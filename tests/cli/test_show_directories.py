"""``--show``: programs that the caller has installed elsewhere, for roles and nobody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Cli, Studio

pytestmark = pytest.mark.bubblewrap

WORK = {"steps": [{"run": "mend && touch $(dirname $(command -v mend))/new; true"}]}
LOOK = {
    "steps": [{"id": "mend", "run": "mend || true"}, {"id": "checked", "check": "mend"}],
    "verdict": {"when": "mend", "then": "approve", "else": "none"},
}
MEND = '#!/bin/sh\n[ ! -w app.py ] || printf "def add(x):\\n    return x + 1\\n" > app.py\n'


@pytest.fixture
def install(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    path = tmp_path / "install"
    (path / "bin").mkdir(parents=True)
    (path / "bin" / "mend").write_text(MEND)
    (path / "bin" / "mend").chmod(0o755)
    return path


def test_roles_have_it_and_check_and_grade_boxes_do_not(
    cli: Cli, studio: Studio, tmp_path: Path, install: Path
) -> None:
    team, task, run = studio.team(executor=WORK, verifier=LOOK), studio.task(), tmp_path / "run"
    (task / "grader" / "check.py").write_text(
        "import shutil, sys\n"
        "found = 'x + 1' in open('/workspace/app.py').read()\n"
        "sys.exit(not found or shutil.which('mend') is not None)\n"
    )
    command = ("run", team, "--tasks", task, "--backend", "bubblewrap", "-o", run)
    done = cli(*command, "--show", install)
    assert done.code == 0, done.err
    (path,) = run.glob("episodes/*/episode.json")
    record = json.loads(path.read_text())
    assert (record["grade"], record["verdict"]) == ("pass", "approve")
    (check,) = record["verdicts"][0]["checks"][1:]
    assert check["name"] == "checked" and check["ok"] is False
    assert json.loads((run / "run.json").read_text())["shown"] == [str(install)]
    assert all(phase["box"]["shown"].keys() == {str(install)} for phase in record["phases"])
    lines = map(json.loads, (path.parent / "audit.jsonl").read_text().splitlines())
    tried = [a for a in lines if a["type"] == "attempt" and a["comm"] == "touch"]
    assert tried and {attempt["outcome"] for attempt in tried} == {"blocked"}
    again = cli(*command)
    assert again.code == 2 and "other directories of --show" in again.err
    assert "give --show as that run had it, or another -o" in again.err
    assert cli(*command, "--show", install).code == 0


@pytest.mark.parametrize("what", ["team", "task", "out", "key"])
def test_nothing_that_roles_must_not_see_is_shown(
    cli: Cli, studio: Studio, tmp_path: Path, what: str
) -> None:
    team, task, run = studio.team(), studio.task(), tmp_path / "out" / "run"
    key = tmp_path / "keys" / "key.pem"
    places = {"team": team.parent, "task": task, "out": run.parent, "key": key.parent}
    for place in (run.parent, key.parent):
        place.mkdir()
    command = ("run", team, "--tasks", task, "--backend", "bubblewrap", "-o", run, "--sign", key)
    done = cli(*command, "--show", places[what])
    assert done.code == 2
    assert f"--show {places[what]}" in done.err
    assert not run.exists()
