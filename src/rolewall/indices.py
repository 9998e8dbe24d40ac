"""What a team is worth: teamwork necessity, the value of planning and of verifying.

Published with TeamBench (arXiv 2605.07073). S is the mean score of a task under a
condition: the grader's partial score where every episode has one between 0 and 1, else
the share that passed; the two are never mixed.

=========================  ==========================================================
teamwork necessity index   (S_enforced - S_restricted) / max(0.05, S_solo - S_restricted),
                           mean over tasks with S_solo - S_restricted > 0.05
planning value             S_enforced - S_no-plan, mean over tasks
verification value         S_enforced - S_no-verify, mean over tasks
=========================  ==========================================================

Intervals are Student's over tasks, since trials of one task repeat one another. Two
tasks are added for them, one a whole score above and one below (of no difference for a
value, of the mean for the index), so that few tasks that agree by chance give no
interval of no width. In simulation (bench/indices.py) they held the true value of a
difference in 95.8 % of repeats or more, wider than need be, and that of the index in
93.5 % or more from three trials on. With a single trial, which task is kept is decided
by the very chance that its score is made of, and it fell to 80 %. Hence the bounds below.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean, stdev
from typing import Any, Literal

from rolewall.rows import Row
from rolewall.stats import Interval
from rolewall.tally import errored
from rolewall.terminal import counted

__all__ = [
    "FEWEST_TASKS",
    "FEWEST_TRIALS",
    "GAP",
    "Index",
    "index_notes",
    "indices",
    "interval_over_tasks",
]

GAP = 0.05
"""A task counts for the index where ``solo`` is more than this better than ``restricted``."""
FEWEST_TASKS = 8
FEWEST_TRIALS = 3
"""Graded trials under each condition that a task needs to count for the index."""

Score = Literal["partial score", "pass rate"]
Means = Mapping[str, float]


@dataclass(frozen=True)
class Index:
    """One index.

    ``value`` and ``interval`` are ``None`` where ``why`` says what is wanting.

    Attributes:
        tasks: over how many it is the mean, or would be.
        left_out: why other tasks do not count, in words → how many.
    """

    name: str
    conditions: tuple[str, ...]
    score: Score
    tasks: int
    left_out: dict[str, int] = field(default_factory=dict)
    value: float | None = None
    interval: Interval | None = None
    why: str = ""

    def text(self) -> str:
        """One line for people."""
        if self.value is None or self.interval is None:
            return f"{self.name} not shown: {self.why}{self._left()}"
        low, high = self.interval.low, self.interval.high
        mean = f"{self.value:+.3f} [{low:+.3f}, {high:+.3f}]"
        over = counted(self.tasks, "task")
        return f"{self.name} {mean}, {self.score}, mean over {over}{self._left()}"

    def _left(self) -> str:
        if not self.left_out:
            return ""
        reasons = ", ".join(f"{n} {why}" for why, n in self.left_out.items())
        return f"; {counted(sum(self.left_out.values()), 'task')} left out: {reasons}"

    def json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class _Kind:
    """``of`` makes a task's value of its means by condition, or says why there is none;
    ``about`` is where the intervals' added tasks lie around, None for the mean."""

    name: str
    conditions: tuple[str, ...]
    of: Callable[[Means], float | str]
    fewest_trials: int = 1
    about: float | None = 0.0
    most: float = 1.0


def _necessity(mean: Means) -> float | str:
    gap = mean["solo"] - mean["restricted"]
    # Sums of decimals miss the bound by a rounding error.
    if gap <= GAP + 1e-12:
        return f"where solo is not more than {GAP} better than restricted"
    return (mean["enforced"] - mean["restricted"]) / max(GAP, gap)


KINDS = (
    _Kind("teamwork necessity index", ("enforced", "solo", "restricted"), _necessity,
          FEWEST_TRIALS, None, math.inf),
    _Kind("planning value", ("enforced", "no-plan"),
          lambda mean: mean["enforced"] - mean["no-plan"]),
    _Kind("verification value", ("enforced", "no-verify"),
          lambda mean: mean["enforced"] - mean["no-verify"]),
)  # fmt: skip


def indices(rows: Iterable[Row]) -> tuple[Index, ...]:
    """Every index whose conditions are all there; errors enter none."""
    held = list(rows)
    there = {row.condition for row in held}
    return tuple(_index(kind, held) for kind in KINDS if there.issuperset(kind.conditions))


def index_notes(rows: Iterable[Row]) -> list[str]:
    """``indices`` as lines for people; none where their conditions are not there."""
    return [index.text() for index in indices(rows)]


def interval_over_tasks(
    values: Sequence[float], *, about: float | None, most: float = 1.0
) -> Interval:
    """The 95 % interval of the mean of ``values``, one a task and at least one.

    ``about`` is the middle of the two added tasks, None for the mean; ``most`` bounds
    both ends.
    """
    from scipy.special import stdtrit

    mean = fmean(values)
    middle = mean if about is None else about
    added = [*values, middle - 1.0, middle + 1.0]
    quantile = float(stdtrit(len(added) - 1, 0.975))
    half = quantile * stdev(added) / math.sqrt(len(added))
    low, high = fmean(added) - half, fmean(added) + half
    return Interval(max(-most, min(low, mean)), min(most, max(high, mean)))


def _index(kind: _Kind, rows: Sequence[Row]) -> Index:
    used = [row for row in rows if row.condition in kind.conditions]
    score = _score(row for row in used if not errored(row))
    found: list[float] = []
    left: Counter[str] = Counter()
    for task_rows in _by(used, lambda row: row.task).values():
        value = _task(kind, task_rows, score)
        if isinstance(value, str):
            left[value] += 1
        else:
            found.append(value)
    index = Index(kind.name, kind.conditions, score, len(found), dict(left.most_common()))
    if len({row.source for row in used}) > 1:
        why = "its episodes are of several teams, backends or versions of code"
        return replace(index, why=why)
    if len(found) < FEWEST_TASKS:
        why = f"{counted(len(found), 'task')}, and it needs {FEWEST_TASKS}"
        return replace(index, why=why)
    interval = interval_over_tasks(found, about=kind.about, most=kind.most)
    return replace(index, value=fmean(found), interval=interval)


def _task(kind: _Kind, rows: Sequence[Row], score: Score) -> float | str:
    """A task's value, or why it has none."""
    if len({(row.version, row.image) for row in rows}) > 1:
        return "that differ between conditions"
    graded = [row for row in rows if not errored(row)]
    by_condition = _by(graded, lambda row: row.condition)
    fewest = kind.fewest_trials
    for name in kind.conditions:
        if len(by_condition.get(name, ())) < fewest:
            return f"without {counted(fewest, 'graded trial')} under each condition"
    return kind.of({n: fmean(_points(r, score) for r in by_condition[n]) for n in by_condition})


def _score(rows: Iterable[Row]) -> Score:
    whole = all(row.score is not None and 0.0 <= row.score <= 1.0 for row in rows)
    return "partial score" if whole else "pass rate"


def _points(row: Row, score: Score) -> float:
    if score == "partial score" and row.score is not None:
        return row.score
    return float(row.grade == "pass")


def _by(rows: Iterable[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return found
