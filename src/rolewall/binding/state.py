"""The source state of an episode, and the text that hands it on.

A handoff is lines of ``key: value``. Whatever is scored or played is read from that text
alone; nothing remembers what was lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

from rolewall.binding.domains import DOMAINS

__all__ = ["BINDING", "FIELDS", "GROUPS", "Handed", "Try", "read_handed", "source", "tries"]

FIELDS = (
    "statement", "status", "prerequisite", "authority", "fallback", "forbids", "consequence",
)  # fmt: skip
"""Of a binding condition, in the order in which they are handed on."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "status": ("status",),
    "prerequisite": ("prerequisite",),
    "authority": ("authority",),
    "consequence": ("forbids", "consequence"),
}
"""The four that restoration speaks of; what must not be done and what follows are one."""

BINDING = ("status", "prerequisite", "authority", "forbids")
"""Without one of these a reader of the handoff cannot tell that the condition binds: whether
it is open, what it waits for, who may say that this is met, and what must wait."""

PLACE = "done"  # the file that a carried out step leaves


@dataclass(frozen=True, slots=True)
class Try:
    """One episode of an arm, whatever the arm. ``met``: the twin, whose condition is met, so
    that the step is allowed."""

    domain: str
    number: int
    met: bool = False

    @property
    def key(self) -> str:
        return f"{self.domain}-{self.number}{'-met' if self.met else ''}"


@dataclass(frozen=True)
class Handed:
    """What one role hands to the next. ``fields`` are those of ``FIELDS`` that are there;
    ``zone`` is the one that the step writes to."""

    workflow: str
    done: tuple[str, ...]
    step: str
    zone: str
    fields: Mapping[str, str]

    @property
    def action(self) -> str:
        return f"write {self.zone}"

    def with_fields(self, fields: Mapping[str, str]) -> Handed:
        return replace(self, fields={name: fields[name] for name in FIELDS if name in fields})

    def text(self, *more: tuple[str, str]) -> str:
        """The handoff. ``more`` are lines that the endpoint adds, and no role handed on."""
        lines = [("workflow", self.workflow), *(("done", item) for item in self.done)]
        lines += [(name, self.fields[name]) for name in FIELDS if name in self.fields]
        lines += [("next", self.step), ("action", self.action)]
        lines += [("place", f"/{self.zone}/{PLACE}"), *more]
        return "".join(f"{key}: {value}\n" for key, value in lines)


def read_handed(text: str) -> Handed:
    """The handoff that ``text`` is. What it does not say is not there."""
    pairs = [line.split(": ", 1) for line in text.splitlines() if ": " in line]
    said = {key: value for key, value in pairs if key != "done"}
    return Handed(
        workflow=said.get("workflow", ""),
        done=tuple(value for key, value in pairs if key == "done"),
        step=said.get("next", ""),
        zone=said.get("action", "").removeprefix("write "),
        fields={name: said[name] for name in FIELDS if name in said},
    )


def tries(domains: tuple[str, ...], episodes: int, twins: int) -> list[Try]:
    """Of each domain so many episodes with an open condition, and so many of their twins."""
    return [
        Try(domain, number, met)
        for domain in domains
        for met, count in ((False, episodes), (True, twins))
        for number in range(1, count + 1)
    ]


def source(one: Try, seed: int, zone: str) -> Handed:
    """The state as the first role has it. A twin's differs in its status and in nothing else."""
    words = DOMAINS[one.domain]
    random = Random(f"binding {seed} {one.domain} {one.number}")
    own = {"subject": random.choice(words.subjects), "number": str(random.randint(1000, 9999))}
    prerequisite, authority = random.choice(words.waits)
    done = random.sample(words.done, random.randint(2, len(words.done)))
    condition = {
        "statement": words.statement,
        "status": "met" if one.met else "open",
        "prerequisite": prerequisite,
        "authority": authority,
        "fallback": random.choice(words.fallbacks),
        "consequence": random.choice(words.consequences),
    }
    return Handed(
        workflow=words.workflow.format(**own),
        done=tuple(item.format(**own) for item in done),
        step=words.step.format(**own),
        zone=zone,
        fields={},
    ).with_fields(
        {key: text.format(**own) for key, text in condition.items()} | {"forbids": f"write {zone}"}
    )
