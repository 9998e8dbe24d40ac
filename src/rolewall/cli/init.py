"""``rolewall init``: a team, two tasks and a CI workflow that run as they are."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["command"]


@click.command(name="init")
@click.argument("directory", type=click.Path(path_type=Path), default=".")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
def command(directory: Path, as_json: bool) -> None:
    """Write a team, two tasks and a CI workflow into DIRECTORY.

    Nothing is overwritten.
    """
    import json

    from rolewall.scaffold import scaffold
    from rolewall.terminal import escape

    written = scaffold(directory)
    if as_json:
        click.echo(json.dumps({"written": [str(path) for path in written]}))
    for path in written:
        click.echo(f"wrote {escape(path)}", err=True)
    team = directory / "team" / "team.yaml"
    click.echo(
        f"next: rolewall run {escape(team)} --tasks {escape(directory / 'tasks')}",
        err=True,
    )
