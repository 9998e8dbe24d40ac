"""Whether the steps of a plan can be carried out by who is to do so."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rolewall.critical import folded
from rolewall.measures.files import EpisodeFiles, Handed
from rolewall.measures.given import Given, Need
from rolewall.roles import Step

__all__ = ["StepFound", "steps_of"]


@dataclass(frozen=True)
class StepFound:
    """One step of a sealed plan. ``needs`` are those that it declares; ``missed`` the programs
    that it speaks of without that, and that the executor called in vain. ``executable``: its
    dependencies are known, it says when it is done, and nothing that it needs is known to be
    lacking."""

    plan: Handed
    step: Step
    needs: tuple[Need, ...]
    missed: tuple[str, ...] = ()

    @property
    def executable(self) -> bool:
        known = {step.id for step in self.plan.whole.steps}
        return (
            known.issuperset(self.step.depends_on)
            and bool(self.step.done_when.strip())
            and not self.unmet
            and not self.missed
        )

    @property
    def unmet(self) -> list[Need]:
        return [need for need in self.needs if need.met == "unmet"]

    @property
    def lacks(self) -> bool:
        """Whether the executor, by what it tried, came to lack something."""
        return bool(self.missed) or any(need.tried for need in self.unmet)


def steps_of(files: EpisodeFiles) -> tuple[StepFound, ...]:
    """The steps of every plan of the episode, as sealed."""
    given = Given(files)
    return tuple(
        StepFound(plan, step, needs, _missed(given.in_vain, step, needs))
        for plan in files.of("planner")
        for step in plan.whole.steps
        for needs in [tuple(given.look_up(need) for need in step.needs)]
    )


def _missed(in_vain: frozenset[str], step: Step, needs: tuple[Need, ...]) -> tuple[str, ...]:
    declared = {need.need.strip().rpartition("/")[2] for need in needs}
    words = set(re.split(r"[^\w.+-]+", folded(f"{step.goal}\n{step.done_when}")))
    return tuple(sorted(name for name in in_vain - declared if folded(name) in words))
