"""How often intervals cover and tests are wrong, on simulated teams whose rates are known.

    python bench/stats.py [--replicates N] [--seed N] [--json]

Exit code 1 where a limit that the documentation states is not held.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np
from gates import decisions, informedness
from scipy.stats import binom
from studies import Cell, Random, Section, allowed, task_rates

from rolewall.compare import compare
from rolewall.designs import CompareDesign, GateDesign
from rolewall.paired import effective_pairs, mcnemar_exact, sign_flip, tango, within_margin
from rolewall.power import needed_for
from rolewall.rows import Row
from rolewall.stats import clustered_wilson, wilson

TASKS = (8, 12, 20, 30, 60)
TRIALS = (1, 2, 3, 5, 10)
CORRELATIONS = (0.0, 0.1, 0.3, 0.5, 0.8)
RATES = (0.02, 0.05, 0.10, 0.20, 0.30, 0.50)
PAIRED_TASKS = (8, 12, 20, 30, 60)
PAIRED_TRIALS = (1, 3, 10)
PAIRED_CORRELATIONS = (0.0, 0.3, 0.8)
DISCORDANT = (0.1, 0.2, 0.4)
DIFFERENCES = (0.05, 0.1, 0.2)
LEVEL = 0.05


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--replicates", type=int, default=1000, help="studies a cell")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="all cells, on standard output")
    asked = parser.parse_args()
    random, started = np.random.default_rng(asked.seed), time.process_time()
    sections: list[Section] = []
    for make in MADE:
        made = make(random, asked.replicates)
        for section in [made] if isinstance(made, Section) else made:
            sections.append(section)
            print("\n".join(section.lines()), file=sys.stderr if asked.json else sys.stdout)
    used = time.process_time() - started
    print(f"{asked.replicates} studies a cell, seed {asked.seed}, {used:.0f} s of processor time",
          file=sys.stderr if asked.json else sys.stdout)  # fmt: skip
    if asked.json:
        print(json.dumps([_json(s) for s in sections], indent=1))
    return 0 if all(s.holds or s.contrast for s in sections) else 1


def _json(section: Section) -> dict[str, Any]:
    cells = [dict(zip(section.names, c, strict=True)) | {"value": v}
             for c, v in section.cells.items()]  # fmt: skip
    return {"title": section.title, "mean": section.mean, "holds": section.holds, "cells": cells}


# ---- rates


def rates(random: Random, studies: int) -> Section:
    """The 95 % interval of a rate, as tables and gate print it."""
    cells = {
        cell: _coverage(random, studies, *cell, interval=clustered_wilson)
        for cell in product(TASKS, TRIALS, CORRELATIONS, RATES)
        if cell[1] > 1 or not cell[2]
    }
    return Section("coverage of the 95 % interval of a rate", NAMES, cells, (0.93, 0.97), 0.90,
                   high=False)  # fmt: skip


NAMES = ("tasks", "trials", "correlation", "rate")


def plain_rates(random: Random, studies: int) -> Section:
    """For contrast: plain Wilson, as though every episode were independent."""

    def interval(clusters: list[tuple[int, int]]) -> Any:
        return wilson(sum(x for x, _ in clusters), sum(n for _, n in clusters))

    cells = {
        cell: _coverage(random, studies, *cell, interval=interval)
        for cell in product(TASKS, TRIALS, CORRELATIONS, RATES)
        if cell[1] > 1 or not cell[2]
    }
    return Section("for contrast, not used: plain Wilson", NAMES, cells, (0.93, 0.97), 0.90,
                   high=False, contrast=True)  # fmt: skip


def _coverage(
    random: Random,
    studies: int,
    tasks: int,
    trials: int,
    correlation: float,
    rate: float,
    interval: Callable[[list[tuple[int, int]]], Any],
) -> float:
    if trials == 1:
        hits = (_covers(interval, [1] * x + [0] * (tasks - x), 1, rate) for x in range(tasks + 1))
        return float(sum(binom.pmf(x, tasks, rate) for x, hit in enumerate(hits) if hit))
    known: dict[tuple[int, int], bool] = {}
    inside = 0
    for events in random.binomial(trials, task_rates(random, studies, tasks, correlation, rate)):
        at = int(events.sum()), int((events * events).sum())
        if at not in known:  # of equal tasks the interval depends on these two sums alone
            known[at] = _covers(interval, events.tolist(), trials, rate)
        inside += known[at]
    return inside / studies


def _covers(interval: Any, events: list[int], trials: int, rate: float) -> bool:
    found = interval([(x, trials) for x in events])
    return bool(found.low <= rate <= found.high)


def uneven_rates(random: Random, studies: int) -> Section:
    """As where only failing work counts: one to ten trials a task, at random."""
    cells: dict[Cell, float] = {}
    for tasks, correlation, rate in product(TASKS, (0.0, 0.3, 0.8), RATES):
        sizes = random.integers(1, 11, (studies, tasks))
        events = random.binomial(sizes, task_rates(random, studies, tasks, correlation, rate))
        inside = 0
        for x, n in zip(events.tolist(), sizes.tolist(), strict=True):
            found = clustered_wilson(list(zip(x, n, strict=True)))
            inside += found is not None and found.low <= rate <= found.high
        cells[tasks, correlation, rate] = inside / studies
    names = ("tasks", "correlation", "rate")
    return Section("the same, one to ten trials a task", names, cells, (0.93, 0.97), 0.90,
                   high=False)  # fmt: skip


# ---- pairs

PAIRS = ("tasks", "trials", "correlation", "discordant", "difference")


def _paired_grid(deltas: Iterable[float]) -> Iterable[Cell]:
    grid = product(PAIRED_TASKS, PAIRED_TRIALS, PAIRED_CORRELATIONS, DISCORDANT, deltas)
    return (c for c in grid if (c[1] > 1 or not c[2]) and c[4] <= c[3])


def _studies(random: Random, studies: int, cell: Cell) -> list[list[tuple[int, int, int]]]:
    """Clusters (gains, losses, pairs) of simulated comparisons."""
    tasks, trials, correlation, discordant, delta = cell
    law = np.array([(discordant + delta) / 2, (discordant - delta) / 2, 1 - discordant])
    if correlation:
        size = (1 - correlation) / correlation
        drawn = random.standard_gamma(np.maximum(law * size, 1e-9), (studies, tasks, 3)) + 1e-300
        law = drawn / drawn.sum(2, keepdims=True)
    else:
        law = np.broadcast_to(law, (studies, tasks, 3))
    found = random.multinomial(trials, law)
    return [[(g, x, trials) for g, x, _ in study] for study in found.tolist()]


def _share(
    random: Random, studies: int, cell: Cell, hit: Callable[[list[tuple[int, int, int]]], bool]
) -> float:
    known: dict[tuple[tuple[int, int, int], ...], bool] = {}
    hits = 0
    for clusters in _studies(random, studies, cell):
        at = tuple(sorted(clusters))
        if at not in known:
            known[at] = hit(clusters)
        hits += known[at]
    return hits / studies


def differences(random: Random, studies: int) -> Section:
    """The 95 % interval of a paired difference."""

    def covers(clusters: list[tuple[int, int, int]], delta: float) -> bool:
        size = effective_pairs(clusters)
        scale = size / sum(n for *_, n in clusters)
        gains, losses = (scale * sum(c[i] for c in clusters) for i in (0, 1))
        found = tango(losses, gains, size)
        return found is not None and found.low <= delta <= found.high

    cells = {
        c: _share(random, studies, c, lambda found, delta=c[4]: covers(found, delta))
        for c in _paired_grid((0.0, 0.1))
    }
    return Section("coverage of the 95 % interval of a paired difference", PAIRS, cells,
                   (0.93, 0.98), 0.90, high=False)  # fmt: skip


def errors(random: Random, studies: int) -> Section:
    """How often a difference is found where there is none."""

    def found(clusters: list[tuple[int, int, int]]) -> bool:
        if clusters[0][2] > 1:
            return sign_flip([g - x for g, x, _ in clusters]) <= LEVEL
        gains, losses, _ = map(sum, zip(*clusters, strict=True))
        return mcnemar_exact(losses, gains) <= LEVEL

    cells = {c: _share(random, studies, c, found) for c in _paired_grid((0.0,))}
    return Section("a difference found where there is none (5 % allowed)", PAIRS, cells,
                   (0.0, LEVEL), allowed(LEVEL, studies), high=True)  # fmt: skip


def margins(random: Random, studies: int) -> Section:
    """How often two conditions are called indistinguishable that differ by the margin."""
    cells = {
        c: _share(random, studies, c, lambda found, m=c[4]: within_margin(found, m) <= LEVEL)
        for c in _paired_grid(DIFFERENCES)
    }
    return Section("indistinguishable although they differ by the margin (5 % allowed)", PAIRS,
                   cells, (0.0, LEVEL), allowed(LEVEL, studies), high=True)  # fmt: skip


# ---- the whole comparison, and power


def family(random: Random, studies: int) -> Section:
    """Any of the three primary outcomes said to differ, by `compare` on rows, where none does."""
    cells: dict[Cell, float] = {}
    studies = max(100, studies // 4)
    for tasks, trials, correlation in ((20, 1, 0.0), (20, 3, 0.3), (40, 3, 0.8)):
        wrong = sum(
            any(o.p_holm <= LEVEL for o in compare(rows, ("first", "second")).contrasts[0].outcomes)
            for rows in (_rows(random, tasks, trials, correlation) for _ in range(studies))
        )
        cells[tasks, trials, correlation] = wrong / studies
    return Section("any of three outcomes said to differ where none does (5 % allowed)",
                   ("tasks", "trials", "correlation"), cells, (0.0, allowed(LEVEL, 3 * studies)),
                   allowed(LEVEL, studies), high=True)  # fmt: skip


def _rows(random: Random, tasks: int, trials: int, correlation: float) -> list[Row]:
    """A team that passes in half of its episodes, approves and edits as often."""
    law = [task_rates(random, 1, tasks, correlation, 0.5)[0] for _ in range(3)]
    rows = []
    for task, trial, name in product(range(tasks), range(trials), ("first", "second")):
        passes, approves, edits = (random.random() < rate[task] for rate in law)
        verdict, grade = ("approve" if approves else "reject"), ("pass" if passes else "fail")
        rows.append(Row(f"t{task}", name, trial, verdict, grade, attempts=int(edits),
                        edits=int(edits)))  # fmt: skip
    return rows


def powers(random: Random, studies: int) -> Section:
    """By how much the promised power is off, on studies made otherwise."""
    designs = (
        GateDesign(0.10, 0.03),
        GateDesign(0.10, 0.03, 0.3, 3),
        GateDesign(0.20, 0.05, 0.8, 5),
        CompareDesign(0.4, 0.65),
        CompareDesign(0.4, 0.65, correlation=0.3, trials=3),
        CompareDesign(0.4, 0.4, discordant=0.2, margin=0.15),
        CompareDesign(0.4, 0.4, discordant=0.2, margin=0.15, correlation=0.3, trials=3),
    )
    cells: dict[Cell, float] = {}
    for design in designs:
        needed = needed_for(design)
        assert needed.tasks is not None
        seen = _played(random, studies, design, needed.tasks)
        kind = "gate" if isinstance(design, GateDesign) else "compare"
        margin = getattr(design, "margin", None)
        cells[kind, margin or "-", needed.tasks, design.trials, design.correlation] = abs(
            seen - needed.power
        )
    names = ("what", "margin", "tasks", "trials", "correlation")
    return Section("power: promised less seen, either way", names, cells, (0.0, 0.02),
                   3 * math.sqrt(0.16 / studies) + 0.02, high=True)  # fmt: skip


def _played(random: Random, studies: int, design: GateDesign | CompareDesign, tasks: int) -> float:
    if isinstance(design, GateDesign):
        law = task_rates(random, studies, tasks, design.correlation, design.rate)
        events = random.binomial(design.trials, law).tolist()
        return sum(design.holds([(x, design.trials) for x in study]) for study in events) / studies
    cell = (tasks, design.trials, design.correlation, design.share, design.difference)

    def succeeds(clusters: list[tuple[int, int, int]]) -> bool:
        if design.margin is not None:
            return within_margin(clusters, design.margin) <= design.level
        return sign_flip([g - x for g, x, _ in clusters]) <= design.level

    return _share(random, studies, cell, succeeds)


MADE: tuple[Callable[[Random, int], Section | list[Section]], ...] = (
    rates, plain_rates, uneven_rates, decisions, informedness, differences, errors, margins,
    family, powers,
)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
