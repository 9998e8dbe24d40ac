"""How often the intervals of ``rolewall.indices`` hold what they are to hold.

    python bench/indices.py [--repeat N] [--json]

Tasks are drawn anew each time, with true rates under each condition, and trials of each.
``value`` is the difference team less solo, over all tasks; ``index`` the teamwork necessity
index, over the tasks that the trials show to be more than the gap better. A row is a kind of
task × tasks × trials: the share of repeats whose interval held the true mean, and how far
the estimates are from it on average. Nothing here is about any model.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable

import numpy as np

from rolewall.indices import FEWEST_TASKS, GAP, interval_over_tasks

Rates = tuple[np.ndarray, np.ndarray, np.ndarray]  # solo, restricted, team: a rate a task
Draw = Callable[[np.random.Generator, int], Rates]
MANY = 400_000
TASKS, TRIALS = (10, 20, 40), (1, 3, 5, 10, 30)


def middling(chance: np.random.Generator, tasks: int) -> Rates:
    """Solo solves two thirds; the team wins back six tenths of what the specification is worth."""
    solo = chance.beta(4, 2, tasks)
    restricted = solo * chance.beta(2, 3, tasks)
    return solo, restricted, won(chance, solo, restricted, 0.3)


def spread(chance: np.random.Generator, tasks: int) -> Rates:
    """Tasks are nearly always or nearly never solved, and teams differ much."""
    solo = chance.beta(1, 0.5, tasks)
    restricted = solo * chance.beta(0.7, 0.7, tasks)
    return solo, restricted, won(chance, solo, restricted, 0.6)


def little(chance: np.random.Generator, tasks: int) -> Rates:
    """The specification is worth little: many tasks lie about the gap."""
    restricted = chance.beta(2, 2, tasks)
    solo = np.clip(restricted + chance.beta(1, 6, tasks), 0, 1)
    return solo, restricted, restricted + 0.6 * (solo - restricted)


def whole(chance: np.random.Generator, tasks: int) -> Rates:
    """The specification is nearly everything, and the team is as good as solo."""
    solo = chance.beta(8, 1, tasks)
    return solo, chance.beta(1, 8, tasks), solo


def rare(chance: np.random.Generator, tasks: int) -> Rates:
    """One task in twenty cannot be done without the team, and all others by anyone."""
    team = np.ones(tasks)
    solo = np.where(chance.random(tasks) < 0.05, 0.0, 1.0)
    return solo, 0.5 * solo, team


def won(
    chance: np.random.Generator, solo: np.ndarray, restricted: np.ndarray, sd: float
) -> np.ndarray:
    share = chance.normal(0.6, sd, len(solo))
    return np.clip(restricted + (solo - restricted) * share, 0, 1)


KINDS: tuple[Draw, ...] = (middling, spread, little, whole, rare)


def cell(kind: Draw, tasks: int, trials: int, repeat: int) -> dict[str, object]:
    chance = np.random.default_rng([KINDS.index(kind), tasks, trials])
    solo, restricted, team = kind(chance, MANY)
    kept = solo - restricted > GAP
    truth = {
        "value": float(np.mean(team - solo)),
        "index": float(np.mean((team - restricted)[kept] / (solo - restricted)[kept])),
    }
    held: dict[str, list[bool]] = {"value": [], "index": []}
    means: dict[str, list[float]] = {"value": [], "index": []}
    for _ in range(repeat):
        s, r, t = (chance.binomial(trials, rates) / trials for rates in kind(chance, tasks))
        shown = s - r > GAP + 1e-12
        index = (t - r)[shown] / (s - r)[shown]
        for name, found, about, most in (
            ("value", t - s, 0.0, 1.0),
            ("index", index, None, math.inf),
        ):
            if len(found) >= FEWEST_TASKS:
                interval = interval_over_tasks(found.tolist(), about=about, most=most)
                held[name].append(interval.low <= truth[name] <= interval.high)
                means[name].append(float(found.mean()))
    row: dict[str, object] = {"kind": kind.__name__, "tasks": tasks, "trials": trials}
    for name, outcomes in held.items():
        enough = len(outcomes) >= repeat / 10
        row[f"{name} held"] = float(np.mean(outcomes)) if enough else None
        row[f"{name} off"] = float(np.mean(means[name])) - truth[name] if enough else None
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=1000, metavar="N")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = [cell(k, n, m, given.repeat) for k in KINDS for n in TASKS for m in TRIALS]
    if given.json:
        print(json.dumps(rows, indent=1))
        return
    print(*(f"{name:>10}" for name in rows[0]))
    for row in rows:
        print(*(f"{'-' if v is None else f'{v:.3f}' if isinstance(v, float) else v:>10}"
                for v in row.values()))  # fmt: skip
    for name, fewest in (("value", 1), ("index", 1), ("index", 3)):
        some = [r for r in rows if r["trials"] >= fewest and r[f"{name} held"] is not None]
        worst = min(some, key=lambda r: r[f"{name} held"])
        mean = np.mean([r[f"{name} held"] for r in some])
        far = max(abs(r[f"{name} off"]) for r in some)
        print(f"{name}, {fewest} trials or more: mean {mean:.3f}, worst {worst[f'{name} held']:.3f}"
              f" ({worst['kind']}, {worst['tasks']} tasks, {worst['trials']} trials),"
              f" off by {far:.3f} at most")  # fmt: skip


if __name__ == "__main__":
    main()
