"""What an agent's own record lacks, from the gateway's record of its exchanges.

Some programs print neither what they were told nor what an answer cost. Only what surely
belongs together is taken over.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import takewhile

from rolewall.roles import Trajectory, TrajectoryStep

__all__ = ["filled"]

# How the prompt that rolewall generates begins, role by role.
OPENING = "# You are the {role}"


def filled(own: Trajectory, exchanged: Trajectory, role: str) -> Trajectory:
    """``own`` with the prompt as its first step, where nothing was said before the agent's
    first step, and with the tokens of answers.

    Args:
        own: as the agent's program printed it.
        exchanged: the same phase by its exchanges.
    """
    answers = [step for step in exchanged.steps if step.source == "agent"]
    steps = tuple(_counted(step, own, answers) for step in own.steps)
    prompt = None if _told(own.steps) else _prompt(exchanged.steps, role)
    return replace(own, steps=(prompt, *steps) if prompt else steps)


def _told(steps: Iterable[TrajectoryStep]) -> bool:
    before = takewhile(lambda step: step.source != "agent", steps)
    return any(step.source == "user" and step.text for step in before)


def _prompt(steps: Iterable[TrajectoryStep], role: str) -> TrajectoryStep | None:
    """The first message that holds the prompt; a program puts its own words before."""
    opening = OPENING.format(role=role)
    for step in steps:
        at = step.text.find(opening) if step.source == "user" else -1
        if at >= 0:
            return TrajectoryStep(source="user", text=step.text[at:], time=step.time)
    return None


def _counted(
    step: TrajectoryStep, own: Trajectory, answers: Iterable[TrajectoryStep]
) -> TrajectoryStep:
    """``step`` with the tokens of the one answer that it surely is."""
    if step.source != "agent" or (step.tokens and step.tokens.output is not None):
        return step
    found = [answer for answer in answers if _same(step, answer)]
    alike = sum(_same(other, step) for other in own.steps if other.source == "agent")
    if len(found) != 1 or alike != 1 or found[0].tokens is None:
        return step
    return replace(step, tokens=found[0].tokens)


def _same(one: TrajectoryStep, other: TrajectoryStep) -> bool:
    """By the calls' names, which nobody else has, or where there are none by the words."""
    ids = [call.id for call in one.calls]
    if ids or other.calls:
        return all(ids) and ids == [call.id for call in other.calls]
    return bool(one.text) and one.text.strip() == other.text.strip()
