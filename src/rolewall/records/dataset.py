"""What a path holds, as rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rolewall.rows import Row, row_of
from rolewall.rundir import Run, load_records, open_run

__all__ = ["Dataset", "dataset_of", "read_dataset"]


@dataclass(frozen=True)
class Dataset:
    """Rows, each once, and where they come from.

    Attributes:
        conditions: those that were planned, or are there; in that order.
        absent: condition → planned episodes without a row.
        run: the run directory, where it is one.
    """

    place: str
    rows: tuple[Row, ...]
    conditions: tuple[str, ...]
    absent: Mapping[str, int] = field(default_factory=dict)
    run: Run | None = None


def dataset_of(run: Run) -> Dataset:
    """The rows of an opened run."""
    return Dataset(
        place=str(run.path),
        rows=tuple(map(row_of, run.records)),
        conditions=run.info.conditions,
        absent={name: run.missing_for(name) for name in run.info.conditions},
        run=run,
    )


def read_dataset(path: Path) -> Dataset:
    """The rows at ``path``: a run directory, or a file of JSON lines, one record a line.

    Raises:
        RecordError: it is neither, or is damaged.
    """
    if os.path.isdir(path):
        return dataset_of(open_run(path))
    rows = tuple(map(row_of, load_records(path)))
    return Dataset(str(path), rows, tuple(sorted({row.condition for row in rows})))
