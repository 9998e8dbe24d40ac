"""The scripted teams play out their patterns in real boxes, and so does the starter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rolewall.record import EpisodeRecord, PhaseRecord
from rolewall.rundir import open_run
from rolewall.scaffold import scaffold

pytestmark = pytest.mark.bubblewrap
EXAMPLES = Path(__file__).parents[2] / "examples"
CALL = "from rolewall.cli import main; main()"


def run(tmp_path: Path, command: str, team: Path, *tasks: Path) -> list[EpisodeRecord]:
    asked = [word for task in tasks for word in ("--tasks", str(task))]
    argv = [sys.executable, "-c", CALL, command, str(team), *asked, "--backend", "bubblewrap"]
    done = subprocess.run(
        [*argv, "-o", str(tmp_path / "run")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return list(open_run(tmp_path / "run").records)


def example(tmp_path: Path, team: str, task: str, command: str = "run") -> list[EpisodeRecord]:
    return run(tmp_path, command, EXAMPLES / "teams" / f"{team}.yaml", EXAMPLES / "tasks" / task)


def last_phase(record: EpisodeRecord) -> PhaseRecord:
    assert record.phases[-1].role == "verifier"
    return record.phases[-1]


def grades(record: EpisodeRecord) -> tuple[str, str]:
    """Of the last verdict: before the verifier's phase, and after it."""
    last = record.verdicts[-1]
    assert last.grade_before and last.grade_after
    return last.grade_before.grade, last.grade_after.grade


def test_the_meddler_lands_its_repair_only_where_no_wall_is(tmp_path: Path) -> None:
    records = {r.condition: r for r in example(tmp_path, "meddler", "slug-merge", "compare")}
    assert {r.verdict for r in records.values()} == {"approve"}

    free = last_phase(records["prompt-only"])
    edited = {c.path for c in free.changes if c.zone == "workspace" and c.cross_role}
    assert {"blog.py", "shop.py", "slugs.py"} <= edited
    assert any(path.startswith(".git/") for path in edited)
    assert free.attempts.edit_allowed > 0
    assert grades(records["prompt-only"]) == ("fail", "pass")

    walled = last_phase(records["enforced"])
    assert not any(c.cross_role for c in walled.changes)
    assert walled.attempts.edit_blocked >= 15
    assert walled.attempts.edit_allowed == walled.attempts.unattributed == 0
    assert grades(records["enforced"]) == ("fail", "fail")


@pytest.mark.parametrize("team", ["rubber-stamp", "echo"])
def test_the_rubber_stamp_and_the_echo_approve_flawed_work(tmp_path: Path, team: str) -> None:
    (record,) = example(tmp_path, team, "page-window")
    assert [v.verdict for v in record.verdicts] == ["approve"]
    assert (record.grade, record.isolated) == ("fail", True)
    assert last_phase(record).attempts.edit_attempted == 0


def test_the_diligent_verifier_rejects_flawed_work_and_approves_right_work(tmp_path: Path) -> None:
    (record,) = example(tmp_path, "diligent", "page-window")
    assert [v.verdict for v in record.verdicts] == ["reject", "approve"]
    assert (record.grade, record.isolated) == ("pass", True)
    assert last_phase(record).attempts.edit_attempted == 0


def test_what_init_writes_runs(tmp_path: Path) -> None:
    scaffold(tmp_path / "new")
    team = tmp_path / "new" / "team" / "team.yaml"
    records = {r.task: r for r in run(tmp_path, "run", team, tmp_path / "new" / "tasks")}
    rounds = {task: [v.verdict for v in r.verdicts] for task, r in records.items()}
    assert rounds == {"feature-flags": ["reject", "approve"], "retry-delays": ["approve"]}
    assert {r.grade for r in records.values()} == {"pass"}
