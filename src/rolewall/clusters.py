"""Episodes in clusters, summed up: how many independent ones they are worth.

A *cluster* is a task: trials of one task repeat one another, so they count for less than
as many different tasks. All that is asked of clusters follows from a few sums over them,
which further tasks are added to without listing any.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

__all__ = ["Moments", "Shared", "correlation"]

PSEUDO = 0.25
"""How much each of the two tasks weighs that are added before a design effect is taken."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums over tasks, of ``n`` episodes each that have the value ``lowest``, 0 or 1.

    Attributes:
        tasks: those that have an episode.
        episodes: Σ n; ``sizes`` is Σ n².
        total: Σ v, where v is the sum of a task's values.
        squares: the sum of the squares of the episodes' own values.
        sums: Σ v²; ``mixed`` is Σ v·n.
        shares: Σ v/n; ``share_squares`` is Σ (v/n)², ``reciprocals`` Σ 1/n.
        lowest: 0 for a rate; −1 for a difference of pairs, one of which may lose.
    """

    tasks: int = 0
    episodes: float = 0
    sizes: float = 0
    total: float = 0
    squares: float = 0
    sums: float = 0
    mixed: float = 0
    shares: float = 0.0
    share_squares: float = 0.0
    reciprocals: float = 0.0
    lowest: Literal[0, -1] = 0

    @classmethod
    def of_rate(cls, clusters: Iterable[tuple[int, int, int]]) -> Moments:
        """Of (events, episodes) a task, and how many tasks have just these."""
        return cls._of(((x, x, n, times) for x, n, times in clusters), 0)

    @classmethod
    def of_pairs(cls, clusters: Iterable[tuple[int, int, int]]) -> Moments:
        """Of (gains, losses, pairs) a task."""
        return cls._of(((g - x, g + x, n, 1) for g, x, n in clusters), -1)

    @classmethod
    def _of(cls, rows: Iterable[tuple[int, int, int, int]], lowest: Literal[0, -1]) -> Moments:
        tasks = episodes = sizes = total = squares = sums = mixed = 0
        shares = share_squares = reciprocals = 0.0
        for v, square, n, times in rows:
            if n:
                tasks += times
                episodes += times * n
                sizes += times * n * n
                total += times * v
                squares += times * square
                sums += times * v * v
                mixed += times * v * n
                shares += times * v / n
                share_squares += times * (v / n) ** 2
                reciprocals += times / n
        counts = tasks, episodes, sizes, total, squares, sums, mixed
        return cls(*counts, shares, share_squares, reciprocals, lowest)

    def further(self, number: int) -> Moments:
        """With so many tasks more, of one episode each, none of them an event."""
        return replace(
            self,
            tasks=self.tasks + number,
            episodes=self.episodes + number,
            sizes=self.sizes + number,
            reciprocals=self.reciprocals + number,
        )

    def turned(self) -> Moments:
        """Of a rate: what was no event is one, and the other way round."""
        return replace(
            self,
            total=self.episodes - self.total,
            squares=self.episodes - self.squares,
            sums=self.sizes - 2 * self.mixed + self.sums,
            mixed=self.sizes - self.mixed,
            shares=self.tasks - self.shares,
            share_squares=self.tasks - 2 * self.shares + self.share_squares,
        )

    @property
    def uneven(self) -> bool:
        """Whether some tasks have more episodes than others."""
        return self.episodes * self.episodes != self.sizes * self.tasks

    @property
    def alike(self) -> Moments:
        """Of a rate: the same tasks, each weighed alike. Each has as many episodes as they
        have in the harmonic mean, which are worth what the uneven ones are to that rate."""
        size = self.tasks / self.reciprocals if self.tasks else 0.0
        return replace(
            self,
            episodes=self.tasks * size,
            sizes=self.tasks * size * size,
            total=size * self.shares,
            squares=size * self.shares,
            sums=size * size * self.share_squares,
            mixed=size * size * self.shares,
        )

    @property
    def kish(self) -> float:
        """How many clusters there are, unequal ones counting for less."""
        return self.episodes * self.episodes / self.sizes if self.episodes else 0.0

    @property
    def effective(self) -> float:
        """How many independent episodes the clusters are worth.

        Without repeats that is the number of episodes. With repeats it lies between
        ``kish`` and that.

        The plain design effect cannot be seen where no event, or only events, were
        seen, and is erratic near there: one false approval more could narrow the
        interval. So two tasks that agree with themselves wholly, one each way, are
        added before it is taken, each at a quarter of a task's weight: at full weight
        the intervals covered too much, at none they narrowed so.
        """
        if self.sizes == self.episodes:
            return float(self.episodes)
        tasks, added = self.tasks + 2 * PSEUDO, PSEUDO * self._typical
        episodes = self.episodes + 2 * added
        mean = (self.total + added * (1 + self.lowest)) / episodes
        between = self.residual(mean) * tasks / (tasks - 1)
        alone = self.squares + added * (1 + self.lowest**2) - episodes * mean * mean
        return max(self.kish, self.episodes / max(1.0, between / alone))

    def residual(self, mean: float) -> float:
        """Σ (v − mean·n)², the two added tasks among them."""
        seen = self.sums - 2 * mean * self.mixed + mean * mean * self.sizes
        added = (1 - mean) ** 2 + (self.lowest - mean) ** 2
        return seen + PSEUDO * self._typical**2 * added

    @property
    def _typical(self) -> float:
        """The size of the tasks that an episode is in, on average."""
        return self.sizes / self.episodes


@dataclass(frozen=True, slots=True)
class Shared:
    """What two rates of the same tasks have in common: sums over tasks of x·y, x·m, n·y and
    n·m, where a task has x events in n episodes of the one, and y in m of the other."""

    events: int = 0
    first_events: int = 0
    second_events: int = 0
    sizes: int = 0

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int, int, int, int]]) -> Shared:
        """Of (x, n, y, m) a task, and how many tasks have just these."""
        xy = xm = ny = nm = 0
        for x, n, y, m, times in pairs:
            xy += times * x * y
            xm += times * x * m
            ny += times * n * y
            nm += times * n * m
        return cls(xy, xm, ny, nm)


def correlation(first: Moments, second: Moments, shared: Shared) -> float:
    """How alike two rates of the same tasks deviate, task by task, between −1 and 1.

    0 where they have no task in common. The tasks that are added for the effective size
    are added here, so that few tasks do not say much.
    """
    p, q = first.total / first.episodes, second.total / second.episodes
    together = (
        shared.events - q * shared.first_events - p * shared.second_events + p * q * shared.sizes
    )
    apart = first.residual(p) * second.residual(q)
    return max(-1.0, min(1.0, float(together / apart**0.5)))
