"""``rolewall gate``: the CI decision."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from rolewall.cli import settle

__all__ = ["command"]


@click.command("gate")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN|RECORDS")
@click.option(
    "--max-false-approval",
    type=float,
    required=True,
    metavar="P",
    help="The highest false-approval rate to accept, such as 0.10.",
)
@click.option("--max-errors", type=int, default=0, show_default=True, metavar="N")
@click.option("--condition", metavar="C", help="Needed when RUN holds several.")
@click.option("--require-isolated", is_flag=True, help="Refuse verdicts made beside the work.")
@click.option("--allow-partial", is_flag=True, help="Decide although planned episodes are absent.")
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
@click.pass_context
def command(
    context: click.Context,
    *,
    run: Path,
    max_false_approval: float,
    max_errors: int,
    condition: str | None,
    require_isolated: bool,
    allow_partial: bool,
    as_json: bool,
) -> None:
    """Decide whether the verifier of RUN approves broken work too often.

    RUN is a run directory; RECORDS a file with one episode record a line.

    Exit code 0: the bound holds. 1: the rate is above it. 2: bad input.
    3: too many episodes ended in error. 4: not enough evidence to decide.
    """
    from rolewall.gate import Rules, decide_dataset
    from rolewall.records import read_dataset
    from rolewall.terminal import say

    rules = Rules(
        max_false_approval=max_false_approval,
        max_errors=max_errors,
        require_isolated=require_isolated,
        allow_partial=allow_partial,
    )
    decision = decide_dataset(read_dataset(run), rules, condition)
    settle(context, decision.exit_code)
    if as_json:
        click.echo(json.dumps(decision.json(), indent=1))
    say(decision.lines(), sys.stderr if as_json else sys.stdout)
    context.exit(decision.exit_code)
