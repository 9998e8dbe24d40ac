"""The parts of a comparison: what is compared, how it is tested, how it reads.

``rolewall.compare`` is the door.
"""

from rolewall.comparing.contrast import Contrast, Descriptive, contrast_json, contrast_of
from rolewall.comparing.deviations import deviations
from rolewall.comparing.effects import Claim, CountOutcome, Outcome
from rolewall.comparing.outcomes import EVENTS, PRIMARY, Asked, default_asked, margins_of
from rolewall.comparing.planfile import PlanFile, read_plan, sealed_plan

__all__ = [
    "EVENTS",
    "PRIMARY",
    "Asked",
    "Claim",
    "Contrast",
    "CountOutcome",
    "Descriptive",
    "Outcome",
    "PlanFile",
    "contrast_json",
    "contrast_of",
    "default_asked",
    "deviations",
    "margins_of",
    "read_plan",
    "sealed_plan",
]
