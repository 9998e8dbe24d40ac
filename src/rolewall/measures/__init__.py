"""What handoffs kept, what planning took, who repaired and who harmed: from a run's files."""

from __future__ import annotations

from rolewall.measures.files import EpisodeFiles, Handed, read_files
from rolewall.measures.hops import Hop, hops_of
from rolewall.measures.items import Recall, recall_of
from rolewall.measures.measure import (
    EpisodeMeasures,
    Measured,
    measure_episode,
    measure_run,
    rates_of,
)
from rolewall.measures.outcomes import checked
from rolewall.measures.plans import StepFound, steps_of
from rolewall.measures.sheets import measures_json, measures_sheets
from rolewall.measures.stored import Stored
from rolewall.paralysis import Alarm, paralysis

__all__ = [
    "Alarm",
    "EpisodeFiles",
    "EpisodeMeasures",
    "Handed",
    "Hop",
    "Measured",
    "Recall",
    "StepFound",
    "Stored",
    "checked",
    "hops_of",
    "measure_episode",
    "measure_run",
    "measures_json",
    "measures_sheets",
    "paralysis",
    "rates_of",
    "read_files",
    "recall_of",
    "steps_of",
]
