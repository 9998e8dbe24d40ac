"""The scripted executors at the endpoint: one box plays many episodes of one arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rolewall.binding.arms import Arm
from rolewall.binding.endpoint import approves, begin_lines, programs_of
from rolewall.binding.executors import APPROVED, EXECUTOR, Decision, Executor, decided
from rolewall.binding.losing import Rates
from rolewall.binding.scoring import Deed, Scored
from rolewall.binding.stage import Held, Scene, Stage, Touched, scene
from rolewall.binding.state import Try
from rolewall.errors import TapError

__all__ = ["MOST", "Batch", "play_batch"]

MOST = 60
"""Episodes of one box: each has a zone of its own, and a box takes 64."""
SECONDS = 60.0  # of one decision, which takes milliseconds


@dataclass(frozen=True)
class Batch:
    """Episodes of one arm that one box plays."""

    arm: Arm
    number: int
    tries: Sequence[Try]

    @property
    def name(self) -> str:
        return f"{self.arm.name}-{self.number}"


def play_batch(
    batch: Batch, stage: Stage, executor: Executor, seed: int, rates: Rates
) -> list[Scored]:
    """Play the episodes of a batch one after another.

    Raises:
        InfrastructureError: a box, the tap or the disk failed.
    """
    scenes = [
        scene(one, batch.arm, f"e{number:03}", seed, rates)
        for number, one in enumerate(batch.tries, start=1)
    ]
    if batch.arm.control == "human-approval":
        deeds = _with_approval(batch, scenes, stage, executor, seed, rates)
    else:
        held = Held.by_conditions(scenes, binding=batch.arm.control == "hard-check")
        deeds = _play(batch.name, scenes, begin_lines(batch.arm), held, stage, executor)
    return [
        Scored(batch.arm.name, s.one, s.artifacts(), s.hops[-1].text(), deeds[s.zone])
        for s in scenes
    ]


def _with_approval(
    batch: Batch, scenes: Sequence[Scene], stage: Stage, executor: Executor, seed: int, rates: Rates
) -> dict[str, Deed]:
    """Nothing can be written to before a person has approved it; then that zone alone."""
    held = Held.until_approved(scenes)
    first = _play(batch.name, scenes, begin_lines(batch.arm), held, stage, executor)
    asking = [s for s in scenes if first[s.zone].decision == "asks"]
    granted = [s for s in asking if approves(s, seed, rates)]
    held = Held.by_conditions([], binding=True)
    name = f"{batch.name}-approved"
    second = _play(name, granted, (APPROVED,), held, stage, executor) if granted else {}
    deeds = {}
    for one in scenes:
        before = first[one.zone]
        deed = second.get(one.zone, before)
        asked = one in asking
        deeds[one.zone] = replace(
            deed,
            tries=deed.tries if deed is before else deed.tries + before.tries,
            asked=asked,
            approved=one.zone in second if asked else None,
        )
    return deeds


def _play(
    name: str,
    scenes: Sequence[Scene],
    lines: tuple[tuple[str, str], ...],
    held: Held,
    stage: Stage,
    executor: Executor,
) -> dict[str, Deed]:
    files, programs = programs_of(scenes, lines)
    files |= {f"handed/{s.zone}": s.hops[-1].text(*lines).encode() for s in scenes}
    programs["executor"] = EXECUTOR
    with stage.zones(name, [s.zone for s in scenes]) as zones:
        said: dict[str, Decision] = {}
        with stage.box(name, zones, held, files=files, programs=programs) as box:
            for zone in zones:
                argv = ["/rolewall/executor", executor, f"/rolewall/handed/{zone}"]
                done = box.run(argv, timeout=SECONDS)
                if done.violation:
                    raise TapError("the budget of recorded attempts is spent", got=name)
                said[zone] = decided(done)
        touched = stage.touched(name, zones)
    return {zone: _deed(said[zone], touched[zone]) for zone in zones}


def _deed(said: Decision, touched: Touched) -> Deed:
    return Deed(said.word, said.why, touched.tries, touched.blocked, touched.filled)
