"""What one role leaves for the next: the file as a role writes it.

A role writes ``handoff.json`` with what it knows; the harness completes and
seals it (``rolewall.roles.seal``). Evidence and the seal are the harness's
alone: a file that brings its own is junk.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from rolewall._files import load_json
from rolewall._validate import Strict, Version1, validate
from rolewall.errors import InputError

__all__ = [
    "HANDOFF_ZONES",
    "MAX_HANDOFF",
    "NOT_WRITTEN",
    "UNHELD",
    "Artifact",
    "Collected",
    "Condition",
    "Handoff",
    "SealedCondition",
    "Step",
    "empty_handoff",
    "parse_handoff",
    "read_handoff",
    "relative_path",
]

MAX_HANDOFF = 256 * 1024
"""Bytes a handoff may have."""

HANDOFF_ZONES = {
    "planner": "plan",
    "executor": "report",
    "verifier": "feedback",
    "generator": "output",
}
"""Where each role's handoff lies, as ``/ZONE/handoff.json``."""

NOT_WRITTEN = "no handoff was written"
"""What is noted, after the place, of a role that left none."""

Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Text = Annotated[str, Field(max_length=200_000)]
Line = Annotated[str, Field(min_length=1, max_length=4_000)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


UNHELD = frozenset(
    ["spec", "brief", "plan", "report", "feedback", "verdict", "history", "grader", "home", "tmp"]
)
"""Zones that no condition holds: roles could then not hand over, or not be told."""

_ACTION = re.compile(r"(?:(?:write|read) [a-z][a-z0-9_-]{0,30}|use [A-Za-z0-9][A-Za-z0-9_-]{0,63})")
_ACTIONS = 20


def action(text: str) -> str:
    if not _ACTION.fullmatch(text):
        raise ValueError("no action: `write ZONE`, `read ZONE` or `use TOOL`, with one space")
    word, _, zone = text.partition(" ")
    if word != "use" and zone in UNHELD:
        known = "workspace, output, or one of the team's own"
        raise ValueError(f"a condition cannot hold the zone {zone}, but {known}")
    return text


Action = Annotated[str, Field(max_length=80), AfterValidator(action)]


def relative_path(text: str) -> str:
    parts = text.split("/")
    if "\0" in text or any(part in ("", ".", "..") for part in parts):
        raise ValueError("not a plain path beneath its zone")
    return text


class Step(Strict):
    """One step of a plan or of work. ``needs`` are capabilities, such as ``network``."""

    id: Id
    goal: Line
    depends_on: list[Id] = Field(default_factory=list)
    done_when: Text = ""
    needs: list[Line] = Field(default_factory=list)
    status: Literal["open", "done", "blocked", "skipped"] = "open"


class Condition(Strict):
    """Something that must hold.

    ``authority`` is the role that alone may say that it is met, or waived; ``prerequisite``
    the condition, or the step of the plan, that must be over before it is. ``forbids`` are the
    actions that whoever it binds may not take meanwhile: ``write ZONE``, ``read ZONE``,
    ``use TOOL``.
    ``fallback`` is what to do if it cannot be met, ``consequence`` what follows if it is not.
    """

    id: Id
    statement: Line
    status: Literal["open", "met", "waived"] = "open"
    prerequisite: Text = ""
    authority: Text = ""
    fallback: Text = ""
    forbids: list[Action] = Field(default_factory=list, max_length=_ACTIONS)
    consequence: Text = ""


class SealedCondition(Condition):
    """As it stands in a sealed file. In those of earlier versions ``forbids`` is prose, which
    forbids nothing."""

    forbids: list[Action] | Text = Field(default_factory=list)  # type: ignore[assignment]

    @property
    def actions(self) -> tuple[str, ...]:
        return () if isinstance(self.forbids, str) else tuple(self.forbids)


class Artifact(Strict):
    """A file left in a zone. A digest that a role states is checked against the file."""

    zone: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,30}$")]
    path: Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(relative_path)]
    sha256: Sha256 | None = None


class Parts(Strict):
    """What a role says in a handoff, whether in a file or in a script."""

    status: Literal["done", "blocked"] = "done"
    text: Text = ""
    steps: list[Step] = Field(default_factory=list, max_length=1000)
    conditions: list[Condition] = Field(default_factory=list, max_length=1000)
    artifacts: list[Artifact] = Field(default_factory=list, max_length=1000)
    questions: list[Line] = Field(default_factory=list, max_length=1000)

    @model_validator(mode="after")
    def _consistent(self) -> Parts:
        _unique("step", (step.id for step in self.steps))
        _unique("condition", (condition.id for condition in self.conditions))
        _unique("artifact", (f"{item.zone}/{item.path}" for item in self.artifacts))
        _acyclic({step.id: step.depends_on for step in self.steps})
        return self


class Handoff(Parts):
    """``handoff.json`` as a role writes it. ``blocked`` says that the role cannot go on."""

    schema_version: Version1


@dataclass(frozen=True, slots=True)
class Collected:
    """A role's handoff, or an empty one in its place, and what was wrong with it."""

    handoff: Handoff
    problems: tuple[str, ...] = ()


def parse_handoff(data: bytes, place: str) -> Handoff:
    """The handoff in ``data``, or an ``InputError`` that names the key at fault."""
    return validate(Handoff, load_json(data, place, max_bytes=MAX_HANDOFF), place)


def read_handoff(data: bytes | None, place: str) -> Collected:
    """What a role left; junk or nothing becomes an empty handoff with the problem noted."""
    if data is None:
        return empty_handoff(f"{place}: {NOT_WRITTEN}")
    try:
        return Collected(parse_handoff(data, place))
    except InputError as problem:
        return empty_handoff(str(problem))


def empty_handoff(problem: str) -> Collected:
    """A handoff for a role that left none that counts; it says ``done`` and nothing else."""
    return Collected(Handoff(schema_version=1), (problem,))


def _unique(what: str, names: Iterable[str]) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise ValueError(f"{what} {name!r} is there {times} times")


def _acyclic(needs: Mapping[str, list[str]]) -> None:
    for name, others in needs.items():
        for other in others:
            if other not in needs:
                known = ", ".join(sorted(needs))
                raise ValueError(f"step {name!r} depends on unknown {other!r}, not one of {known}")
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as problem:
        circle = " → ".join(reversed(problem.args[1]))
        raise ValueError(f"steps depend on one another in a circle: {circle}") from None
