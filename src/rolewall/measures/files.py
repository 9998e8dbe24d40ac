"""What measures are made from: the files of one episode, each held to its record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rolewall._files import load_json
from rolewall._validate import validate
from rolewall.critical import folded
from rolewall.errors import RecordError
from rolewall.measures.deeds import Deeds, Forbidden, read_deeds
from rolewall.measures.stored import Stored
from rolewall.record import EpisodeRecord, PhaseRecord
from rolewall.roles import (
    HANDOFF_ZONES,
    MAX_SEALED,
    TOOLS,
    Condition,
    Evidence,
    SealedHandoff,
    parse_sealed,
    verify_seal,
)
from rolewall.rundir import Run
from rolewall.storage import read_capped

__all__ = ["EpisodeFiles", "Handed", "read_files"]

MOST_TRANSCRIPT = 512 << 20


@dataclass(frozen=True)
class Handed:
    """One handoff: ``whole`` as it was sealed, ``shown`` as its run's arm left it.
    ``beside`` is the text of other files that its author left in the same zone."""

    phase: PhaseRecord
    whole: SealedHandoff
    shown: SealedHandoff
    beside: str
    digest: str
    shown_digest: str

    @property
    def zone(self) -> str:
        return HANDOFF_ZONES[self.phase.role]

    def text(self, *, shown: bool) -> str:
        """All that it tells in words, folded."""
        found = self.shown if shown else self.whole
        said = found.model_dump(mode="json", exclude={"seal", "evidence", "problems"})
        return folded("\n".join([*_words(said), self.beside]))

    @property
    def evidence(self) -> Sequence[Evidence]:
        return self.whole.evidence


@dataclass(frozen=True)
class EpisodeFiles:
    """One episode, read whole.

    Attributes:
        handoffs: by phase, in order; a phase that was not sealed is absent.
        conditions: those that the task brings, with all their fields where the run kept them.
        spec, brief: their texts; empty where no role of the run saw them.
        deeds: what the ledger says.
        forbidden: by phase, calls of tools too.
    """

    directory: Path
    record: EpisodeRecord
    handoffs: tuple[Handed, ...]
    conditions: tuple[Condition, ...] = ()
    spec: str = ""
    brief: str = ""
    deeds: Deeds = field(default_factory=lambda: Deeds(()))
    forbidden: Mapping[int, Forbidden] = field(default_factory=dict)

    def of(self, role: str) -> list[Handed]:
        return [handed for handed in self.handoffs if handed.phase.role == role]

    def phases(self, role: str) -> list[PhaseRecord]:
        return [phase for phase in self.record.phases if phase.role == role]

    def transcript(self, phase: PhaseRecord) -> list[dict[str, Any]]:
        """The commands of a phase, a line each. Raises RecordError where it was altered."""
        if not phase.transcript:
            return []
        return [line for line in self._lines(phase, "jsonl") if "tool" in line]

    def tool_calls(self, phase: PhaseRecord) -> list[dict[str, Any]]:
        """What a phase asked of its team's tools. Raises as ``transcript``."""
        return self._lines(phase, TOOLS) if phase.tools else []

    def _lines(self, phase: PhaseRecord, suffix: str) -> list[dict[str, Any]]:
        path = self.directory / "transcripts" / f"{phase.name}.{suffix}"
        data = read_capped(path, MOST_TRANSCRIPT)
        expected = phase.transcript_sha256.get(path.name)
        if expected and (digest := _sha256(data)) != expected:
            raise _altered(path, digest, expected)
        lines = (
            load_json(line, str(path), error=RecordError, max_bytes=MOST_TRANSCRIPT)
            for line in data.splitlines()
        )
        return [line for line in lines if isinstance(line, dict)]

    @property
    def evidence(self) -> list[Evidence]:
        """Of all phases, by time."""
        found = [one for handed in self.handoffs for one in handed.evidence]
        return sorted(found, key=lambda one: one.started)

    def calls_of(self, role: str) -> str:
        """All that a role's calls say, folded: arguments of its tools, and command lines."""
        said: list[str] = []
        for handed in self.of(role):
            for one in handed.evidence:
                said += _words(one.arguments)
            said += self.deeds.lines.get(handed.phase.index, ())
        return folded("\n".join(said))


