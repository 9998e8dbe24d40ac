"""What a handoff loses: the scripted compressor, and putting fields back.

The compressor is a model that is stated, and no measurement: at each level a field outlives
one hop with the chance that the table gives. It loses fields and never changes one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field

from rolewall._files import MAX_TEXT, load_yaml
from rolewall._validate import Strict, validate
from rolewall.binding.state import FIELDS, GROUPS, Handed, Try
from rolewall.storage import read_capped

__all__ = ["KEPT", "LEVELS", "Rates", "compress", "load_rates", "restore", "slips"]

Level = Literal["light", "normal", "compressed"]
LEVELS: tuple[Level, ...] = ("light", "normal", "compressed")

# The thread of the work (workflow, what is done, the next step) is always kept: that is what
# summaries are for. Of a condition its mention outlives the rest.
KEPT: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "light": {
            "statement": 0.98, "status": 0.95, "prerequisite": 0.92, "authority": 0.90,
            "fallback": 0.85, "forbids": 0.92, "consequence": 0.90,
        },
        "normal": {
            "statement": 0.95, "status": 0.60, "prerequisite": 0.50, "authority": 0.40,
            "fallback": 0.30, "forbids": 0.45, "consequence": 0.40,
        },
        "compressed": {
            "statement": 0.85, "status": 0.30, "prerequisite": 0.20, "authority": 0.12,
            "fallback": 0.08, "forbids": 0.15, "consequence": 0.12,
        },
    }
)  # fmt: skip


@dataclass(frozen=True)
class Rates:
    """Parameters of the scripted parts, chances between 0 and 1.

    ``kept``: level → field → that it outlives one hop. ``approver_slips``: that the person
    who is asked approves without looking.
    """

    kept: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: KEPT)
    approver_slips: float = 0.0

    def json(self) -> dict[str, object]:
        kept = {level: dict(fields) for level, fields in self.kept.items()}
        return {"kept": kept, "approver_slips": self.approver_slips}


Chance = Annotated[float, Field(ge=0, le=1)]
FieldName = Literal[
    "statement", "status", "prerequisite", "authority", "fallback", "forbids", "consequence"
]


class _RatesFile(Strict):
    kept: dict[Level, dict[FieldName, Chance]] = Field(default_factory=dict)
    approver_slips: Chance = 0.0


def load_rates(path: Path) -> Rates:
    """Rates of a YAML file; what it does not name is as in the table.

    Raises:
        RecordError: it cannot be read. InputError: a key or value is not acceptable.
    """
    data = read_capped(path, MAX_TEXT)
    file = validate(_RatesFile, load_yaml(data, str(path)), str(path))
    kept: dict[str, Mapping[str, float]] = {
        level: {**KEPT[level], **{str(k): v for k, v in file.kept.get(level, {}).items()}}
        for level in LEVELS
    }
    return Rates(kept, file.approver_slips)


def compress(handed: Handed, one: Try, level: str, hop: int, seed: int, rates: Rates) -> Handed:
    """What is left of ``handed`` after one hop at ``level``; ``hop`` counts from 1.

    The draw of a field is the same at every level, and for an episode and its twin: what
    outlives a stronger compression outlives a lighter one, so that arms differ by their
    rates and not by their luck.
    """
    kept = rates.kept[level]
    return handed.with_fields(
        {
            name: text
            for name, text in handed.fields.items()
            if _draw(seed, one.domain, one.number, name, hop) < kept[name]
        }
    )


def restore(handed: Handed, whole: Handed, groups: tuple[str, ...]) -> Handed:
    """``handed`` with the fields of ``groups`` as they are in ``whole``."""
    names = [name for group in groups for name in GROUPS[group] if name in whole.fields]
    return handed.with_fields({**handed.fields, **{name: whole.fields[name] for name in names}})


def slips(one: Try, seed: int, rates: Rates) -> bool:
    """Whether the person who is asked approves this one without looking."""
    return _draw(seed, one.domain, one.number, "approver", 0) < rates.approver_slips


def _draw(seed: int, domain: str, number: int, what: str, hop: int) -> float:
    """A number in [0, 1), the same for the same arguments on every machine."""
    words = f"binding {seed} {domain} {number} {what} {hop}".encode()
    return int.from_bytes(hashlib.sha256(words).digest()[:8], "big") / 2**64


assert all(set(fields) == set(FIELDS) for fields in KEPT.values())
