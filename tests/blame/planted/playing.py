"""Plays planted episodes through the command line: a run for each lot, then ``blame``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.blame.planted.lay import Lot, Planted, lay_tasks, lay_team
from tests.blame.planted.pages import Pages

__all__ = ["Found", "play"]


@dataclass(frozen=True)
class Found:
    """What came of an episode: its grade, and the stage that ``blame`` names."""

    grade: str
    stage: str


def play(episodes: Iterable[Planted], into: Path, *, replays: bool) -> dict[str, Found]:
    """Run every episode on bubblewrap and ask ``blame``; what was found by the task's name.

    Args:
        replays: whether it may play failed episodes again, or has their records alone.
    """
    lots: dict[Lot, list[Planted]] = defaultdict(list)
    for one in episodes:
        lots[one.lot].append(one)
    found: dict[str, Found] = {}
    with Pages() as pages:
        for number, (lot, ones) in enumerate(lots.items()):
            for one in ones:
                pages.values.update(one.pages)
            root = into / f"lot-{number}"
            lay_tasks(ones, root / "tasks")
            lay_team(lot, ones, root / "team", pages.place)
            found |= _one(lot, root, replays=replays)
    return found


def _one(lot: Lot, root: Path, *, replays: bool) -> dict[str, Found]:
    tools = ["--allow-team-tools"] if lot.page else []
    team, tasks, run = root / "team" / "team.yaml", root / "tasks", root / "run"
    arm = ["--handoff", lot.arm, "--backend", "bubblewrap", "--jobs", "2"]
    _rolewall("run", team, "--tasks", tasks, *arm, "-o", run, *tools)
    again = ["--replays", "--team", team, "--tasks", tasks, *tools] if replays else []
    stages = {one["key"]: one["stage"] for one in _blame(run, *again)}
    found = {}
    for path in sorted((run / "episodes").glob("*/episode.json")):
        told = json.loads(path.read_text())
        found[told["task"]] = Found(str(told["grade"]), stages[told["key"]])
    return found


def _blame(run: Path, *words: object) -> list[dict[str, Any]]:
    """What is told of each episode; of one that passes, the stage ``none``."""
    told: list[dict[str, Any]] = json.loads(_rolewall("blame", run, "--json", *words))["blame"]
    return told


def _rolewall(*words: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "rolewall", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout
