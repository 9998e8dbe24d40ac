"""``rolewall compare``: the same tasks under several conditions, paired."""

from __future__ import annotations

from typing import Any

import click

from rolewall.cli import settle
from rolewall.cli._options import asked, episode_options

__all__ = ["command"]


@click.command("compare")
@episode_options
@click.option(
    "--conditions",
    default="prompt-only,enforced",
    show_default=True,
    metavar="C,C…",
    help="The first is what the others are compared with.",
)
@click.pass_context
def command(context: click.Context, /, conditions: str, as_json: bool, **given: Any) -> None:
    """Run TEAM on the same tasks under each condition and compare, paired.

    Exit code 0: every episode counts. 3: the infrastructure failed in some.
    4: no pair to compare.
    """
    import json
    import sys

    from rolewall.compare import compare, parse_conditions
    from rolewall.errors import NotEnoughEvidence
    from rolewall.records import dataset_of
    from rolewall.session import exit_code, run_asked
    from rolewall.tables import result_table
    from rolewall.terminal import Sheet, draw, say

    names = parse_conditions(conditions)
    run = run_asked(asked(names, given))
    info = run.info
    table = result_table(
        run.records, team=info.team, conditions=info.conditions, planned=info.planned
    )
    stream = sys.stderr if as_json else sys.stdout
    found: dict[str, Any] = {
        "run": str(run.path),
        "seal": run.seal,
        "table": table.json(),
        "comparison": None,
    }
    code = exit_code(run.records)
    sheets: list[Sheet] = []
    try:
        comparison = compare(dataset_of(run).rows, names)
    except NotEnoughEvidence as error:
        found["reason"] = str(error)
        code = code or error.exit_code
    else:
        found["comparison"] = comparison.json()
        sheets = comparison.sheets()
    settle(context, code)
    draw(table.sheet(), stream)
    for sheet in sheets:
        stream.write("\n")
        draw(sheet, stream)
    if "reason" in found:
        say(["", found["reason"]], stream)
    if as_json:
        click.echo(json.dumps(found, indent=1))
    context.exit(code)
