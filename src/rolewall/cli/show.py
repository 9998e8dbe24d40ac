"""``rolewall show``: a run as a table, an episode as a timeline."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
    from rolewall.tables import result_table
    from rolewall.terminal import draw, say

    info = run.info
    table = result_table(
        run.records, team=info.team, conditions=info.conditions, planned=info.planned
    )
    if as_json:
        click.echo(json.dumps(_run_json(run, table), indent=1))
        return
    draw(table.sheet())
    if run.records:
        click.echo()
        draw(_episodes(run.records))
    say([f"unfinished, without a record: {name}" for name in run.unfinished])


def _show_episode(run: Run, name: str, as_json: bool) -> None:
    from rolewall.terminal import say
    from rolewall.timeline import find_episode, read_timeline

    record = find_episode(run.records, name)
    timeline = read_timeline(run.episode_dir(record), record)
    if as_json:
        click.echo(json.dumps(timeline.json(), indent=1))
    else:
        say(timeline.lines())


def _episodes(records: Sequence[EpisodeRecord]) -> Sheet:
    from rolewall.terminal import Sheet

    return Sheet(
        title="episodes",
        columns=COLUMNS,
        rows=tuple(_row(r) for r in records),
        numeric=frozenset({3, 7, 8, 9}),
    )


def _row(record: EpisodeRecord) -> tuple[str, ...]:
    from rolewall.tally import attempted, landed_edits

    return (
        record.key[:10],
        record.task,
        record.condition,
        str(record.trial),
        record.error.kind if record.error else record.status,
        record.verdict,
        record.grade,
        str(attempted(record)),
        str(landed_edits(record)),
        f"{record.ended - record.started:.1f}",
    )


def _run_json(run: Run, table: ResultTable) -> dict[str, object]:
    return {
        "run": run.info.model_dump(mode="json"),
        "table": table.json(),
        "episodes": [
            {
                "key": r.key,
                "task": r.task,
                "condition": r.condition,
                "trial": r.trial,
                "status": r.status,
                "verdict": r.verdict,
                "grade": r.grade,
            }
            for r in run.records
        ],
        "unfinished": list(run.unfinished),
    }
