"""At which stage an episode failed: by its record, and by playing it again with one change."""

from __future__ import annotations

from rolewall.blame.blaming import blame_episode, blame_run
from rolewall.blame.model import STAGES, Blame, Clue, Cost, Replayed, Stage
from rolewall.blame.replays import Replays
from rolewall.blame.sheets import blame_json, blame_lines, blame_sheets

__all__ = [
    "STAGES",
    "Blame",
    "Clue",
    "Cost",
    "Replayed",
    "Replays",
    "Stage",
    "blame_episode",
    "blame_json",
    "blame_lines",
    "blame_run",
    "blame_sheets",
]
