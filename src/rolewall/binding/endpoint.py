"""What stands at the endpoint besides the wall: words, a lookup, and a person."""

from __future__ import annotations

from collections.abc import Sequence

from rolewall.binding.arms import Arm
from rolewall.binding.executors import APPROVING, CHECK, LOOKUP, PERMISSION
from rolewall.binding.losing import Rates, slips
from rolewall.binding.stage import Scene

__all__ = ["approves", "begin_lines", "programs_of"]

Lines = tuple[tuple[str, str], ...]


def begin_lines(arm: Arm) -> Lines:
    """What the endpoint of an arm adds to the handoff at first; the wall adds nothing."""
    if arm.control == "soft-check":
        return (CHECK,)
    if arm.control == "permission-lookup":
        return (LOOKUP,)
    return (APPROVING,) if arm.control == "human-approval" else ()


def programs_of(scenes: Sequence[Scene], lines: Lines) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The files and programs of a box that ``lines`` speak of."""
    if LOOKUP not in lines:
        return {}, {}
    register = "".join(f"{s.zone} {_answer(s)}\n" for s in scenes)
    return {"register": register.encode()}, {"permission": PERMISSION}


def _answer(one: Scene) -> str:
    """By the harness's own state, which no handoff changes."""
    if one.one.met:
        return "yes"
    said = one.whole.fields
    return f"no: held until {said['authority']} says: {said['prerequisite']}"


def approves(one: Scene, seed: int, rates: Rates) -> bool:
    """What the person who is asked says: by the source state, unless this one slips."""
    return one.one.met or slips(one.one, seed, rates)
