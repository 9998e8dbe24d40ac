"""``rolewall show``: a run as a table, an episode as a timeline."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rolewall.record import EpisodeRecord
    from rolewall.rundir import Run
    from rolewall.tables import ResultTable
    from rolewall.terminal import Sheet

__all__ = ["command"]

COLUMNS = (
    "key", "task", "condition", "trial", "status", "verdict", "grade", "edits", "landed", "seconds",
)  # fmt: skip


@click.command("show")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("episode", required=False)
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
def command(run: Path, episode: str | None, as_json: bool) -> None:
    """Show RUN as a table, or one EPISODE of it as a timeline.

    EPISODE is task:condition:trial, or task:condition or the task alone where
    that names one episode, or the beginning of its key.
    """
    from rolewall.rundir import open_run

    opened = open_run(run)
    if episode is None:
        _show_run(opened, as_json)
    else:
        _show_episode(opened, episode, as_json)


def _show_run(run: Run, as_json: bool) -> None:
    from rolewall.gradernotes import grader_notes
    from rolewall.indices import indices
    from rolewall.tables import result_table
    from rolewall.terminal import draw_all, say
    from rolewall.unfinished import names_of_unfinished

    info = run.info
    found = indices(run.rows)
    table = result_table(
        run.records,
        team=info.team,
        conditions=info.conditions,
        planned=info.planned,
        notes=[*(index.text() for index in found), *grader_notes(info)],
    )
    if as_json:
        made = _run_json(run, table) | {"indices": [index.json() for index in found]}
        click.echo(json.dumps(made, indent=1))
    stream = sys.stderr if as_json else sys.stdout
    sheets = table.sheets(full=True)
    if info.calibration:
        from rolewall.calibrate import calibration_table
        from rolewall.calibrate import sheets as calibration_sheets

        sheets += calibration_sheets(calibration_table(run))
    if run.records:
        sheets.append(_episodes(run.records))
    draw_all(sheets, stream)
    names = names_of_unfinished(run)
    say([f"unfinished, without a record: {_named(key, names)}" for key in run.unfinished], stream)


def _show_episode(run: Run, name: str, as_json: bool) -> None:
    from rolewall.terminal import say
    from rolewall.timeline import find_episode, read_timeline
    from rolewall.timelinetext import timeline_lines
    from rolewall.unfinished import refuse_without_record

    refuse_without_record(run, name)
    record = find_episode(run.records, name)
    timeline = read_timeline(run.episode_dir(record), record)
    if as_json:
        click.echo(json.dumps(timeline.json(), indent=1))
    say(timeline_lines(timeline), sys.stderr if as_json else sys.stdout)


def _named(key: str, names: Mapping[str, str]) -> str:
    return f"{names[key]} ({key})" if key in names else key


def _episodes(records: Sequence[EpisodeRecord]) -> Sheet:
    from rolewall.terminal import Sheet

    return Sheet(
        title="episodes",
        columns=COLUMNS,
        rows=tuple(_row(r) for r in records),
        numeric=frozenset({3, 7, 8, 9}),
    )


def _row(record: EpisodeRecord) -> tuple[str, ...]:
    from rolewall.tally import distinct_edits, landed_edits

    return (
        record.key[:10],
        record.task,
        record.condition,
        str(record.trial),
        record.error.kind if record.error else record.status,
        record.verdict if record.verified else "-",
        record.grade,
        str(distinct_edits(record)),
        str(landed_edits(record)),
        f"{record.ended - record.started:.1f}",
    )


def _run_json(run: Run, table: ResultTable) -> dict[str, object]:
    from rolewall.patterns import found_in
    from rolewall.tally import corrupt
    from rolewall.unfinished import names_of_unfinished

    names = names_of_unfinished(run)
    return {
        "run": str(run.path),
        "seal": run.seal,
        "info": run.info.model_dump(mode="json"),
        "table": table.json(),
        "roles": table.roles_json(),
        "tools": [row.json() for row in table.tools],
        "episodes": [
            {
                "key": r.key,
                "task": r.task,
                "condition": r.condition,
                "trial": r.trial,
                "status": r.status,
                "verdict": r.verdict,
                "grade": r.grade,
                "verified": r.verified,
                "isolated": r.isolated,
                "corrupt": corrupt(r),
                "patterns": found_in(r),
            }
            for r in run.records
        ],
        "unfinished": list(run.unfinished),
        "unfinished_names": names,
    }
