"""Studies of repeated trials: how the trials of one task come out, and how often a study of many
tasks succeeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FINE", "law_of", "simulated"]

FINE = 4_000  # simulated studies
SEED = 20_260


def law_of(
    rates: Sequence[float], cells: Sequence[tuple[int, ...]], correlation: float
) -> NDArray[np.float64]:
    """The chance of each cell, how often each outcome came up in the trials of one task.

    Pólya's urn, as products of the rates and multiples of ρ / (1 − ρ): the same law as by
    gamma functions, whose differences mean nothing for small correlations. ρ = 0 is the
    multinomial law.
    """
    import numpy as np
    from scipy.special import gammaln

    counts = np.array(cells)
    trials = int(counts[0].sum())
    added = correlation / (1 - correlation) * np.arange(trials)
    with np.errstate(divide="ignore"):  # an outcome that never comes up
        steps = np.log(np.maximum(rates, 0.0)[:, None] + added)
    risen = np.pad(steps.cumsum(1), ((0, 0), (1, 0)))
    log = risen[np.arange(len(rates)), counts].sum(1) - gammaln(counts + 1).sum(1)
    law = np.exp(log - log.max())
    return np.asarray(law / law.sum())


def simulated(
    law: NDArray[np.float64],
    seen: Sequence[Sequence[int]],
    tasks: int,
    studies: int,
    succeeds: Callable[[tuple[int, ...]], bool],
) -> tuple[float, float]:
    """The share of simulated studies that succeed; each is how many tasks came out how.

    Studies alike in the sums of ``seen`` are tested once.
    """
    import numpy as np

    drawn = np.random.default_rng(SEED).multinomial(tasks, law, studies)
    _, at, numbers = np.unique(
        drawn @ np.array(seen), axis=0, return_index=True, return_counts=True
    )
    hits = sum(int(n) for i, n in zip(at, numbers, strict=True) if succeeds(_counts(drawn[i])))
    share = hits / studies
    return share, math.sqrt(share * (1 - share) / studies)


def _counts(kind: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in kind)
