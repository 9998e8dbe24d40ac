"""A planner that plans on while nothing is done is told so, by the harness."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Play, Studio

HEAD = "## Planning stands in its own way"


@pytest.mark.parametrize("backend", [pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)],
                         indirect=True)  # fmt: skip
@pytest.mark.parametrize("work", ["", "program", "echo $ROLEWALL_ROUND >> app.py"])
def test_the_third_plan_without_work_is_told_of_it(play: Play, studio: Studio, work: str) -> None:
    """That a program is started to play the executor is nothing done either."""
    idle = {"": {}, "program": {"command": ["true"]}}
    team = studio.team(
        planner={"steps": [{"run": "cat /rolewall/prompt.md"}]},
        executor=idle.get(work, {"steps": [{"run": work}]}),
        verifier={"verdict": "reject"},
        rounds=3,
        replan=True,
    )
    episode = play(team, studio.task())
    phases = [phase for phase in episode.record["phases"] if phase["role"] == "planner"]
    told = [(episode.directory / f"transcripts/{p['index']:02}-planner.stdout").read_text()
            for p in phases]  # fmt: skip
    assert [HEAD in text for text in told] == [False, False, work in idle]
    if work in idle:
        signal = json.loads(
            told[2].partition(HEAD)[2].partition("```json\n")[2].partition("```")[0]
        )
        assert (signal["planning"], signal["kind"], signal["revisions"]) == (
            "paralysis", "revisions", 1,
        )  # fmt: skip
