"""What the sections of ``stats.py`` have in common: a quantity over a grid, and task rates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

Cell = tuple[Any, ...]
Random = np.random.Generator


@dataclass(frozen=True)
class Section:
    """One quantity over a grid. ``limits`` are of the mean and of the worst cell; ``high``:
    whether the worst is the highest."""

    title: str
    names: tuple[str, ...]
    cells: dict[Cell, float]
    mean_limits: tuple[float, float]
    worst_limit: float
    high: bool
    contrast: bool = False

    @property
    def mean(self) -> float:
        return sum(self.cells.values()) / len(self.cells)

    @property
    def worst(self) -> list[tuple[Cell, float]]:
        return sorted(self.cells.items(), key=lambda item: item[1], reverse=self.high)[:5]

    @property
    def holds(self) -> bool:
        low, high = self.mean_limits
        worst = self.worst[0][1]
        bounded = worst <= self.worst_limit if self.high else worst >= self.worst_limit
        return low <= self.mean <= high and bounded

    def _mean(self, place: int, value: Any) -> float:
        return float(np.mean([v for cell, v in self.cells.items() if cell[place] == value]))

    def lines(self) -> Iterable[str]:
        yield f"{self.title}: {len(self.cells)} cells, mean {100 * self.mean:.1f} %"
        for place, name in enumerate(self.names):
            values = sorted({cell[place] for cell in self.cells},
                            key=lambda v: (isinstance(v, str), v))  # fmt: skip
            means = (f"{value} {100 * self._mean(place, value):.1f}" for value in values)
            yield f"    by {name:<12} {',  '.join(means)}"
        for cell, value in self.worst:
            where = ", ".join(f"{n} {v}" for n, v in zip(self.names, cell, strict=True))
            yield f"    worst {100 * value:5.1f}  {where}"
        if not self.contrast:
            yield f"    {'held' if self.holds else 'NOT HELD'}"


def allowed(level: float, studies: int) -> float:
    """Three standard errors of simulation, above a level."""
    return level + 3 * math.sqrt(level * (1 - level) / studies)


def task_rates(random: Random, studies: int, tasks: int, correlation: float, rate: float) -> Any:
    if not correlation:
        return np.full((studies, tasks), rate)
    size = (1 - correlation) / correlation
    return random.beta(rate * size, (1 - rate) * size, (studies, tasks))
