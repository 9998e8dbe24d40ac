"""How many episodes a gate or a comparison needs, before there are any."""

from __future__ import annotations

from dataclasses import dataclass

from rolewall.designs import CompareDesign, GateDesign, fraction
from rolewall.studies import FINE

__all__ = ["CompareDesign", "GateDesign", "Needed", "needed_for"]

MOST_TASKS = 20_000
ROUGH = 500  # simulated studies to search by; the answer is simulated finer
STEADY = 4  # so many further sizes must do as well: power rises in a saw-tooth


@dataclass(frozen=True)
class Needed:
    """The smallest number of tasks that has the power, and what it comes to.

    ``power`` is that of this very number; ``error`` its standard error, 0 where it is exact.
    ``tasks`` is ``None`` where more than 20,000 would be needed.
    """

    tasks: int | None
    trials: int
    power: float
    error: float

    @property
    def episodes(self) -> int | None:
        return None if self.tasks is None else self.tasks * self.trials


Design = GateDesign | CompareDesign


def needed_for(design: Design, power: float = 0.8) -> Needed:
    """The smallest number of tasks with which, and with a few more, the power is reached.

    Raises InputError where ``power`` is no fraction.
    """
    fraction("--power", power)
    high = 2
    while design.power(high, ROUGH)[0] < power:
        if high >= MOST_TASKS:
            return Needed(None, design.trials, *design.power(MOST_TASKS, ROUGH))
        high = min(2 * high, MOST_TASKS)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if design.power(middle, ROUGH)[0] >= power else (middle, high)
    return _steady(design, power, high)


def _steady(design: Design, power: float, start: int) -> Needed:
    """From about the right size up, the first one that has the power; where it is exact, with
    the next few: it rises in a saw-tooth. In steps of half a per cent."""
    step = max(1, start // 200)
    tasks, first, run = max(2, start - STEADY * step), None, 0
    while first is None or run <= STEADY:
        found, error = design.power(tasks, FINE)
        if found < power:
            first, run = None, 0
        else:
            first, run = first or Needed(tasks, design.trials, found, error), run + 1
            if error:
                break
        tasks += step
    return first
