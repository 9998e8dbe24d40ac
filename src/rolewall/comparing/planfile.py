"""The plan of a comparison: what will be tested, fixed in a file before there are data."""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from rolewall._files import decode, load_yaml
from rolewall._validate import Strict, Version1, validate
from rolewall.comparing.outcomes import PRIMARY, Asked, Event, event
from rolewall.errors import InputError
from rolewall.rundir import PlanRef
from rolewall.storage import read_capped

__all__ = ["PLAN_CAP", "PlanFile", "PlanModel", "read_plan", "sealed_plan"]

PLAN_CAP = 1 << 16
Name = Annotated[str, Field(min_length=1, max_length=200)]
Margin = Annotated[float, Field(gt=0, lt=1)]


def _moment(said: object) -> object:
    """A time, whether YAML took it for one or for text."""
    moment: object = said
    if isinstance(said, str):
        try:
            moment = datetime.fromisoformat(said)
        except ValueError:
            moment = None
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise ValueError("not a time with its zone, such as 2026-11-30T12:00:00Z")
    return moment.isoformat()


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) != len(names):
        raise ValueError("something is named twice")
    return names


Names = Annotated[tuple[Name, ...], AfterValidator(_each_once), Field(strict=False)]


class PlanModel(Strict):
    """The keys of a plan file; ``docs/compare.md`` says what they mean."""

    schema_version: Version1
    plan: Name
    registered: Annotated[str, BeforeValidator(_moment)] | None = None
    conditions: Annotated[Names, Field(min_length=2)]
    primary: Annotated[Names, Field(min_length=1)] = PRIMARY
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    equivalence: Mapping[Name, Margin] = Field(default_factory=dict)
    not_worse: Mapping[Name, Margin] = Field(default_factory=dict)
    tasks: Annotated[Names, Field(min_length=1)] | Annotated[int, Field(ge=1)]
    trials: Annotated[int, Field(ge=1, le=100_000)] = 1
    seed: Annotated[int, Field(ge=-(1 << 62), le=1 << 62)] = 0
    stopping: Literal["fixed"] = "fixed"


@dataclass(frozen=True)
class PlanFile:
    """A plan and the very bytes it was read from. ``sealed``: nobody gave it, ``run.json``
    has it."""

    content: PlanModel
    text: str
    digest: str
    sealed: bool = False

    @property
    def name(self) -> str:
        return self.content.plan

    @property
    def ref(self) -> PlanRef:
        """What ``run.json`` keeps of it."""
        return PlanRef(name=self.name, sha256=self.digest, text=self.text)

    @property
    def registered(self) -> float | None:
        """When it was registered, by its own word; seconds since the epoch."""
        said = self.content.registered
        return datetime.fromisoformat(said).timestamp() if said else None

    @property
    def task_count(self) -> int:
        tasks = self.content.tasks
        return tasks if isinstance(tasks, int) else len(tasks)

    def asked(self) -> Asked:
        """What the plan asks a comparison to test."""
        content = self.content
        return Asked(
            primary=tuple(_events(content.primary, "primary")),
            alpha=content.alpha,
            equivalence=_keyed(content.equivalence, "equivalence"),
            not_worse=_keyed(content.not_worse, "not_worse"),
            planned=True,
        )


def _keyed(margins: Mapping[str, float], place: str) -> dict[str, float]:
    keys = [found.key for found in _events(margins, place)]
    return dict(zip(keys, margins.values(), strict=True))


def _events(names: Iterable[str], place: str) -> list[Event]:
    """The outcomes of these names, each once: one of them has two, ``any cross-role edit``
    and ``any-cross-role-edit``."""
    found: dict[str, Event] = {}
    for name in names:
        named = event(name, place)
        if named.key in found:
            raise InputError("named twice", place=place, got=name)
        found[named.key] = named
    return list(found.values())


def read_plan(path: Path) -> PlanFile:
    """Read a plan. Raises InputError with the place of what is not acceptable."""
    return _plan(read_capped(path, PLAN_CAP), str(path))


def sealed_plan(ref: PlanRef, place: str) -> PlanFile:
    """The plan that a run was begun with. Raises InputError, with ``place``, where it is not
    the one of its SHA-256, or none that is known here."""
    text = ref.text.encode()
    for data in (text, BOM_UTF8 + text):  # the text is kept without its byte order mark
        if hashlib.sha256(data).hexdigest() == ref.sha256:
            return replace(_plan(data, place), sealed=True)
    raise InputError("the plan is not the one of its SHA-256", place=place, got=ref.name,
                     expected=f"sha256:{ref.sha256}")  # fmt: skip


def _plan(data: bytes, place: str) -> PlanFile:
    text = decode(data, place)
    found = PlanFile(
        validate(PlanModel, load_yaml(data, place), place), text, hashlib.sha256(data).hexdigest()
    )
    try:
        found.asked()
    except InputError as error:
        raise InputError(error.message, place=f"{place}: {error.place}", got=error.got,
                         expected=error.expected) from None  # fmt: skip
    return found
