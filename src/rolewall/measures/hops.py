"""What became of conditions and steps from one hand to the next, field by field.

A hop is ``written`` (from what a role was given to the handoff that it wrote) or ``shown``
(from that handoff to what the run's arm left of it for the next role). The first says what
authors lose, the second what the channel loses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rolewall.critical import folded
from rolewall.graders import Rate
from rolewall.measures.files import EpisodeFiles, Handed
from rolewall.roles import Condition, SealedHandoff, Step

__all__ = ["CONDITION_FIELDS", "STEP_FIELDS", "Deactivated", "Fate", "Hop", "hops_of"]

CONDITION_FIELDS = (
    "status", "statement", "prerequisite", "authority", "fallback", "forbids", "consequence",
)  # fmt: skip
STEP_FIELDS = ("goal", "depends_on", "done_when", "needs")
Kind = Literal["written", "shown"]
Item = Literal["condition", "step"]


@dataclass(frozen=True, slots=True)
class Fate:
    """One field that was there upstream. ``present``: the item still has the field, or the
    prose names the item and tells the value; ``preserved``: with the same value."""

    item: Item
    id: str
    field: str
    present: bool
    preserved: bool


@dataclass(frozen=True, slots=True)
class Deactivated:
    """A condition that was open upstream, and downstream is ``absent``, or ``met`` or
    ``waived`` without a discharge."""

    id: str
    how: Literal["absent", "met", "waived"]


@dataclass(frozen=True)
class Hop:
    """``phase`` is that of the author; ``file`` the downstream one, below the episode, with its
    SHA-256. ``active`` are the conditions that were open upstream."""

    kind: Kind
    phase: int
    author: str
    file: str
    sha256: str
    fates: tuple[Fate, ...]
    active: tuple[str, ...]
    deactivated: tuple[Deactivated, ...]

    @property
    def retained(self) -> Rate:
        return Rate(sum(fate.present for fate in self.fates), len(self.fates))

    @property
    def preserved(self) -> Rate:
        return Rate(sum(fate.preserved for fate in self.fates), len(self.fates))

    @property
    def lost(self) -> list[Fate]:
        """Fields that are absent or say something else."""
        return [fate for fate in self.fates if not fate.preserved]


def hops_of(files: EpisodeFiles) -> tuple[Hop, ...]:
    """All hops of an episode, in order."""
    return tuple(_hops(files))


def _hops(files: EpisodeFiles) -> Iterator[Hop]:
    for handed in files.handoffs:
        open_ = _open_after(files, handed.phase.index)
        if handed.phase.role == "planner" and files.conditions:
            yield _hop("written", handed, files.conditions, (), open_)
        if handed.whole.conditions or handed.whole.steps:
            yield _hop("shown", handed, handed.whole.conditions, handed.whole.steps, open_)


def _open_after(files: EpisodeFiles, phase: int) -> set[str]:
    """The conditions that bind once the handoff of ``phase`` was sealed, by the harness's own
    account."""
    found = set()
    for event in files.record.conditions:
        if event.phase is None or event.phase <= phase:
            if event.event == "opened":
                found.add(event.condition)
            elif event.event == "discharged":
                found.discard(event.condition)
    return found


def _hop(
    kind: Kind, handed: Handed, conditions: Sequence[Condition], steps: Sequence[Step],
    open_: set[str],
) -> Hop:  # fmt: skip
    down = handed.whole if kind == "written" else handed.shown
    text = handed.text(shown=kind == "shown")
    name = handed.phase.name if kind == "written" else f"{handed.phase.name}.shown"
    if kind == "shown" and not handed.phase.handoff_shown:
        name = handed.phase.name
    fates = [
        *_fates("condition", CONDITION_FIELDS, conditions, down.conditions, text),
        *_fates("step", STEP_FIELDS, steps, down.steps, text),
    ]
    active = [c for c in conditions if c.status == "open" and c.id in open_]
    return Hop(
        kind=kind,
        phase=handed.phase.index,
        author=handed.phase.role,
        file=f"handoffs/{name}.json",
        sha256=handed.digest if kind == "written" else handed.shown_digest,
        fates=tuple(fates),
        active=tuple(condition.id for condition in active),
        deactivated=tuple(_deactivated(active, down, text)),
    )


def _fates(
    item: Item,
    fields: Iterable[str],
    up: Sequence[Condition] | Sequence[Step],
    down: Sequence[Condition] | Sequence[Step],
    text: str,
) -> Iterator[Fate]:
    there = {one.id: one.model_dump(mode="json") for one in down}
    for one in up:
        had: Mapping[str, Any] = one.model_dump(mode="json")
        now = there.get(one.id)
        named = _named(had, text)
        for name in fields:
            if not had[name]:
                continue
            value = now.get(name) if now else None
            told = named and _told(had[name], name, text)
            yield Fate(item, one.id, name, bool(value) or told, value == had[name] or told)


def _named(had: Mapping[str, Any], text: str) -> bool:
    """Whether prose speaks of an item: by its id as a word, or by what it says."""
    says = folded(str(had.get("statement") or had.get("goal") or ""))
    padded = "".join(c if c.isalnum() or c in "._-" else " " for c in text)
    words = {word.strip(".-_") for word in padded.split()}
    return had["id"].casefold() in words or (bool(says) and says in text)


def _told(value: object, name: str, text: str) -> bool:
    """Whether prose tells a value. A status is no value that prose carries by one word."""
    if name == "status":
        return False
    values = value if isinstance(value, list) else [value]
    return all(folded(str(one)) in text for one in values)


def _deactivated(
    active: Iterable[Condition], down: SealedHandoff, text: str
) -> Iterator[Deactivated]:
    there = {one.id: one.status for one in down.conditions}
    for condition in active:
        status = there.get(condition.id)
        if status is None:
            if folded(condition.statement) not in text:
                yield Deactivated(condition.id, "absent")
        elif status != "open":
            yield Deactivated(condition.id, status)
