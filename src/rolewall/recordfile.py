"""``episode.json``: written so that every reader takes it, and read strictly."""

from __future__ import annotations

import hashlib
import os
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from rolewall._files import load_json
from rolewall._validate import describe_validation_error
from rolewall.attest import RunSeals
from rolewall.errors import RecordError
from rolewall.record import EpisodeRecord, ErrorRecord, GradeRecord
from rolewall.storage import read_capped, write_atomic

__all__ = ["RECORD_CAP", "parse", "read_episode", "write_record"]

RECORD_CAP = 64 << 20
M = TypeVar("M", bound=BaseModel)


def write_record(
    episode: Path, record: EpisodeRecord, seals: RunSeals | None = None
) -> EpisodeRecord:
    """Write ``episode.json`` and return what was written; the episode counts from then on.

    A record that no reader would take, as roles can leave too much to list, is written
    without its lists of changes, then without details of grades too; where that does
    not suffice, as an error.
    """
    path = episode / "episode.json"
    written, data = _readable(record, path)
    with seals.sealing(episode, written.summary(), data) if seals else nullcontext():
        write_atomic(path, data)
    return written


def _readable(record: EpisodeRecord, path: Path) -> tuple[EpisodeRecord, bytes]:
    for made in (record, _without_changes(record), _without_details(record)):
        data = _record_bytes(made)
        try:
            return parse(EpisodeRecord, data, str(path)), data
        except RecordError as error:
            why = error
    bare = _bare(record, f"the record cannot be read back: {why}")
    return bare, _record_bytes(bare)


def _record_bytes(record: EpisodeRecord) -> bytes:
    return record.model_dump_json(indent=1).encode() + b"\n"


def _without_changes(record: EpisodeRecord) -> EpisodeRecord:
    phases = [
        phase.model_copy(
            update={"changes": (), "changes_omitted": phase.changed.own + phase.changed.cross_role}
        )
        for phase in record.phases
    ]
    return record.model_copy(update={"phases": tuple(phases)})


def _without_details(record: EpisodeRecord) -> EpisodeRecord:
    rows = [
        row.model_copy(
            update={
                "grade_before": _short(row.grade_before),
                "grade_after": _short(row.grade_after),
            }
        )
        for row in record.verdicts
    ]
    update = {"verdicts": tuple(rows), "final": _short(record.final)}
    return _without_changes(record).model_copy(update=update)


def _short(grade: GradeRecord | None) -> GradeRecord | None:
    return grade and grade.model_copy(update={"details": {"omitted": "they do not fit"}})


def _bare(record: EpisodeRecord, why: str) -> EpisodeRecord:
    """An error in the place of ``record``, with its phases and without what roles chose."""
    phases = [phase.model_copy(update={"box": {}}) for phase in _without_changes(record).phases]
    return record.model_copy(
        update={
            "phases": tuple(phases),
            "verdicts": (),
            "conditions": (),
            "breaches": (),
            "final": None,
            "verdict": "missing",
            "grade": "error",
            "isolated": True,
            "status": "error",
            "error": ErrorRecord(kind="StorageError", message=why),
        }
    )


def read_episode(directory: Path) -> tuple[EpisodeRecord, str] | None:
    """The record of one episode's directory and the SHA-256 of its bytes; ``None`` when it
    has none yet."""
    path = directory / "episode.json"
    if not os.path.lexists(path):
        return None
    data = read_capped(path, RECORD_CAP)
    record = parse(EpisodeRecord, data, str(path))
    if record.key != directory.name:
        raise RecordError(
            "the record is not of this directory",
            place=str(path),
            got=record.key,
            expected=directory.name,
        )
    return record, hashlib.sha256(data).hexdigest()


def parse(model: type[M], data: bytes, place: str) -> M:
    raw = load_json(data, place, error=RecordError, max_bytes=RECORD_CAP)
    if not isinstance(raw, dict):
        raise RecordError("not a record", place=place, expected="a JSON object")
    version = model.model_fields["schema_version"].default
    if (found := raw.get("schema_version", "none")) != version or isinstance(found, bool):
        raise RecordError("unknown schema version", place=place, got=found, expected=version)
    try:
        # From JSON, since strict mode takes an array for a tuple only there.
        return model.model_validate_json(data, strict=True)
    except ValidationError as error:
        raise describe_validation_error(error, place, error=RecordError) from None
