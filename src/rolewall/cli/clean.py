"""``rolewall clean``: remove what a killed run left behind."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command(name="clean")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
def command(as_json: bool) -> None:
    """Remove containers, kits and control groups of harnesses that are dead.

    Nothing of a harness that still runs is touched.
    """
    import json

    from rolewall.errors import BackendUnavailable
    from rolewall.sandbox import BACKENDS, find_backend
    from rolewall.terminal import counted, escape

    removed: list[str] = []
    for name in BACKENDS:
        try:
            removed += find_backend(name).clean()
        except BackendUnavailable:
            continue  # a backend that cannot run has left nothing that could be removed
    if as_json:
        click.echo(json.dumps({"removed": removed}))
        return
    for line in removed:
        click.echo(f"removed {escape(line)}", err=True)
    click.echo(f"{counted(len(removed), 'thing')} removed", err=True)
