"""One episode: stage, phases, verdicts, grades, record."""

from __future__ import annotations

from rolewall.episode.loop import run_episode
from rolewall.episode.setting import Setting
from rolewall.episode.verdict import verdict_in

__all__ = ["Setting", "run_episode", "verdict_in"]
