"""How a verifier's judgement of the same failing candidates moved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rolewall.clusters import Moments
from rolewall.decision import Measure
from rolewall.gating.measures import of_difference
from rolewall.paired import tango
from rolewall.rows import Row

__all__ = ["Pair", "Shift"]

Pair = tuple[Row, Row]
"""One frozen candidate that fails: as it was judged here, and in the baseline."""


class Shift:
    """How many pairs became a false approval, and how many no longer are.

    A missing verdict is taken for the worst that it may hide: a false approval here, and none
    in the baseline.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        by_task: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for here, there in pairs:
            now, before = here.verdict != "reject", there.verdict == "approve"
            found = by_task[here.task]
            found[0] += now and not before
            found[1] += before and not now
            found[2] += 1
        clusters = [(gains, losses, total) for gains, losses, total in by_task.values()]
        self.clusters = Moments.of_pairs(clusters)
        self.gains = sum(gains for gains, _, _ in clusters)
        self.losses = sum(losses for _, losses, _ in clusters)

    def measure(self, confidence: float, further: int = 0) -> Measure:
        """The difference; with so many further pairs, each of another task and agreeing.

        Tango's interval on the effective pairs, with Student's t of one degree of freedom
        fewer than there are tasks, as ``compare`` holds a difference to a margin.
        """
        found = self.clusters.further(further)
        if not found.episodes:
            return of_difference(None, None)
        from scipy.special import stdtrit

        value = (self.gains - self.losses) / found.episodes
        if found.tasks < 2:
            return of_difference(value, None)
        pairs = found.effective
        scale = pairs / found.episodes
        critical = float(stdtrit(found.tasks - 1, 0.5 + confidence / 2))
        return of_difference(
            value, tango(self.losses * scale, self.gains * scale, pairs, critical=critical)
        )
