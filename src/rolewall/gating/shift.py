"""How a verifier's judgement of the same failing candidates moved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rolewall.decision import Measure
from rolewall.gating.measures import of_difference
from rolewall.paired import effective_pairs, tango
from rolewall.rows import Row

__all__ = ["Pair", "Shift"]

Pair = tuple[Row, Row]
"""One frozen candidate that fails: as it was judged here, and in the baseline."""


class Shift:
    """How many pairs became a false approval, a missing verdict being one, and how many no
    longer are."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        by_task: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for here, there in pairs:
            now, before = here.verdict != "reject", there.verdict != "reject"
            found = by_task[here.task]
            found[0] += now and not before
            found[1] += before and not now
            found[2] += 1
        clusters = [(gains, losses, total) for gains, losses, total in by_task.values()]
        self.total, self.tasks = len(pairs), len(clusters)
        self.effective = effective_pairs(clusters)
        self.gains = sum(gains for gains, _, _ in clusters)
        self.losses = sum(losses for _, losses, _ in clusters)

    def measure(self, confidence: float, size: int = 0) -> Measure:
        """The difference; at ``size`` independent pairs in all, the further ones of other
        tasks and agreeing.

        Tango's interval on the effective pairs, with Student's t of one degree of freedom
        fewer than there are tasks, as ``compare`` holds a difference to a margin.
        """
        if not self.total:
            return of_difference(None, None)
        from scipy.special import stdtrit

        value = (self.gains - self.losses) / self.total
        pairs = max(self.effective, float(size))
        free = self.tasks - 1 + pairs - self.effective
        if free < 1:
            return of_difference(value, None)
        scale = self.effective / self.total
        critical = float(stdtrit(free, 0.5 + confidence / 2))
        return of_difference(
            value, tango(self.losses * scale, self.gains * scale, pairs, critical=critical)
        )
