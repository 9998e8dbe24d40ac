"""Inspect's logs, ``.eval`` or JSON, read by inspect-ai itself (the extra ``inspect``).

A sample is a task, its epoch the trial. Which scorer is the verdict and which the grade no
log can tell, so a mapping must: ``scores.NAME`` is the value of a scorer's score,
``scores.NAME.answer`` and ``scores.NAME.metadata.KEY`` more of it, ``metadata.KEY`` the
sample's. Read are the summaries of samples, in which texts are cut at 1 KiB.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rolewall.errors import RecordError
from rolewall.records.jsonfile import read_objects
from rolewall.records.mapping import RecordMapping
from rolewall.rows import Row

__all__ = ["is_inspect", "read_inspect", "rows_of_samples"]

COLUMNS = {
    "task": "id", "trial": "epoch", "error": "error", "seconds": "total_time",
    "model": "eval.model", "team": "eval.task",
}  # fmt: skip
GRADES = {"C": "pass", "I": "fail"}
"""What Inspect calls correct and incorrect; its P (partial), N (no answer) and numbers are
grades only where a mapping says which."""


def is_inspect(found: object) -> bool:
    """Whether a JSON document is a log of Inspect."""
    return isinstance(found, dict) and {"version", "status", "eval"} <= found.keys()


def read_inspect(path: Path, mapping: RecordMapping) -> tuple[list[Row], tuple[str, ...], int]:
    """The rows of a log, the notes on it, and how many samples it has not come to.

    Raises RecordError: inspect-ai is not installed, cannot read the log, or a sample does
    not say what the mapping asks of it.
    """
    place = str(path)
    try:
        log = importlib.import_module("inspect_ai.log")
    except ImportError as problem:
        raise RecordError(
            "a log of Inspect, and inspect-ai is not here to read it",
            place=place, got=str(problem),
            hint="pip install 'rolewall[inspect]'",
        ) from None  # fmt: skip
    try:
        header = log.read_eval_log(place, header_only=True).model_dump(mode="json")
        found = log.read_eval_log_sample_summaries(place)
        samples = [sample.model_dump(mode="json") for sample in found]
    except Exception as problem:
        # Whatever the bytes of a damaged log make of its reader is the log's fault.
        reason = str(problem).strip().splitlines() or [type(problem).__name__]
        raise RecordError(f"not a log that inspect-ai reads: {reason[0][:200]}",
                          place=place) from problem  # fmt: skip
    return rows_of_samples(header["eval"], samples, mapping, place)


def rows_of_samples(
    spec: Mapping[str, Any],
    samples: Iterable[Mapping[str, Any]],
    mapping: RecordMapping,
    place: str,
) -> tuple[list[Row], tuple[str, ...], int]:
    """As ``read_inspect``, of what stands in a log: its ``eval`` and its samples' summaries."""
    records = [(n, _flat(sample, spec)) for n, sample in enumerate(samples, 1)]
    for name in ("verdict", "grade"):
        if name not in mapping.columns and name not in mapping.constants:
            raise RecordError(
                f"nothing says what the `{name}` is", place=place,
                got=f"scorers {', '.join(_scorers(records)) or 'none'}",
                hint=f"name a scorer: --map {name}=scores.NAME",
            )  # fmt: skip
    default = RecordMapping(columns=COLUMNS, values={"grade": GRADES})
    rows, notes = read_objects(records, mapping.over(default), place, unused=False)
    return rows, notes, max(0, _planned(spec) - len(records))


def _flat(sample: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """A sample with each score's value under ``scores.NAME``, beside the rest of it."""
    flat = {**sample, "error": sample.get("error"), "total_time": sample.get("total_time")}
    scores = sample.get("scores")
    if isinstance(scores, Mapping):
        flat |= {f"scores.{name}": _value(score) for name, score in scores.items()}
    flat |= {f"eval.{key}": spec.get(key) for key in ("model", "task")}
    return flat


def _value(score: object) -> object:
    return score.get("value") if isinstance(score, Mapping) else score


def _scorers(records: Iterable[tuple[int, Mapping[str, Any]]]) -> list[str]:
    names = {name for _, record in records for name in record.get("scores") or {}}
    return sorted(map(str, names))


def _planned(spec: Mapping[str, Any]) -> int:
    samples = spec.get("dataset", {}).get("sample_ids") or ()
    return len(samples) * (spec.get("config", {}).get("epochs") or 1)
