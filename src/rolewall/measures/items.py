"""How far what must not be missed came: into the plan, the handoff, and what was done."""

from __future__ import annotations

from dataclasses import dataclass

from rolewall.graders import Rate
from rolewall.measures.files import EpisodeFiles
from rolewall.roles import Condition

__all__ = ["PLACES", "Recall", "recall_of"]

PLACES = ("plan", "handoff", "calls")
"""The planner's sealed handoff with what lies beside it; what the executor was shown of that;
what the executor's calls say."""


@dataclass(frozen=True)
class Recall:
    """Items by id: those that the task declares, and its conditions as ``condition:ID``.
    Conditions are nothing that is carried out: calls are asked for ``declared`` ones alone.
    ``told`` and ``against`` are by place; a place that nobody had is absent."""

    declared: tuple[str, ...]
    conditions: tuple[str, ...]
    told: dict[str, frozenset[str]]
    against: dict[str, frozenset[str]]

    def rate(self, place: str) -> Rate:
        if place not in self.told:
            return Rate(0, 0)
        return Rate(len(self.told[place]), len(self.asked_of(place)))

    def asked_of(self, place: str) -> tuple[str, ...]:
        return self.declared if place == "calls" else (*self.declared, *self.conditions)

    def missing(self, place: str) -> list[str]:
        """Of a place that there is, what it does not tell."""
        told = self.told.get(place)
        return [] if told is None else [item for item in self.asked_of(place) if item not in told]


def recall_of(files: EpisodeFiles) -> Recall:
    """Of the last plan, and of all that the executor did. A text tells a condition if it names
    its id or holds its statement."""
    declared = {item.id: item for item in files.record.critical}
    conditions = {f"condition:{one.id}": one for one in files.conditions}
    told, against = {}, {}
    for place, text in _texts(files).items():
        found = {name for name, item in declared.items() if item.told_in(text)}
        if place != "calls":
            found |= {name for name, one in conditions.items() if _tells(one, text)}
        told[place] = frozenset(found)
        against[place] = frozenset(
            name for name, item in declared.items() if item.contradicted_in(text)
        )
    return Recall(tuple(declared), tuple(conditions), told, against)


def _texts(files: EpisodeFiles) -> dict[str, str]:
    found = {}
    if plans := files.of("planner"):
        found["plan"] = plans[-1].text(shown=False)
        found["handoff"] = plans[-1].text(shown=True)
    if files.of("executor"):
        found["calls"] = files.calls_of("executor")
    return found


def _tells(condition: Condition, text: str) -> bool:
    return (
        condition.id.casefold() in text or " ".join(condition.statement.casefold().split()) in text
    )
