"""What a path holds, as rows."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from rolewall._files import load_json
from rolewall.errors import RecordError
from rolewall.records.choice import named
from rolewall.records.csvfile import read_csv
from rolewall.records.inspect_logs import is_inspect, read_inspect
from rolewall.records.jsonfile import objects, read_objects
from rolewall.records.mapping import RecordMapping
from rolewall.records.ours import read_ours
from rolewall.records.teambench import is_teambench, read_teambench
from rolewall.rows import Row
from rolewall.rundir import Run, open_run
from rolewall.storage import read_capped

__all__ = ["Dataset", "Origin", "dataset_of", "read_dataset"]

Origin = Literal["run", "records", "table", "teambench", "inspect"]
ZIP, BOM = b"PK\x03\x04", b"\xef\xbb\xbf"
SNIFFED = 1 << 16
RECORDS_CAP = 1 << 30
DOCUMENT_CAP = 64 << 20
JSON_NAMES = (".json", ".jsonl", ".ndjson")
# What every episode record has; a table that has all of it is one that lost its version.
OURS = {"key", "task", "team", "condition", "trial", "seed", "backend", "image", "started",
        "ended", "status", "verdict", "grade", "trust"}  # fmt: skip


@dataclass(frozen=True)
class Dataset:
    """Rows, each once, and where they come from.

    Attributes:
        conditions: those that were planned, or are there; in that order.
        absent: condition → planned episodes without a row.
        run: the run directory, where it is one.
        notes: what a reader of the numbers should know of how the records were read.
        origin: a run directory, a file of our episode records, another harness's table,
            TeamBench's results or a log of Inspect.
    """

    place: str
    rows: tuple[Row, ...]
    conditions: tuple[str, ...]
    absent: Mapping[str, int] = field(default_factory=dict)
    run: Run | None = None
    notes: tuple[str, ...] = ()
    origin: Origin = "run"

    def head(self) -> dict[str, Any]:
        """Which run, or records, it is, as the JSON of every command begins."""
        if self.run is None:
            return {"place": self.place}
        return {"run": self.place, "seal": self.run.seal}


def dataset_of(run: Run) -> Dataset:
    """The rows of an opened run."""
    index, count = run.info.shard
    shard = f"this is shard {index} of {count} of what was planned; nothing of the others is here"
    return Dataset(
        place=str(run.path),
        rows=run.rows,
        conditions=run.info.conditions,
        absent={name: run.missing_for(name) for name in run.info.conditions},
        run=run,
        notes=(shard,) if count > 1 else (),
    )


def read_dataset(path: Path, mapping: RecordMapping | None = None) -> Dataset:
    """The rows at ``path``: a run directory, or a file of records.

    A file is known by what it begins with: JSON lines of our episode records; JSON lines, a
    JSON array or a CSV table of another harness's (tabs in a file named ``*.tsv``, and never
    a table in one named ``*.json``, ``*.jsonl`` or ``*.ndjson``);
    TeamBench's results; a log of Inspect. A file without a record has no rows, and is no
    error.

    Args:
        path: where.
        mapping: how to read what is not ours; refused with what is.

    Raises:
        RecordError: none of these, damaged, or not as the mapping says.
    """
    if os.path.isdir(path):
        run = open_run(path)
        _refuse_mapping(mapping, path)
        return dataset_of(run)
    return _read_file(path, mapping)


def _read_file(path: Path, mapping: RecordMapping | None) -> Dataset:
    data = read_capped(path, RECORDS_CAP)
    if data.startswith(ZIP):
        return _inspect(path, mapping)
    start = data.removeprefix(BOM)[:SNIFFED].lstrip()
    if not start:
        return Dataset(str(path), (), (), origin="records")
    if not start.startswith((b"{", b"[")) and path.suffix.lower() not in JSON_NAMES:
        tabs = path.suffix.lower() == ".tsv"
        rows, notes = read_csv(data, mapping or RecordMapping(), str(path), tabs=tabs)
        return _dataset(path, rows, notes, "table")
    return _of_json(path, data, mapping)


def _of_json(path: Path, data: bytes, mapping: RecordMapping | None) -> Dataset:
    place, said = str(path), mapping or RecordMapping()
    first = _first_line(data)
    if isinstance(first, dict) and _is_episode(first, mapping):
        _refuse_mapping(mapping, path)
        return _dataset(path, read_ours(data, place), (), "records")
    if isinstance(first, dict) and not (is_teambench(first) or is_inspect(first)):
        rows, notes = read_objects(objects(data, place), said, place)
        return _dataset(path, rows, notes, "table")
    found = load_json(data, place, error=RecordError, max_bytes=DOCUMENT_CAP)
    if is_inspect(found):
        return _inspect(path, mapping)
    if is_teambench(found):
        rows, notes = read_teambench(found, said, place)
        return _dataset(path, rows, notes, "teambench")
    rows, notes = read_objects(_numbered(found, place), said, place)
    return _dataset(path, rows, notes, "table")


def _first_line(data: bytes) -> object:
    """What the first line that is not empty holds by itself, or None."""
    for line in io.BytesIO(data.removeprefix(BOM)):
        if line.strip():
            try:
                return json.loads(line)
            except (ValueError, RecursionError):
                return None
    return None


def _is_episode(found: Mapping[str, Any], mapping: RecordMapping | None) -> bool:
    """Whether it is a record of ours; another's may have a version too, and says so by its
    mapping."""
    return found.keys() >= OURS or ("schema_version" in found and mapping is None)


def _numbered(found: object, place: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if not isinstance(found, list):
        raise RecordError(
            "no records that are known here", place=place,
            got=f"a JSON object with the keys {named(list(found))}"
            if isinstance(found, dict) else "one JSON value",
            expected="one JSON object a line, an array of them, TeamBench's results or a log"
            " of Inspect",
        )  # fmt: skip
    for number, record in enumerate(found, 1):
        if not isinstance(record, dict):
            raise RecordError("not a record", place=f"{place}:{number}", expected="a JSON object")
        yield number, record


def _inspect(path: Path, mapping: RecordMapping | None) -> Dataset:
    rows, notes, absent = read_inspect(path, mapping or RecordMapping())
    made = _dataset(path, rows, notes, "inspect")
    return replace(made, absent=dict.fromkeys(made.conditions, absent)) if absent else made


def _dataset(path: Path, rows: Iterable[Row], notes: tuple[str, ...], origin: Origin) -> Dataset:
    kept = tuple(rows)
    conditions = tuple(sorted({row.condition for row in kept}))
    return Dataset(str(path), kept, conditions, notes=notes, origin=origin)


def _refuse_mapping(mapping: RecordMapping | None, path: Path) -> None:
    if mapping is not None:
        raise RecordError(
            "rolewall's own records need no mapping", place=str(path),
            expected="none of --map, --value, --const, --only, --mapping, --trials-by-order",
        )  # fmt: skip
