"""The arms of a handoff: what of a sealed one the next role is shown.

==============  ==================================================================
``prose``       status and text
``compressed``  status, the first ``COMPRESSED`` characters of the text, and the goal of
                each step on a line of its own
``typed``       all that the role wrote, and the harness's notes on it
``full``        that, and the evidence, with results by digest
==============  ==================================================================

The whole handoff is archived in each of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

from rolewall.errors import InputError
from rolewall.roles.seal import SealedHandoff, sealed_bytes

__all__ = ["ARMS", "COMPRESSED", "Arm", "arm_named", "left_of", "shown_bytes"]

Arm = Literal["prose", "compressed", "typed", "full"]
ARMS: tuple[Arm, ...] = get_args(Arm)

COMPRESSED = 600

_PROSE = ("schema_version", "status", "text", "seal")
_EMPTY: Mapping[str, list[Any]] = {
    name: [] for name in ("steps", "conditions", "artifacts", "questions", "problems", "evidence")
}


def arm_named(name: str, place: str = "--handoff") -> Arm:
    """Raises InputError for a word that names no arm."""
    if name not in ARMS:
        expected = f"one of {', '.join(ARMS)}"
        raise InputError("no such arm of a handoff", place=place, got=name, expected=expected)
    return name


def left_of(arm: Arm, sealed: SealedHandoff) -> SealedHandoff:
    """What ``arm`` leaves of ``sealed``; its seal stays that of the whole."""
    if arm == "full":
        return sealed
    if arm == "typed":
        return sealed.model_copy(update={"evidence": []})
    text = _compressed(sealed) if arm == "compressed" else sealed.text
    return sealed.model_copy(update={**_EMPTY, "text": text})


def shown_bytes(arm: Arm, sealed: SealedHandoff) -> bytes:
    """The ``handoff.json`` that the next role finds: what was sealed, byte for byte, or JSON
    with the keys that the arm leaves. No word says which arm it is."""
    left = left_of(arm, sealed)
    if arm == "full":
        return sealed_bytes(left)
    whole = left.model_dump(mode="json")
    keys = [key for key in whole if key != "evidence"] if arm == "typed" else _PROSE
    kept = {key: whole[key] for key in whole if key in keys}
    return json.dumps(kept, indent=2, ensure_ascii=False).encode() + b"\n"


def _compressed(sealed: SealedHandoff) -> str:
    goals = [f"- {' '.join(step.goal.split())}" for step in sealed.steps]
    return "\n".join([part for part in (sealed.text[:COMPRESSED], *goals) if part])
