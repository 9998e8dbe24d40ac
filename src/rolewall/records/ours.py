"""Our own episode records in a file, one a line."""

from __future__ import annotations

from rolewall.record import EpisodeRecord
from rolewall.recordfile import parse
from rolewall.rows import Row, refuse_repeats, row_of

__all__ = ["read_ours"]


def read_ours(data: bytes, place: str) -> tuple[Row, ...]:
    """The rows of JSON lines. Raises RecordError with the line at fault."""
    rows = tuple(
        row_of(parse(EpisodeRecord, line, f"{place}:{number}"))
        for number, line in enumerate(data.split(b"\n"), 1)
        if line.strip()
    )
    refuse_repeats(rows, place)
    return rows
