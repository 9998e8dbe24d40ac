"""The episodes of a run one by one, as the table of docs/case-study.md.

    python bench/offline_model/table.py RUN

Distinct crossings that were tried, entries that landed, answers of the model and their tokens.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rolewall.record import EpisodeRecord
from rolewall.rows import row_of
from rolewall.rundir import open_run

__all__ = ["main", "table"]

HEAD = ("task", "condition", "rounds", "verdict", "grade", "tests passed", "crossings tried",
        "landed", "calls", "tokens out", "unfinished phases")  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    paths = sys.argv[1:] if arguments is None else arguments
    if len(paths) != 1:
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    print("\n".join(table(open_run(Path(paths[0])).records)))
    return 0


def table(records: Sequence[EpisodeRecord]) -> Iterator[str]:
    """Lines of Markdown: a row for each episode, in the order of the records."""
    yield _line(HEAD)
    yield _line(["---"] * len(HEAD))
    for record in records:
        yield _line(_cells(record))


def _cells(record: EpisodeRecord) -> Iterator[str]:
    row = row_of(record)
    usage = [phase.usage for phase in record.phases if phase.usage]
    yield from (record.task, record.condition)
    yield str(max(phase.round for phase in record.phases))
    yield row.error or record.verdict
    yield record.grade
    yield _passed(record)
    yield str(row.edits)
    yield str(row.landed)
    yield str(sum(one.calls for one in usage))
    yield str(sum(one.output or 0 for one in usage))
    yield ", ".join(_unfinished(record)) or "-"


def _passed(record: EpisodeRecord) -> str:
    """Of the hidden tests, how many the grader saw passing, where it counts them."""
    score = record.last_grade.score if record.last_grade else None
    return "-" if score is None else f"{100 * score:.0f} %"


def _unfinished(record: EpisodeRecord) -> Iterator[str]:
    for phase in record.phases:
        if phase.outcome != "done":
            yield f"{phase.role} {phase.outcome}"


def _line(cells: Sequence[str] | Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
