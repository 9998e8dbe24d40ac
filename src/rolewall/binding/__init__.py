"""The binding-state experiment: does a condition that binds survive its handoffs?

See ``docs/binding.md``.
"""

from __future__ import annotations

from rolewall.binding.arms import ARMS, Arm, parse_arms
from rolewall.binding.domains import DOMAINS
from rolewall.binding.executors import EXECUTORS, Executor
from rolewall.binding.experiment import run_scripted, run_team
from rolewall.binding.found import Found, Plan
from rolewall.binding.losing import KEPT, Rates, load_rates
from rolewall.binding.sheets import sheets

__all__ = [
    "ARMS",
    "DOMAINS",
    "EXECUTORS",
    "KEPT",
    "Arm",
    "Executor",
    "Found",
    "Plan",
    "Rates",
    "load_rates",
    "parse_arms",
    "run_scripted",
    "run_team",
    "sheets",
]
