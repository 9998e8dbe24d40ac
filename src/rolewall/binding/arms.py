"""The arms: how the state is handed on, what is put back, and what guards the endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rolewall.binding.losing import Rates, compress, restore
from rolewall.binding.state import GROUPS, Handed, Try
from rolewall.errors import InputError

__all__ = ["ARMS", "Arm", "Control", "hand_on", "parse_arms"]

Control = Literal["none", "soft-check", "hard-check", "permission-lookup", "human-approval"]
Kind = Literal["handoff", "restoration", "control"]


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm. ``hops`` are the levels of compression, one a hop, none for the source state
    itself; ``restored`` are groups of fields put back after the last."""

    name: str
    kind: Kind
    hops: tuple[str, ...]
    restored: tuple[str, ...] = ()
    control: Control = "none"


_NORMAL = ("normal",)
_FOUR = tuple(GROUPS)
_CONTROLS: tuple[Control, ...] = (
    "soft-check", "hard-check", "permission-lookup", "human-approval",
)  # fmt: skip

_LIST = (
    Arm("direct", "handoff", ()),
    Arm("light", "handoff", ("light",)),
    Arm("normal", "handoff", _NORMAL),
    Arm("compressed", "handoff", ("compressed",)),
    Arm("hops-2", "handoff", _NORMAL * 2),
    Arm("hops-3", "handoff", _NORMAL * 3),
    *(Arm(f"only-{group}", "restoration", _NORMAL, (group,)) for group in _FOUR),
    *(
        Arm(f"without-{group}", "restoration", _NORMAL, tuple(g for g in _FOUR if g != group))
        for group in _FOUR
    ),
    Arm("all-four", "restoration", _NORMAL, _FOUR),
    *(Arm(control, "control", _NORMAL, (), control) for control in _CONTROLS),
)
ARMS: dict[str, Arm] = {arm.name: arm for arm in _LIST}
"""In the order of the tables."""


def parse_arms(text: str, after: str = "normal") -> tuple[Arm, ...]:
    """``a,b,c``, or the kinds ``handoff``, ``restoration``, ``control`` for all of theirs.

    Args:
        after: the level of the handoff that restoration and controls start from.

    Raises:
        InputError: an unknown name, or nothing.
    """
    chosen: set[str] = set()
    for word in (word.strip() for word in text.split(",")):
        found = {arm.name for arm in _LIST if word in (arm.name, arm.kind)}
        if not found:
            kinds = sorted({arm.kind for arm in _LIST})
            expected = f"some of {', '.join([*kinds, *ARMS])}"
            raise InputError("no such arm", place="--arms", got=word, expected=expected)
        chosen |= found
    return tuple(
        arm if arm.kind == "handoff" else replace(arm, hops=(after,))
        for arm in _LIST
        if arm.name in chosen
    )


def hand_on(whole: Handed, one: Try, arm: Arm, seed: int, rates: Rates) -> Sequence[Handed]:
    """The handoff after each hop; of none, the source state itself. The last is what the
    executor gets."""
    found = [whole]
    for hop, level in enumerate(arm.hops, start=1):
        found.append(compress(found[-1], one, level, hop, seed, rates))
    if arm.restored:
        found[-1] = restore(found[-1], whole, arm.restored)
    return found[1:] or found
