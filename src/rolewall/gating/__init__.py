"""The parts of a decision: which rows may be weighed, each bound, and what is said beside it."""

from __future__ import annotations

from rolewall.gating.admit import Side, admit, choose
from rolewall.gating.baseline import Held, hold_to_baseline
from rolewall.gating.measures import Numbers, take_numbers
from rolewall.gating.notes import notes_of
from rolewall.gating.weigh import weigh

__all__ = [
    "Held",
    "Numbers",
    "Side",
    "admit",
    "choose",
    "hold_to_baseline",
    "notes_of",
    "take_numbers",
    "weigh",
]
