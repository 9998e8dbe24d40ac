"""Inspect's logs, ``.eval`` or JSON, read by inspect-ai itself (the extra ``inspect``).

A sample is a task, its epoch the trial. Which scorer is the verdict and which the grade no
log can tell, so a mapping must: ``scores.NAME`` is the value of a scorer's score,
``scores.NAME.answer`` and ``scores.NAME.metadata.KEY`` more of it, ``metadata.KEY`` the
sample's. Read are the summaries of samples, in which texts are cut at 1 KiB.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rolewall.errors import RecordError
from rolewall.records.jsonfile import read_objects
from rolewall.records.mapping import RecordMapping
from rolewall.rows import Row
from rolewall.terminal import counted, listed

__all__ = ["is_inspect", "read_inspect", "rows_of_samples"]

COLUMNS = {
    "task": "id", "trial": "epoch", "error": "error", "seconds": "total_time",
    "model": "eval.model", "team": "eval.task",
}  # fmt: skip
ENDED = "success"
KINDS = 6  # kinds of limits that are named
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
    results = header.get("results") or {}
    return rows_of_samples(header["eval"], samples, mapping, place,
                           status=header["status"], total=results.get("total_samples"))  # fmt: skip


def rows_of_samples(
    spec: Mapping[str, Any],
    samples: Iterable[Mapping[str, Any]],
    mapping: RecordMapping,
    place: str,
    *,
    status: str = ENDED,
    total: int | None = None,
) -> tuple[list[Row], tuple[str, ...], int]:
    """As ``read_inspect``, of what stands in a log: its ``eval``, its samples' summaries, its
    status and the total that its results give."""
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
    planned = _planned(spec, total)
    if planned is None and status != ENDED:
        raise RecordError(
            "a log that no one can tell to be whole", place=place,
            got=f"status {status}, and no number of samples",
            expected=f"status {ENDED}, or the number of its samples",
        )  # fmt: skip
    more = [*_of_status(status, planned), *_of_limits(records)]
    return rows, (*notes, *more), max(0, (planned or 0) - len(records))


def _of_status(status: str, planned: int | None) -> list[str]:
    notes = []
    if status != ENDED:
        notes.append(f"the log's status is {status}: what Inspect was to run did not end well")
    if planned is None:
        notes.append("the log does not say how many samples were planned")
    return notes


def _of_limits(records: Iterable[tuple[int, Mapping[str, Any]]]) -> list[str]:
    halted = Counter(str(record["limit"]) for _, record in records if record.get("limit"))
    if not halted:
        return []
    kinds = listed([f"{kind} {times}" for kind, times in sorted(halted.items())], KINDS)
    samples = counted(halted.total(), "sample")
    return [f"{samples} halted by a limit ({kinds}) and counted with the verdict and grade given"]


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


def _planned(spec: Mapping[str, Any], total: int | None) -> int | None:
    """How many samples there are to be over all epochs; None where the log does not tell."""
    dataset, config = spec.get("dataset") or {}, spec.get("config") or {}
    epochs = config.get("epochs") or 1
    told = [] if total is None else [total]
    if (names := dataset.get("sample_ids")) is not None:
        told.append(len(names) * epochs)
    elif (size := dataset.get("samples")) is not None and config.get("sample_id") is None:
        told.append(_within(size, config.get("limit")) * epochs)
    return max(told, default=None)


def _within(size: int, limit: object) -> int:
    """How many of ``size`` samples a limit of Inspect's leaves: the first, or from one to
    before another."""
    if isinstance(limit, int):
        return min(size, limit)
    if isinstance(limit, list | tuple):
        return len(range(size)[slice(*limit)])
    return size
