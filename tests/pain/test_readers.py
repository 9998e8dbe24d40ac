"""What a role leaves cannot hold up whoever reads it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Play, Studio


def escapes(path: str, size: int) -> dict[str, str]:
    """A step that leaves a text of escapes without an end."""
    code = f"open({path!r}, 'w').write((chr(34) + chr(92)) * {size // 2})"
    return {"run": f'python3 -c "{code}"'}


@pytest.mark.pain(6)
def test_a_text_without_an_end_is_missing_and_not_waited_for(play: Play, studio: Studio) -> None:
    """Read by a search that starts anew at each escape, each would take minutes to hours."""
    team = studio.team(
        executor={"steps": [escapes("/report/handoff.json", 250_000)]},
        verifier={"steps": [escapes("/verdict/verdict.json", 65_000)]},
    )
    grader = "grader: {script: {run: grade.sh, trust: outside}}"
    task = studio.task(grader=grader)
    (task / "grader" / "grade.sh").write_text(
        f"{escapes('/reports/score.json', 1_000_000)['run']}\n"
    )
    episode = play(team, task, code=3)  # no state can be graded
    (row,) = episode.record["verdicts"]
    assert row["verdict"] == "missing" and "not JSON: unterminated string" in row["why"]
    assert "not JSON" in row["grade_after"]["why"]
    sealed = json.loads((episode.directory / "handoffs" / "00-executor.json").read_text())
    assert sealed["text"] == "" and any("not JSON" in problem for problem in sealed["problems"])
