"""``rolewall export``: what the agents said and did, in a format of others."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rolewall.cli import settle

if TYPE_CHECKING:
    from rolewall.trajectory import Exported, Format

__all__ = ["command"]

NAMED = 5  # problems that are printed
WORDS = {
    "agent": "from the agent's own record",
    "exchanges": "from exchanges with its model",
    "commands": "from commands alone",
}


@click.command("export")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("episode", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(["atif", "inspect"]),
    required=True,
    help="atif: Harbor's trajectories, a file for each phase. inspect: logs for `inspect view`.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A new directory.  [default: RUN.atif or RUN.inspect]",
)
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
@click.pass_context
def command(
    context: click.Context,
    *,
    run: Path,
    episode: str | None,
    form: Format,
    out: Path | None,
    as_json: bool,
) -> None:
    """Write what the agents of RUN, or of one EPISODE, said and did in another's format.

    EPISODE is task:condition:trial, or task:condition or the task alone where
    that names one episode, or the beginning of its key.

    Exit code 0: it is written. 2: bad input. 3: it could not be written.
    4: there is no episode.
    """
    from rolewall.rundir import open_run
    from rolewall.terminal import say
    from rolewall.timeline import find_episode
    from rolewall.trajectory import export
    from rolewall.unfinished import refuse_without_record

    opened = open_run(run)
    records = list(opened.records)
    if episode is not None:
        refuse_without_record(opened, episode)
        records = [find_episode(records, episode)]
    place = out or _default(run, form)
    made = export(opened, records, form, place)
    code = 0 if made.episodes else 4
    settle(context, code)
    if as_json:
        click.echo(json.dumps(_json(place, form, made), indent=1))
    say(_lines(place, made), sys.stderr if as_json else sys.stdout)
    context.exit(code)


def _default(run: Path, form: Format) -> Path:
    whole = Path(os.path.abspath(run))
    return whole.with_name(f"{whole.name}.{form}")


def _lines(place: Path, made: Exported) -> list[str]:
    from rolewall.terminal import counted

    if not made.episodes:
        return ["there is no episode: nothing is written"]
    parts = [f"{number} {WORDS[origin]}" for origin, number in sorted(made.origins.items())]
    lines = [f"{place}: {counted(made.phases, 'phase')} of {counted(made.episodes, 'episode')}"
             f" in {counted(len(made.files), 'file')}"]  # fmt: skip
    lines += [f"read {', '.join(parts)}"] if parts else []
    lines += made.problems[:NAMED]
    more = len(made.problems) - NAMED
    return [*lines, f"and {more} problems more; --json names all"] if more > 0 else lines


def _json(place: Path, form: Format, made: Exported) -> dict[str, object]:
    return {
        "out": str(place),
        "format": form,
        "episodes": made.episodes,
        "phases": made.phases,
        "origins": dict(made.origins),
        "files": made.files,
        "problems": made.problems,
    }
