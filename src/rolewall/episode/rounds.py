"""Whose turn it is: by rounds, or step by step.

::

    end         planner ─ executor ─ verifier ─ reject: executor again (or the planner)
    each-step   planner ─ for each step: executor ─ verifier ─ reject: the same step again
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from rolewall.record import Verdict
from rolewall.roles import Step, StepFacts

__all__ = ["MOST_TRIES", "Shape", "Turns", "by_rounds", "by_steps", "in_order"]

MOST_TRIES = 100
"""Turns of the executor in one episode that goes step by step: a planner decides how many
steps there are, and not how long an episode goes on."""


class Turns(Protocol):
    """What the roles of an episode can be asked for. Each turn may end the episode."""

    @property
    def over(self) -> bool:
        """Whether the episode ended as an error: then nobody has a further turn."""

    def plan(self, round_: int) -> Sequence[Step]:
        """The planner's turn; the steps of its plan."""

    def execute(self, round_: int, step: StepFacts | None = None) -> bool:
        """The executor's turn; whether it is blocked."""

    def verify(self, round_: int, step: StepFacts | None = None) -> Verdict:
        """The verifier's turn; its verdict."""

    def hand_in(self) -> None:
        """Take the work as it is: nobody verifies it."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How a team works in this episode; ``rounds`` are executor phases at most, with steps
    those of one step."""

    rounds: int
    planned: bool
    replan: bool
    verified: bool


def by_rounds(turns: Turns, shape: Shape) -> bool:
    """A verdict on the whole work after each round; whether the last one approves."""
    plan = shape.planned
    for round_ in range(1, shape.rounds + 1):
        if plan:
            turns.plan(round_)
            if turns.over:
                return False
        plan = shape.planned and shape.replan
        blocked = turns.execute(round_)
        if turns.over:
            return False
        if not shape.verified:
            turns.hand_in()
            return False
        if blocked and round_ < shape.rounds:
            continue
        verdict = turns.verify(round_)
        if turns.over or verdict != "reject":
            return verdict == "approve" and not turns.over
    return False


def by_steps(turns: Turns, shape: Shape) -> bool:
    """A verdict after every step of the plan; whether all approve. The last step's is on
    the whole work.

    A step has ``rounds`` tries, and all together have as many as the steps of the first plan
    had, and ``MOST_TRIES`` at most: a planner that plans anew makes the episode no longer.
    """
    steps = _to_do(turns.plan(1))
    if turns.over:
        return False
    if not steps:  # nothing to go by: the whole is one step
        return by_rounds(turns, replace(shape, planned=False, replan=False))
    return _Stepping(turns, shape, steps).run()


class _Stepping:
    """Steps under way: which of them are approved, and how many tries are left."""

    def __init__(self, turns: Turns, shape: Shape, steps: list[Step]) -> None:
        self._turns, self._shape, self._steps = turns, shape, steps
        self._approved: set[str] = set()
        self._left = min(shape.rounds * len(steps), MOST_TRIES)

    def run(self) -> bool:
        round_ = 1
        # A new plan may have nothing to do, after a reject: that approves nothing.
        while self._left > 0 and (step := _next(self._steps, self._approved)):
            self._left -= 1
            last = round_ == self._shape.rounds or self._left == 0
            verdict = self._try(round_, step, last)
            if self._turns.over or verdict == "missing":
                return False
            if verdict == "approve":
                if step.last:
                    return True
                self._approved.add(step.id)
                round_ = 1
            elif last or not self._again(round_ + 1):
                return False
            else:
                round_ += 1
        return False

    def _try(self, round_: int, step: StepFacts, last: bool) -> Verdict:
        blocked = self._turns.execute(round_, step)
        if self._turns.over:
            return "missing"
        return "reject" if blocked and not last else self._turns.verify(round_, step)

    def _again(self, round_: int) -> bool:
        """Get ready for another try: after a reject the planner may plan anew."""
        if self._shape.replan:
            self._steps = _to_do(self._turns.plan(round_))
        return not self._turns.over


def in_order(steps: Sequence[Step]) -> Iterator[Step]:
    """Each step after those that it depends on, else as they stand. There is no circle."""
    taken: set[str] = set()
    waiting = list(steps)
    while waiting:
        found = next(step for step in waiting if taken.issuperset(step.depends_on))
        waiting.remove(found)
        taken.add(found.id)
        yield found


def _to_do(steps: Sequence[Step]) -> list[Step]:
    return [step for step in in_order(steps) if step.status not in ("done", "skipped")]


def _next(steps: Sequence[Step], approved: set[str]) -> StepFacts | None:
    """The first step that no verdict covers, as the roles are told of it."""
    for number, step in enumerate(steps, 1):
        if step.id not in approved:
            last = all(other.id in approved for other in steps[number:])
            return StepFacts(step.id, step.goal, step.done_when, number, len(steps), last)
    return None
