"""Git, asked by whoever reads the executor's work, runs nothing that the executor wrote."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Episode, Play, Studio

# Two repositories whose configuration names a program that git runs to look at its files.
PLANT = r"""
printf '#!/bin/sh\ntouch /tmp/fired\nexit 1\n' > monitor && chmod +x monitor
[ -d inner/.git ] || git init -q inner
for place in . inner; do git -C $place config core.fsmonitor /workspace/monitor; done
git add -A 2>/dev/null
"""
LOOK = "for p in . inner; do git -C $p status --short; done >/dev/null 2>&1; ls /tmp/fired || true"


def said(episode: Episode, phase: str) -> str:
    lines = (episode.directory / "transcripts" / f"{phase}.jsonl").read_text().splitlines()
    return "".join(json.dumps(json.loads(line)["stdout"]) for line in lines)


@pytest.mark.parametrize("condition", ["enforced", "prompt-only"])
def test_no_reader_runs_what_the_executor_set_up(
    play: Play, studio: Studio, condition: str
) -> None:
    look = {"steps": [{"run": LOOK}]}
    team = studio.team(
        planner=look,
        executor={"steps": [{"run": PLANT}, {"run": "rm -f /tmp/fired"}, *look["steps"]]},
        verifier={**look, "verdict": "reject"},
        rounds=2,
        replan=True,
    )
    episode = play(team, studio.task(), condition)
    assert [p["role"] for p in episode.record["phases"]][3] == "planner"
    for twin in ("01-executor", "04-executor"):  # which has its own repositories, in each round
        assert "/tmp/fired" in said(episode, twin)
    for phase in ("02-verifier", "03-planner", "05-verifier"):
        assert "/tmp/fired" not in said(episode, phase)
