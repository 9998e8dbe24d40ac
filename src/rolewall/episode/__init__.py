"""One episode: stage, phases, verdicts, grades, record."""

from __future__ import annotations

from rolewall.episode.conditions import Conditions
from rolewall.episode.handover import FOUND, KEPT, VIOLATION
from rolewall.episode.history import HISTORY, shown_transcript
from rolewall.episode.loop import run_episode
from rolewall.episode.models import EpisodeModels, RecordedEpisode
from rolewall.episode.setting import Setting
from rolewall.episode.showing import RESULTS
from rolewall.episode.verdict import verdict_in
from rolewall.episode.work import SEALED_AT, CandidateWork

__all__ = [
    "FOUND",
    "HISTORY",
    "KEPT",
    "RESULTS",
    "SEALED_AT",
    "VIOLATION",
    "CandidateWork",
    "Conditions",
    "EpisodeModels",
    "RecordedEpisode",
    "Setting",
    "run_episode",
    "shown_transcript",
    "verdict_in",
]
