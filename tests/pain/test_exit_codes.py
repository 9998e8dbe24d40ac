"""What a shell sees of a command that did not do its work."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Studio

ROLEWALL = f"{shlex.quote(sys.executable)} -m rolewall"


def shell(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f"{line} && echo went-on"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.pain(4)
@pytest.mark.bubblewrap
def test_a_task_that_is_absent_or_cannot_be_judged_stops_the_shell(studio: Studio) -> None:
    team, good = studio.team(verifier={"verdict": "reject"}), studio.task()
    crashing = studio.task("crashing", check="import sys; sys.exit(126)\n")
    line = f"{ROLEWALL} run {team} --backend bubblewrap -o {studio.path}"
    absent = shell(f"{line}/a --tasks {good} --tasks {studio.path}/nowhere")
    assert (absent.returncode, absent.stdout) == (2, "") and "nowhere" in absent.stderr
    crashed = shell(f"{line}/b --tasks {good} --tasks {crashing}")
    assert crashed.returncode == 3 and "went-on" not in crashed.stdout
    done = shell(f"{line}/c --tasks {good}")
    assert done.returncode == 0 and "went-on" in done.stdout, done.stderr


@pytest.mark.pain(5)
@pytest.mark.bubblewrap
def test_a_choice_that_matches_nothing_is_no_pass(studio: Studio) -> None:
    """A shard beyond the last episode, a file without a record, a condition that never ran."""
    team, task = studio.team(verifier={"verdict": "reject"}), studio.task()
    out = studio.path / "out"
    line = f"{ROLEWALL} run {team} --tasks {task} --backend bubblewrap -o {out}"
    beyond = shell(f"{line} --shard 2/2")
    assert beyond.returncode == 4 and "no episode was evaluated" in beyond.stdout
    gate = f"{ROLEWALL} gate {out} --max-false-approval 0.5"
    empty = shell(gate)
    assert empty.returncode == 4 and "no episode" in empty.stdout.lower(), empty.stdout
    (studio.path / "none.jsonl").write_text("\n")
    none = shell(f"{ROLEWALL} gate {studio.path}/none.jsonl --max-false-approval 0.5")
    assert none.returncode == 4 and "went-on" not in none.stdout
    other = shell(f"{gate} --condition solo")
    assert other.returncode == 2 and "solo" in other.stderr
