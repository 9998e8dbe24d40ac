"""``rolewall clean``: remove what a killed run left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rolewall.errors import RolewallError

__all__ = ["command"]


@click.command(name="clean")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
def command(as_json: bool) -> None:
    """Remove containers, kits, control groups and temporary directories of harnesses
    that are dead.

    Nothing of a harness that still runs is touched. Exit code 3: something is still there.
    """
    import json

    from rolewall.terminal import counted, escape

    removed, unseen, stuck = _clean()
    if as_json:
        click.echo(json.dumps({"removed": removed, "not_looked_at": unseen}))
    for line in removed:
        click.echo(f"removed {escape(line)}", err=True)
    for name, why in unseen.items():
        click.echo(f"{name}: not looked at: {escape(why)}", err=True)
    click.echo(f"{counted(len(removed), 'thing')} removed", err=True)
    if stuck:
        raise stuck


def _clean() -> tuple[list[str], dict[str, str], RolewallError | None]:
    """What was removed, which backends could not be asked and why, what went wrong first."""
    from rolewall.errors import BackendUnavailable, RolewallError
    from rolewall.sandbox import BACKENDS, clean_leftovers, find_backend

    removed, unseen = clean_leftovers(), {}
    stuck: RolewallError | None = None
    for name in BACKENDS:
        try:
            removed += find_backend(name).clean()
        except BackendUnavailable as error:
            unseen[name] = error.message
            if isinstance(error.__cause__, RolewallError):  # it is there, and may hold boxes
                stuck = stuck or error
        except RolewallError as error:
            stuck = stuck or error
    return removed, unseen, stuck
