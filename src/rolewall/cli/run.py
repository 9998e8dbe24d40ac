"""``rolewall run``: episodes, and one table at the end."""

from __future__ import annotations

from typing import Any

import click

from rolewall.cli import settle
from rolewall.cli._options import asked, episode_options

__all__ = ["command"]


@click.command("run")
@episode_options
@click.option(
    "--condition",
    default="enforced",
    show_default=True,
    metavar="C",
    help="enforced, prompt-only, prompt-only-open, enforced-shared-history, solo, restricted,"
    " no-plan or no-verify.",
)
@click.pass_context
def command(context: click.Context, /, condition: str, as_json: bool, **given: Any) -> None:
    """Run TEAM on tasks, each role behind its wall.

    Exit code 0: every episode counts. 3: the infrastructure failed in some.
    """
    import json
    import sys

    from rolewall.gradernotes import grader_notes
    from rolewall.indices import indices
    from rolewall.session import exit_code, run_asked
    from rolewall.tables import result_table
    from rolewall.terminal import draw_all

    run = run_asked(asked((condition,), given))
    settle(context, exit_code(run.records))
    info = run.info
    table = result_table(
        run.records,
        team=info.team,
        conditions=info.conditions,
        planned=info.planned,
        notes=grader_notes(info),
    )
    draw_all(table.sheets(), sys.stderr if as_json else sys.stdout)
    if as_json:
        made = {
            "run": str(run.path),
            "seal": run.seal,
            "table": table.json(),
            "roles": table.roles_json(),
            "tools": [row.json() for row in table.tools],
            "indices": [index.json() for index in indices(run.rows)],
        }
        click.echo(json.dumps(made, indent=1))
    context.exit(exit_code(run.records))