def read_files(run: Run, record: EpisodeRecord) -> EpisodeFiles:
    """Raises RecordError where a file is not there, or is not what was recorded."""
    directory = run.episode_dir(record)
    store = Stored(run.path / "blobs.git", directory / "manifests")
    handoffs = tuple(_handed(directory, store, phase) for phase in record.phases if phase.handoff)
    files = EpisodeFiles(
        directory=directory,
        record=record,
        handoffs=handoffs,
        conditions=_conditions(record, store),
        spec=store.text("start-spec", only=b"spec.md"),
        brief=store.text("start-brief", only=b"brief.md"),
        deeds=read_deeds(directory / "audit.jsonl", record),
    )
    return replace(files, forbidden=_forbidden(files))


def _forbidden(files: EpisodeFiles) -> dict[int, Forbidden]:
    """With calls of tools that a condition holds: they are made outside the box, and no ledger
    of what is done in it has them."""
    found = dict(files.deeds.forbidden)
    for phase in files.record.phases:
        for line in files.tool_calls(phase):
            if line.get("conditions"):
                place = f"transcripts/{phase.name}.{TOOLS}"
                was = found.get(phase.index, Forbidden(file=place, field=str(line.get("id"))))
                allowed = was.allowed + (not line.get("refused"))
                found[phase.index] = replace(
                    was, attempts=was.attempts + 1, allowed=allowed, of_work=True
                )
    return found


def _handed(directory: Path, store: Stored, phase: PhaseRecord) -> Handed:
    path = directory / "handoffs" / f"{phase.name}.json"
    data = read_capped(path, MAX_SEALED)
    whole = parse_sealed(data, str(path))
    verify_seal(whole, str(path))
    if whole.seal.sha256 != phase.handoff:
        raise _altered(path, whole.seal.sha256, phase.handoff)
    shown, shown_data = whole, data
    if phase.handoff_shown:
        path = directory / "handoffs" / f"{phase.name}.shown.json"
        shown_data = read_capped(path, MAX_SEALED)
        if (digest := hashlib.sha256(shown_data).hexdigest()) != phase.handoff_shown:
            raise _altered(path, digest, phase.handoff_shown)
        shown = parse_sealed(shown_data, str(path))
    zone = HANDOFF_ZONES.get(phase.role, "")
    beside = store.text(f"{phase.name}-{zone}", but=b"handoff.json")
    return Handed(phase, whole, shown, beside, *(_sha256(one) for one in (data, shown_data)))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _altered(path: Path, got: str, expected: str | None) -> RecordError:
    return RecordError("not what was recorded", place=str(path), got=got, expected=str(expected),
                       hint="`rolewall audit` says more")  # fmt: skip


def _conditions(record: EpisodeRecord, store: Stored) -> tuple[Condition, ...]:
    """As the roles that read the specification had them, else as the record has them."""
    opened = [e for e in record.conditions if e.phase is None and e.event == "opened"]
    if not opened:
        return ()
    text = store.raw("start-spec", b"conditions.json")
    if text is not None:
        listed = load_json(text, "spec/conditions.json", error=RecordError, max_bytes=MAX_SEALED)
        if isinstance(listed, list):
            place = "spec/conditions.json"
            return tuple(validate(Condition, one, place, RecordError) for one in listed)
    return tuple(
        Condition(
            id=event.condition,
            statement=event.condition,
            authority=event.authority,
            prerequisite=event.prerequisite,
            forbids=list(event.forbids),
        )
        for event in opened
    )


def _words(value: object) -> Iterator[str]:
    """Every text in a JSON value; a number stands as itself."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _words(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _words(inner)
    elif value is not None:
        yield json.dumps(value)
