"""``rolewall measures``: what handoffs kept, what planning took, who repaired and who harmed."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["command"]


@click.command("measures")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("episode", required=False)
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
def command(run: Path, episode: str | None, as_json: bool) -> None:
    """Measure the handoffs, plans and claims of RUN, or of one EPISODE of it.

    Every rate has its count, what it is of, and Wilson's interval.
    """
    import json
    import sys

    from rolewall.measures import (
        measure_episode,
        measure_run,
        measures_json,
        measures_sheets,
        read_files,
    )
    from rolewall.rundir import open_run
    from rolewall.terminal import draw_all
    from rolewall.timeline import find_episode

    opened = open_run(run)
    if episode is None:
        found = measure_run(opened)
    else:
        record = find_episode(opened.records, episode)
        found = (measure_episode(read_files(opened, record)),)
    draw_all(measures_sheets(found), sys.stderr if as_json else sys.stdout)
    if as_json:
        click.echo(json.dumps({"run": str(opened.path), **measures_json(found)}, indent=1))
